// LayerNormalization: version 17, and ONNX Runtime's version 1. RMSNormalization: version 23. SimplifiedLayerNormalization:
// ONNX Runtime's version 1 of RMSNormalization. All normalize the trailing dimensions from `axis` on.

#include <cmath>

#include "cpu/engine/normalize.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "kernels/normalize/normalize.h"
#include "ops/axis.h"
#include "ops/normalization/layer_normalization.h"

namespace tessera::cpu {
namespace {

/// Rows that stay in the first cache between the passes.
constexpr int64_t kLongestRow = 4096;

/// Scale or bias: one element per normalized element, the same for each row unless row_stride says otherwise.
template <class C>
struct Parameter {
  const C* data = nullptr;
  int64_t row_stride = 0;

  const C* At(int64_t row, int64_t first) const { return data == nullptr ? nullptr : data + row * row_stride + first; }
};

template <class C>
Parameter<C> Prepare(KernelContext& context, const Tensor* tensor, const Shape& x, size_t axis, int64_t count) {
  if (tensor == nullptr) return {};
  const Shape& shape = tensor->shape();
  const std::span<const int64_t> normalized = x.dims().subspan(axis);
  if (std::ranges::equal(shape.dims(), normalized) && RowReader<C>(*tensor).direct()) return {tensor->data<C>(), 0};
  bool same_in_rows = true;
  for (size_t i = 0; i + normalized.size() < shape.rank(); ++i) same_in_rows &= shape[i] == 1;
  const std::span<C> expanded = context.scratch<C>(static_cast<size_t>(same_in_rows ? count : x.num_elements()));
  Require(shape.rank() <= x.rank(), "shape {} does not broadcast to {}", shape, x);
  ExpandTo(*tensor, same_in_rows ? normalized : x.dims(), expanded.data());
  return {expanded.data(), same_in_rows ? 0 : count};
}

template <class C, bool kCenter>
class TrailingNormalization final : public Kernel {
 public:
  explicit TrailingNormalization(const KernelInfo& info) : attributes_(info.node()), epsilon_(attributes_.epsilon) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    const size_t axis = NormalizeAxis(attributes_.axis, shape.rank());
    const int64_t rows = shape.SizeOfRange(0, axis), count = shape.SizeOfRange(axis, shape.rank());
    Tensor* y = context.output(0, shape);
    const Shape reduced = LayerNormalizationAttributes::StatisticsShape(shape, axis);
    Tensor* mean = kCenter ? context.output(1, reduced) : nullptr;
    Tensor* inverse = context.output(attributes_.inverse_output(), reduced);
    if (y == nullptr || rows == 0) return;
    const auto statistics =
        context.scratch<RowStatistics>(mean != nullptr || inverse != nullptr ? static_cast<size_t>(rows) : 0);
    std::fill(statistics.begin(), statistics.end(), RowStatistics{NAN, NAN});  // stays where rows are empty
    const Parameter<C> scale = Prepare<C>(context, &context.required_input(1), shape, axis, count);
    const Parameter<C> bias = Prepare<C>(context, kCenter ? context.input(2) : nullptr, shape, axis, count);
    if (statistics.empty() && RowReader<C>(x).direct() && RowWriter<C>(*y).direct() && count > 0 && count <= kLongestRow &&
        scale.row_stride == 0 && bias.row_stride == 0) {
      const double row_ns = 5 + 0.35 * static_cast<double>(count);
      context.threads().ParallelFor(rows, row_ns, [&](int64_t begin, int64_t end) {
        kernels_.standardize_rows(x.data<C>() + begin * count, y->mutable_data<C>() + begin * count, end - begin, count,
                                  kCenter, epsilon_, scale.data, bias.data);
      });
      return;
    }
    NormalizeRows<C>(context, RowReader<C>(x), RowWriter<C>(*y), rows, count, kCenter, epsilon_,
                     statistics.empty() ? nullptr : statistics.data(),
                     [&](int64_t row, int64_t first, int64_t n, const C* in, C* out, RowStatistics s) {
                       kernels_.standardize(in, out, n, static_cast<C>(s.mean), static_cast<C>(s.inverse),
                                            scale.At(row, first), bias.At(row, first));
                     });
    for (int64_t i = 0; i < static_cast<int64_t>(statistics.size()); ++i) {
      const RowStatistics& s = statistics[static_cast<size_t>(i)];
      if (mean != nullptr) RowWriter<double>(*mean).Write(i, s.mean);
      if (inverse != nullptr) RowWriter<double>(*inverse).Write(i, s.inverse);
    }
  }

 private:
  LayerNormalizationAttributes attributes_;
  double epsilon_;
  const NormalizeKernels<C>& kernels_ = NormalizeKernelsOf<C>();
};

template <bool kCenter>
std::unique_ptr<Kernel> MakeTrailing(const KernelInfo& info) {
  if (info.input_type(0) == ElementType::kDouble || info.input_type(1) == ElementType::kDouble) {
    return std::make_unique<TrailingNormalization<double, kCenter>>(info);
  }
  return std::make_unique<TrailingNormalization<float, kCenter>>(info);
}

}  // namespace

void RegisterLayerNormalization(KernelRegistry& registry) {
  registry.Add(Op("LayerNormalization").Types(0, kFloats).InPlace(0, 0).Factory(MakeTrailing<true>));
}
void RegisterRMSNormalization(KernelRegistry& registry) {
  registry.Add(Op("RMSNormalization").Types(0, kFloats).Types(1, kFloats).InPlace(0, 0).Factory(MakeTrailing<false>));
}

void RegisterSimplifiedLayerNormalization(KernelRegistry& registry) {
  registry.Add(
      Op("SimplifiedLayerNormalization").Types(0, kFloats).Types(1, kFloats).InPlace(0, 0).Factory(MakeTrailing<false>));
}

}  // namespace tessera::cpu
