// RoiAlign (10-22). Regions are read on the host, which checks them and says where samples lie.

#include <cmath>
#include <vector>

#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

/// The same struct stands in roi_align.cl.
struct Regions {
  cl_long channels, height, width, out_height, out_width;
  cl_int maximum, padding = 0;
};

class RoiAlign final : public Kernel {
 public:
  explicit RoiAlign(const KernelInfo& info)
      : device_(DeviceOf(info)),
        kernel_(DeviceOf(info), "roi_align", Computed('X', info.input_type(0)), "roi_align"),
        out_height_(info.attribute<int64_t>("output_height", 1)),
        out_width_(info.attribute<int64_t>("output_width", 1)),
        sampling_ratio_(info.attribute<int64_t>("sampling_ratio", 0)),
        spatial_scale_(info.attribute<float>("spatial_scale", 1.0f)) {
    const auto mode = info.attribute<std::string>("mode", "avg");
    Require(mode == "avg" || mode == "max", "mode is '{}', avg or max is expected", mode);
    maximum_ = mode == "max";
    const std::string early = info.since_version() < 16 ? "output_half_pixel" : "half_pixel";
    const auto coordinates = info.attribute<std::string>("coordinate_transformation_mode", early);
    Require(coordinates == "half_pixel" || coordinates == "output_half_pixel",
            "coordinate_transformation_mode is '{}', half_pixel or output_half_pixel is expected", coordinates);
    half_pixel_ = coordinates == "half_pixel";
    Require(out_height_ > 0 && out_width_ > 0 && out_height_ < kLimit && out_width_ < kLimit, "output size is {} x {}",
            out_height_, out_width_);
    Require(sampling_ratio_ >= 0, "sampling_ratio is {}", sampling_ratio_);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& rois = context.required_input(1);
    const Tensor& batches = context.required_input(2);
    const Shape& xs = x.shape();
    Require(xs.rank() == 4, "X is {}, [batches, channels, height, width] is expected", xs);
    Require(rois.shape().rank() == 2 && rois.shape()[1] == 4 && rois.is(x.type()),
            "rois are {} of {}, [rois, 4] of {} is expected", rois.shape(), ElementTypeName(rois.type()),
            ElementTypeName(x.type()));
    const int64_t count = rois.shape()[0];
    Require(batches.is(ElementType::kInt64) && batches.shape().rank() == 1 && batches.shape()[0] == count,
            "batch_indices are {}, [{}] of int64 is expected", batches.shape(), count);
    std::vector<double> axis_bins;
    std::vector<cl_long> counts;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t batch = batches.data<int64_t>()[i];
      Require(batch >= 0 && batch < xs[0], "batch index {} is outside {} images", batch, xs[0]);
      counts.push_back(batch);
      AddAxis(HostNumber(rois, 4 * i + 1), HostNumber(rois, 4 * i + 3), out_height_, axis_bins, counts);
      AddAxis(HostNumber(rois, 4 * i), HostNumber(rois, 4 * i + 2), out_width_, axis_bins, counts);
    }
    const Tensor& y = *context.output(0, Shape{count, xs[1], out_height_, out_width_});
    if (y.num_elements() == 0) return;
    Require(xs[2] > 0 && xs[3] > 0, "X is {}: there is nothing to pool", xs);
    const Buffer sent_bins = Send(axis_bins, x.type()),
                 sent_counts = device_.BufferOf(counts.data(), counts.size() * sizeof counts[0]);
    const Regions regions{xs[1], xs[2], xs[3], out_height_, out_width_, maximum_};
    kernel_.Linear(context, y.num_elements(), x, BufferRange{sent_bins.get(), 0}, BufferRange{sent_counts.get(), 0}, y,
                   regions);
  }

 private:
  static constexpr int64_t kLimit = int64_t{1} << 24;

  void AddAxis(double start, double end, int64_t bins, std::vector<double>& axis_bins, std::vector<cl_long>& counts) const {
    const double offset = half_pixel_ ? 0.5 : 0.0;
    start = start * spatial_scale_ - offset;
    double extent = end * spatial_scale_ - offset - start;
    if (!half_pixel_) extent = std::max(extent, 1.0);
    const double bin = extent / static_cast<double>(bins);
    int64_t samples = sampling_ratio_;
    if (samples == 0) {
      Require(bin < static_cast<double>(kLimit), "a region of {} pixels is too large for adaptive sampling", extent);
      samples = bin > 0 ? static_cast<int64_t>(std::ceil(bin)) : 0;
    }
    const bool nowhere = !std::isfinite(start) || !std::isfinite(bin);
    axis_bins.insert(axis_bins.end(), {nowhere ? 0 : start, nowhere ? 0 : bin});
    counts.push_back(nowhere ? 0 : samples);
  }

  Buffer Send(const std::vector<double>& axis_bins, ElementType type) const {
    if (type == ElementType::kDouble) return device_.BufferOf(axis_bins.data(), axis_bins.size() * sizeof axis_bins[0]);
    const std::vector<float> rounded(axis_bins.begin(), axis_bins.end());
    return device_.BufferOf(rounded.data(), rounded.size() * sizeof rounded[0]);
  }

  Device& device_;
  Launchable kernel_;
  int64_t out_height_, out_width_, sampling_ratio_;
  double spatial_scale_;
  bool maximum_ = false, half_pixel_ = true;
};

}  // namespace

void RegisterRoiAlign(KernelRegistry& registry) {
  registry.Add(Op("RoiAlign").Versions(10).Types(0, kReals).HostInput(1).HostInput(2).Make<RoiAlign>());
}

}  // namespace tessera::opencl
