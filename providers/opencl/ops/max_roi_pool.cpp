// MaxRoiPool (1, 22). Regions are read on the host, which checks them and lays the grids.

#include <algorithm>

#include "base/cancellation.h"
#include "base/checked.h"
#include "opencl/claims/refusals.h"
#include "opencl/device/scratch.h"
#include "ops/nn/max_roi_pool.h"

namespace tessera::opencl {
namespace {

class MaxRoiPool final : public Kernel {
 public:
  explicit MaxRoiPool(const KernelInfo& info)
      : kernel_(DeviceOf(info), "max_roi_pool", Computed('X', info.input_type(0)), "max_roi_pool"),
        attributes_(info.node()) {
    Require(std::max(attributes_.height, attributes_.width) < kMostCells, "pooled_shape must be below {}", kMostCells);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& rois = context.required_input(1);
    const Shape& xs = x.shape();
    const Shape result = attributes_.ResultShape(xs, rois.shape());
    Require(rois.is(x.type()), "rois are {}, expected {}", ElementTypeName(rois.type()), ElementTypeName(x.type()));
    const Tensor& y = *context.output(0, result);
    if (y.num_elements() == 0) return;
    // Of each region its image, and where its cells' rows and columns begin and end.
    const size_t of_region = 1 + 2 * static_cast<size_t>(attributes_.height + attributes_.width);
    const std::span<int64_t> plan = context.scratch<int64_t>(CheckedMul(static_cast<size_t>(result[0]), of_region));
    int64_t* to = plan.data();
    for (int64_t i = 0; i < result[0]; ++i) {
      double numbers[5];
      for (int64_t k = 0; k < 5; ++k) numbers[k] = HostNumber(rois, 5 * i + k);
      const RoiOfImage region = attributes_.Region(numbers, xs[0]);
      *to++ = region.image;
      to = AddCells(region.rows, attributes_.height, xs[2], to);
      to = AddCells(region.columns, attributes_.width, xs[3], to);
    }
    const SentData sent(context, plan.data(), plan.size_bytes());
    kernel_.Linear(context, y.num_elements(), x, sent.range(), y, cl_long{xs[1]}, cl_long{xs[2]}, cl_long{xs[3]},
                   cl_long{attributes_.height}, cl_long{attributes_.width});
  }

 private:
  static constexpr int64_t kMostCells = int64_t{1} << 24;

  /// Where each cell begins and ends. Returns past the last one.
  static int64_t* AddCells(const RoiCells& cells, int64_t count, int64_t limit, int64_t* to) {
    PacedCancellationPoint point(5);
    for (int64_t i = 0; i < count; ++i) {
      point.Pass();
      const auto [begin, end] = cells.At(i, limit);
      *to++ = begin;
      *to++ = end;
    }
    return to;
  }

  Launchable kernel_;
  MaxRoiPoolAttributes attributes_;
};

}  // namespace

void RegisterMaxRoiPool(KernelRegistry& registry) {
  registry.Add(Op("MaxRoiPool").Versions(1).Types(0, kReals).HostInput(1).Unless(SpatialRefusal).Make<MaxRoiPool>());
}

}  // namespace tessera::opencl
