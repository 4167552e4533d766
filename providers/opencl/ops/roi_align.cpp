// RoiAlign (10-22). Regions are read on the host, which checks them and says where samples lie.

#include <cmath>

#include "base/cancellation.h"
#include "opencl/device/scratch.h"
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
      : kernel_(DeviceOf(info), "roi_align", Computed('X', info.input_type(0)), "roi_align"), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& rois = context.required_input(1);
    const Tensor& batches = context.required_input(2);
    const Shape result = attributes_.ResultShape(x, rois, batches);
    const Tensor& y = *context.output(0, result);
    if (y.num_elements() == 0) return;
    x.is(ElementType::kDouble) ? Align<double>(context, x, y) : Align<float>(context, x, y);
  }

 private:
  /// `T`: of the positions of bins.
  template <class T>
  void Align(KernelContext& context, const Tensor& x, const Tensor& y) {
    const Tensor& rois = context.required_input(1);
    const Tensor& batches = context.required_input(2);
    const Shape &xs = x.shape(), &ys = y.shape();
    const auto count = static_cast<size_t>(ys[0]);
    const std::span<T> positions = context.scratch<T>(4 * count);
    const std::span<int64_t> counts = context.scratch<int64_t>(3 * count);
    PacedCancellationPoint point(50);
    for (size_t i = 0; i < count; ++i) {
      point.Pass();
      const auto corner = [&](int64_t k) { return HostNumber(rois, static_cast<int64_t>(4 * i) + k); };
      counts[3 * i] = batches.data<int64_t>()[i];
      SetAxis(corner(1), corner(3), ys[2], &positions[4 * i], counts[3 * i + 1]);
      SetAxis(corner(0), corner(2), ys[3], &positions[4 * i + 2], counts[3 * i + 2]);
    }
    const SentData sent_positions(context, positions.data(), positions.size_bytes()),
        sent_counts(context, counts.data(), counts.size_bytes());
    const Regions regions{xs[1], xs[2], xs[3], ys[2], ys[3], attributes_.maximum};
    kernel_.Linear(context, y.num_elements(), x, sent_positions.range(), sent_counts.range(), y, regions);
  }

  /// Where an axis' first bin begins and its length, and how many samples a bin has.
  template <class T>
  void SetAxis(double start, double end, int64_t bins, T* place, int64_t& samples) const {
    const RoiSampling sampling = attributes_.Sampling(start, end, bins);
    const bool nowhere = !std::isfinite(sampling.start) || !std::isfinite(sampling.bin);
    place[0] = static_cast<T>(nowhere ? 0 : sampling.start);
    place[1] = static_cast<T>(nowhere ? 0 : sampling.bin);
    samples = nowhere ? 0 : sampling.samples;
  }

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
