// CausalConvWithState (27), and version 1 of com.microsoft, from which it came.

#include "ops/attention/causal_conv_with_state.h"

#include <algorithm>

#include "base/cancellable_memory.h"
#include "base/checked.h"
#include "cpu/ops/attention/real_tensor.h"
#include "cpu/ops/ops.h"
#include "kernels/conv/causal_conv.h"
#include "kernels/elementwise/swish.h"

namespace tessera::cpu {
namespace {

class CausalConvWithState final : public Kernel {
 public:
  explicit CausalConvWithState(const KernelInfo& info) : silu_(CausalConvHasSilu(info.node())) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& weight = context.required_input(1);
    const Tensor* bias = context.input(2);
    const Tensor* past = context.input(3);
    const CausalConvSizes sizes = InferCausalConv(x.shape(), weight.shape(), bias, past);
    Tensor* y = context.output(0, x.shape());
    Tensor* present = context.output(1, Shape{sizes.batch, sizes.channels, sizes.carried()});
    const float* weights = RealView<float>(context, weight);
    const float* biases = bias == nullptr ? nullptr : RealView<float>(context, *bias);
    const int64_t padded = sizes.carried() + sizes.length;
    const int64_t parts = std::clamp<int64_t>(sizes.batch * sizes.channels, 1, 4 * context.threads().num_threads());
    const auto buffer = context.scratch<float>(static_cast<size_t>(CheckedMul(parts, CheckedAdd(padded, sizes.length))));
    const int64_t rows = sizes.batch * sizes.channels;
    const double cost = (static_cast<double>(padded) * kMovedNs +
                         static_cast<double>(sizes.length) * static_cast<double>(sizes.k) * kTapNs + 20) *
                        static_cast<double>(rows) / static_cast<double>(parts);
    context.threads().ParallelFor(parts, cost, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        float* whole = buffer.data() + part * (padded + sizes.length);
        float* out = whole + padded;
        for (int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) {
          CancellationPoint();
          const int64_t channel = row % sizes.channels;
          if (past == nullptr) {
            FillCancellably(whole, sizes.carried(), 0.0f);
          } else {
            LoadReals(*past, row * sizes.carried(), sizes.carried(), whole);
          }
          InCancellablePieces(0, sizes.length, kMovedNs, [&](int64_t from, int64_t to) {
            LoadReals(x, row * sizes.length + from, to - from, whole + sizes.carried() + from);
          });
          if (present != nullptr) StoreReals(whole + sizes.length, sizes.carried(), *present, row * sizes.carried());
          if (y == nullptr) continue;
          const double sum_ns = static_cast<double>(sizes.k) * kTapNs + kMovedNs;
          InCancellablePieces(0, sizes.length, sum_ns, [&](int64_t from, int64_t to) {
            CausalConvRow(whole + from, weights + channel * sizes.k, sizes.k, biases == nullptr ? 0.0f : biases[channel],
                          to - from, out + from);
            if (silu_) {
              if (!x.is(ElementType::kFloat)) {  // the function acts on the rounded sums
                StoreReals(out + from, to - from, *y, row * sizes.length + from);
                LoadReals(*y, row * sizes.length + from, to - from, out + from);
              }
              SwishRow(out + from, to - from, 1);
            }
            StoreReals(out + from, to - from, *y, row * sizes.length + from);
          });
        }
      }
    });
  }

 private:
  static constexpr double kMovedNs = 1, kTapNs = 0.1;

  bool silu_;
};

}  // namespace

void RegisterCausalConvWithState(KernelRegistry& registry) {
  for (const char* domain : {"", "com.microsoft"}) {
    registry.Add(Op("CausalConvWithState", domain)
                     .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16})
                     .Make<CausalConvWithState>());
  }
}

}  // namespace tessera::cpu
