// SkipLayerNormalization and SkipSimplifiedLayerNormalization, com.microsoft, version 1: LayerNormalization, or
// RMSNormalization, of the sum of the input, a residual and a bias.

#include <cmath>

#include "cpu/engine/row_access.h"
#include "cpu/engine/slots.h"
#include "cpu/ops/microsoft/normalize_row.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

template <class C, bool kCenter>
class SkipLayerNormalization final : public Kernel {
 public:
  explicit SkipLayerNormalization(const KernelInfo& info) : epsilon_(info.attribute<float>("epsilon", 1e-12f)) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& skip = context.required_input(1);
    const Shape& shape = x.shape();
    const size_t rank = shape.rank();
    Require(rank == 2 || rank == 3, "the input is {}; 2 or 3 dimensions are expected", shape);
    const int64_t width = shape.back();
    const int64_t rows = shape.SizeOfRange(0, rank - 1);
    const int64_t skip_rows = SkipRows(shape, skip.shape());
    RowScale<C> scale;
    scale.gamma = RowParameter<C>(context, context.required_input(2), width, "gamma");
    scale.beta =
        !kCenter || context.input(3) == nullptr ? nullptr : RowParameter<C>(context, *context.input(3), width, "beta");
    const Tensor* bias_input = context.input(kCenter ? 4 : 3);
    const C* bias = bias_input == nullptr ? nullptr : RowParameter<C>(context, *bias_input, width, "bias");
    Tensor* y = context.output(0, shape);
    Shape reduced = shape;
    reduced[rank - 1] = 1;
    Tensor* mean = context.has_output(1) ? context.output(1, reduced) : nullptr;
    Tensor* inverse = context.has_output(2) ? context.output(2, reduced) : nullptr;
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
  /// How many rows the residual has; they repeat.
  static int64_t SkipRows(const Shape& x, const Shape& skip) {
    const size_t rank = x.rank(), skipped = rank - std::min(rank, skip.rank());
    const bool fits = skip.rank() >= 2 && skip.rank() <= rank &&
                      std::equal(skip.begin() + 1, skip.end(), x.begin() + skipped + 1) &&
                      (skip[0] == x[skipped] || (rank == 3 && skip.rank() == 3 && skip[0] == 1));
    Require(fits, "skip is {} for an input {}", skip, x);
    return std::max<int64_t>(skip.SizeOfRange(0, skip.rank() - 1), 1);
  }

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
