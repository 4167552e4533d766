// RoiAlign (10-22). Regions are read on the host, which checks them and says where samples lie.

#include <cmath>
#include <vector>

#include "opencl/device/kernel.h"
#include "ops/image/roi_align.h"

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
        attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& rois = context.required_input(1);
    const Tensor& batches = context.required_input(2);
    const Shape& xs = x.shape();
    const Shape result = attributes_.ResultShape(x, rois, batches);
    const int64_t count = result[0];
    std::vector<double> axis_bins;
    std::vector<cl_long> counts;
    for (int64_t i = 0; i < count; ++i) {
      counts.push_back(batches.data<int64_t>()[i]);
      AddAxis(HostNumber(rois, 4 * i + 1), HostNumber(rois, 4 * i + 3), result[2], axis_bins, counts);
      AddAxis(HostNumber(rois, 4 * i), HostNumber(rois, 4 * i + 2), result[3], axis_bins, counts);
    }
    const Tensor& y = *context.output(0, result);
    if (y.num_elements() == 0) return;
    const Buffer sent_bins = Send(axis_bins, x.type()),
                 sent_counts = device_.BufferOf(counts.data(), counts.size() * sizeof counts[0]);
    const Regions regions{xs[1], xs[2], xs[3], result[2], result[3], attributes_.maximum};
    kernel_.Linear(context, y.num_elements(), x, BufferRange{sent_bins.get(), 0}, BufferRange{sent_counts.get(), 0}, y,
                   regions);
  }

 private:
  void AddAxis(double start, double end, int64_t bins, std::vector<double>& axis_bins, std::vector<cl_long>& counts) const {
    const RoiSampling sampling = attributes_.Sampling(start, end, bins);
    const bool nowhere = !std::isfinite(sampling.start) || !std::isfinite(sampling.bin);
    axis_bins.insert(axis_bins.end(), {nowhere ? 0 : sampling.start, nowhere ? 0 : sampling.bin});
    counts.push_back(nowhere ? 0 : sampling.samples);
  }

  Buffer Send(const std::vector<double>& axis_bins, ElementType type) const {
    if (type == ElementType::kDouble) return device_.BufferOf(axis_bins.data(), axis_bins.size() * sizeof axis_bins[0]);
    const std::vector<float> rounded(axis_bins.begin(), axis_bins.end());
    return device_.BufferOf(rounded.data(), rounded.size() * sizeof rounded[0]);
  }

  Device& device_;
  Launchable kernel_;
  RoiAlignAttributes attributes_;
};

std::string SamplesRefusal(const NodeInfo& info) {
  return RoiAlignAttributes(info.node()).sampling_ratio > 1024 ? "so many samples of a bin are left to the CPU provider"
                                                               : "";
}

}  // namespace

void RegisterRoiAlign(KernelRegistry& registry) {
  registry.Add(
      Op("RoiAlign").Versions(10).Types(0, kReals).HostInput(1).HostInput(2).Unless(SamplesRefusal).Make<RoiAlign>());
}

}  // namespace tessera::opencl
