// LRN: versions 1, 13. Divides by a power of the squares summed over neighbouring channels.

#include "kernels/normalize/lrn.h"

#include <algorithm>
#include <cmath>

#include "base/rounding.h"
#include "cpu/engine/row_access.h"
#include "cpu/engine/slots.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/normalization/lrn.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kColumns = 256;

template <class C>
class Lrn final : public Kernel {
 public:
  explicit Lrn(const KernelInfo& info)
      : attributes_(info.node()), alpha_(attributes_.alpha), beta_(attributes_.beta), bias_(attributes_.bias) {
    // What is below leaves an error behind that is small beside the bias.
    const double squares = 1e8 * bias_ * static_cast<double>(attributes_.size) / alpha_;
    if (squares > 0) largest_ = std::sqrt(squares);
  }

  void Compute(KernelContext& context) override {
    const Tensor& tensor = context.required_input(0);
    const Shape& shape = tensor.shape();
    Require(shape.rank() >= 2, "the input has shape {}, batch and channels are expected", shape);
    Tensor* result = context.output(0, shape);
    if (result == nullptr || result->num_elements() == 0) return;
    const RowReader<C> x(tensor);
    const RowWriter<C> y(*result);
    const int64_t channels = shape[1], spatial = shape.SizeOfRange(2, shape.rank());
    const int64_t before = attributes_.Before(channels), after = attributes_.After(channels);
    const int64_t blocks = CeilDiv(spatial, kColumns), units = shape[0] * blocks;
    const double unit_ns = 2.0 * static_cast<double>(channels * std::min(spatial, kColumns));
    const int64_t slots = SlotCount(context.threads(), units, unit_ns);
    const int64_t panel = channels * std::min(spatial, kColumns);
    const auto buffers = context.scratch<C>(static_cast<size_t>(panel * slots));
    ParallelSlots(context.threads(), slots, units, unit_ns, [&](int64_t slot, int64_t begin, int64_t end) {
      C* rows = buffers.data() + slot * panel;
      C out[kColumns];
      double window[kColumns];
      PacedCancellationPoint look(2);
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t column = unit % blocks * kColumns, n = std::min(kColumns, spatial - column);
        const int64_t base = unit / blocks * channels * spatial + column;
        for (int64_t c = 0; c < channels; ++c, look.Pass(n)) x.Copy(base + c * spatial, n, rows + c * n);
        std::fill_n(window, n, 0.0);
        for (int64_t c = 0; c < std::min(after, channels); ++c, look.Pass(n))
          kernels_.slide(window, rows + c * n, nullptr, n);
        for (int64_t c = 0; c < channels; ++c, look.Pass(n)) {
          const int64_t enters = c + after, leaves = c - before - 1;
          if (leaves < 0 || LeavesNothingBehind(rows + leaves * n, n)) {
            kernels_.slide(window, enters < channels ? rows + enters * n : nullptr,
                           leaves >= 0 ? rows + leaves * n : nullptr, n);
          } else {
            std::fill_n(window, n, 0.0);
            for (int64_t i = leaves + 1; i <= std::min(enters, channels - 1); ++i)
              kernels_.slide(window, rows + i * n, nullptr, n);
          }
          const int64_t at = base + c * spatial;
          kernels_.divide(rows + c * n, window, y.At(at, out), n, alpha_ / static_cast<double>(attributes_.size), beta_,
                          bias_);
          y.Flush(at, n, out);
        }
      }
    });
  }

 private:
  /// Whether a sum that these squares are taken from again is as good as new: NaN and infinity stay in it, and large
  /// numbers take small ones with them.
  bool LeavesNothingBehind(const C* row, int64_t count) const {
    bool within = true;
    for (int64_t i = 0; i < count; ++i) within &= std::abs(static_cast<double>(row[i])) <= largest_;
    return within;
  }

  LrnAttributes attributes_;
  double alpha_;
  double beta_;
  double bias_;
  double largest_ = 0;
  const LrnKernels<C>& kernels_ = LrnKernelsOf<C>();
};

}  // namespace

void RegisterLRN(KernelRegistry& registry) {
  registry.Add(Op("LRN").Types(0, kFloats).InPlace(0, 0).Factory(MakeComputed<Lrn>));
}

}  // namespace tessera::cpu
