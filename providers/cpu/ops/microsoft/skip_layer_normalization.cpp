// SkipLayerNormalization and SkipSimplifiedLayerNormalization, com.microsoft, version 1: LayerNormalization, or
// RMSNormalization, of the sum of the input, a residual and a bias.

#include <cmath>

#include "cpu/engine/row_access.h"
#include "cpu/engine/slots.h"
#include "cpu/ops/microsoft/normalize_row.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/normalization/skip_layer_normalization.h"

namespace tessera::cpu {
namespace {

template <class C, bool kCenter>
class SkipLayerNormalization final : public Kernel {
 public:
  explicit SkipLayerNormalization(const KernelInfo& info) : attributes_(info.node()), epsilon_(attributes_.epsilon) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& skip = context.required_input(1);
    const Shape& shape = x.shape();
    const SkipLayerNormalizationSizes sizes(shape, skip.shape());
    const int64_t width = sizes.width, rows = sizes.rows, skip_rows = sizes.skip_rows;
    RowScale<C> scale;
    scale.gamma = RowParameter<C>(context, context.required_input(2), width, "gamma");
    scale.beta =
        !kCenter || context.input(3) == nullptr ? nullptr : RowParameter<C>(context, *context.input(3), width, "beta");
    const Tensor* bias_input = context.input(attributes_.bias_input());
    const C* bias = bias_input == nullptr ? nullptr : RowParameter<C>(context, *bias_input, width, "bias");
    Tensor* y = context.output(0, shape);
    Tensor* mean = context.has_output(1) ? context.output(1, sizes.statistics) : nullptr;
    Tensor* inverse = context.has_output(2) ? context.output(2, sizes.statistics) : nullptr;
    Tensor* sum = context.has_output(3) ? context.output(3, shape) : nullptr;
    if (y == nullptr || rows == 0 || width == 0) return;
    const RowReader<C> in(x), residual(skip);
    const RowWriter<C> out(*y);
    const double cost = 1.0 * static_cast<double>(width) + 20;
    const int64_t slots = SlotCount(context.threads(), rows, cost);
    const auto buffers = context.scratch<C>(static_cast<size_t>(slots * width * 3));
    ParallelSlots(context.threads(), slots, rows, cost, [&](int64_t slot, int64_t begin, int64_t end) {
      C* total = buffers.data() + slot * width * 3;
      for (int64_t row = begin; row < end; ++row) {
        const C* a = in.Read(row * width, width, total + width);
        const C* b = residual.Read(row % skip_rows * width, width, total + 2 * width);
        SumRows(a, b, bias, width, total);
        if (sum != nullptr) StoreRow(total, row * width, width, *sum);
        const RowMoments moments =
            NormalizeRow<C, kCenter>(total, width, epsilon_, scale, out.At(row * width, total + width));
        out.Flush(row * width, width, total + width);
        if (mean != nullptr) mean->mutable_data<float>()[row] = static_cast<float>(moments.mean);
        if (inverse != nullptr) inverse->mutable_data<float>()[row] = static_cast<float>(moments.inverse);
      }
    });
  }

 private:
  SkipLayerNormalizationAttributes attributes_;
  double epsilon_;
};

template <bool kCenter>
std::unique_ptr<Kernel> MakeSkip(const KernelInfo& info) {
  if (info.input_type(0) == ElementType::kDouble) return std::make_unique<SkipLayerNormalization<double, kCenter>>(info);
  return std::make_unique<SkipLayerNormalization<float, kCenter>>(info);
}

}  // namespace

void RegisterSkipLayerNormalization(KernelRegistry& registry) {
  registry.Add(Op("SkipLayerNormalization", "com.microsoft").Types(0, kFloats).Factory(MakeSkip<true>));
}
void RegisterSkipSimplifiedLayerNormalization(KernelRegistry& registry) {
  registry.Add(Op("SkipSimplifiedLayerNormalization", "com.microsoft").Types(0, kFloats).Factory(MakeSkip<false>));
}

}  // namespace tessera::cpu
