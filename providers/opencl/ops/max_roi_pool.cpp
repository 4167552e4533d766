// MaxRoiPool (1, 22). Regions are read on the host, which checks them and lays the grids.

#include <algorithm>
#include <cmath>
#include <vector>
#include "opencl/claims/refusals.h"

#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

class MaxRoiPool final : public Kernel {
 public:
  explicit MaxRoiPool(const KernelInfo& info)
      : device_(DeviceOf(info)),
        kernel_(DeviceOf(info), "max_roi_pool", Computed('X', info.input_type(0)), "max_roi_pool"),
        pooled_(info.attribute<std::vector<int64_t>>("pooled_shape")),
        scale_(static_cast<double>(info.attribute<float>("spatial_scale", 1.0f))) {
    Require(pooled_.size() == 2 && pooled_[0] > 0 && pooled_[1] > 0 && std::max(pooled_[0], pooled_[1]) < kMostCells,
            "pooled_shape must hold two positive values below {}", kMostCells);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& rois = context.required_input(1);
    const Shape& xs = x.shape();
    Require(xs.rank() == 4, "the input must have 4 dimensions, it is {}", xs);
    Require(rois.shape().rank() == 2 && rois.shape()[1] == 5 && rois.is(x.type()),
            "rois are {} of {}, [rois, 5] of {} is expected", rois.shape(), ElementTypeName(rois.type()),
            ElementTypeName(x.type()));
    const int64_t count = rois.shape()[0];
    const Tensor& y = *context.output(0, Shape{count, xs[1], pooled_[0], pooled_[1]});
    if (y.num_elements() == 0) return;
    std::vector<cl_long> plan;
    for (int64_t i = 0; i < count; ++i) {
      const double batch = HostNumber(rois, 5 * i);
      Require(batch >= 0 && batch < static_cast<double>(xs[0]), "a region's batch index is {}, the batch has {}", batch,
              xs[0]);
      plan.push_back(static_cast<cl_long>(batch));
      AddAxis(HostNumber(rois, 5 * i + 2), HostNumber(rois, 5 * i + 4), pooled_[0], xs[2], plan);
      AddAxis(HostNumber(rois, 5 * i + 1), HostNumber(rois, 5 * i + 3), pooled_[1], xs[3], plan);
    }
    const Buffer sent = device_.BufferOf(plan.data(), plan.size() * sizeof plan[0]);
    kernel_.Linear(context, y.num_elements(), x, BufferRange{sent.get(), 0}, y, cl_long{xs[1]}, cl_long{xs[2]},
                   cl_long{xs[3]}, cl_long{pooled_[0]}, cl_long{pooled_[1]});
  }

 private:
  static constexpr int64_t kMostCells = int64_t{1} << 24;

  /// Where each cell between two corners begins and ends, cut to the image.
  void AddAxis(double first, double last, int64_t cells, int64_t limit, std::vector<cl_long>& plan) const {
    const double begin = std::round(first * scale_), end = std::round(last * scale_);
    Require(std::abs(begin) < 1e9 && std::abs(end) < 1e9, "a region reaches from {} to {}", first, last);
    const double cell = std::max(end - begin + 1, 1.0) / static_cast<double>(cells);
    for (int64_t i = 0; i < cells; ++i) {
      const auto from = static_cast<int64_t>(begin + std::floor(static_cast<double>(i) * cell));
      const auto to = static_cast<int64_t>(begin + std::ceil(static_cast<double>(i + 1) * cell));
      plan.push_back(std::clamp<int64_t>(from, 0, limit));
      plan.push_back(std::clamp<int64_t>(to, 0, limit));
    }
  }

  Device& device_;
  Launchable kernel_;
  std::vector<int64_t> pooled_;
  double scale_;
};

}  // namespace

void RegisterMaxRoiPool(KernelRegistry& registry) {
  registry.Add(Op("MaxRoiPool").Versions(1).Types(0, kReals).HostInput(1).Unless(SpatialRefusal).Make<MaxRoiPool>());
}

}  // namespace tessera::opencl
