// LRN (1, 13).

#include "ops/normalization/lrn.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "opencl/device/kernel.h"
#include "opencl/device/scratch.h"

namespace tessera::opencl {
namespace {

class Lrn final : public Kernel {
 public:
  explicit Lrn(const KernelInfo& info)
      : defines_(Computed('X', info.input_type(0))),
        kernel_(DeviceOf(info), "lrn", defines_, "lrn"),
        squares_(DeviceOf(info), "lrn", defines_, "lrn_squares"),
        double_(DeviceOf(info), "lrn", defines_, "lrn_double"),
        divide_(DeviceOf(info), "lrn", defines_, "lrn_divide"),
        sum_bytes_(info.input_type(0) == ElementType::kDouble ? 8 : 4),
        attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    Require(shape.rank() >= 2, "the input is {}; batch and channels are expected", shape);
    const auto& [size, alpha, beta, bias] = attributes_;
    Tensor& y = *context.output(0, shape);
    const Windows windows{shape.SizeOfRange(2, shape.rank()), shape[1], attributes_.Before(shape[1]),
                          attributes_.After(shape[1])};
    const float scale = alpha / static_cast<float>(size);
    if (std::min(windows.before + windows.after + 1, shape[1]) >= kWide) return Wide(context, x, y, windows, scale);
    kernel_.Linear(context, x.num_elements(), x, y, windows.plane, windows.channels, windows.before, windows.after, scale,
                   beta, bias);
  }

 private:
  static constexpr int64_t kWide =
      128;  // channels; a window of so many takes longer than passes for each bit of their number

  struct Windows {
    cl_long plane, channels, before, after;
  };

  /// Time in the logarithm of the window's size.
  void Wide(KernelContext& context, const Tensor& x, const Tensor& y, const Windows& windows, float scale) {
    const int64_t total = x.num_elements();
    const auto bytes = static_cast<size_t>(CheckedMul(total, sum_bytes_));
    const DeviceScratch sums(context, bytes), doubled(context, bytes), of_windows(context, bytes);
    BufferRange from = sums.range(), to = doubled.range();
    squares_.Compile().Linear(context, total, x, from);
    const int64_t widest = std::min(windows.before + windows.after + 1, int64_t{windows.channels});
    for (cl_int bit = 0; widest >> bit > 0; ++bit) {
      double_.Compile().Linear(context, total, from, to, of_windows.range(), windows.plane, windows.channels,
                               windows.before, windows.after, bit);
      std::swap(from, to);
    }
    divide_.Compile().Linear(context, total, x, of_windows.range(), y, scale, attributes_.beta, attributes_.bias);
  }

  std::string defines_;
  Launchable kernel_;
  LazyLaunchable squares_, double_, divide_;
  int64_t sum_bytes_;
  LrnAttributes attributes_;
};

}  // namespace

void RegisterLrn(KernelRegistry& registry) { registry.Add(Op("LRN").Versions(1).Types(0, kReals).Make<Lrn>()); }

}  // namespace tessera::opencl
