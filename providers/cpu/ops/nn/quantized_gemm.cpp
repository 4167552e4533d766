#include "cpu/ops/nn/quantized_gemm.h"

#include <algorithm>

#include "base/check.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/ops/nn/gemm_calls.h"
#include "cpu/ops/nn/integer_matmul.h"
#include "cpu/ops/nn/shared_weights.h"
#include "cpu/types.h"

namespace tessera::cpu {
bool IsSingle(const KernelInfo& info, size_t i) {
  if (!info.has_input(i)) return true;
  const TypeInfo& type = info.input_info(i);
  const auto shape = type.is_tensor() && type.shape ? ToShape(*type.shape) : std::nullopt;
  return shape && shape->num_elements() == 1;
}

QuantizedGemm::QuantizedGemm(const KernelInfo& info, size_t matrix, size_t zero_point, bool transposed) {
  const Tensor* b = info.constant_input(matrix);
  const Tensor* zero = info.constant_input(zero_point);
  if (b == nullptr || b->shape().rank() != 2 || b->num_elements() == 0 || (info.has_input(zero_point) && zero == nullptr))
    return;
  if (!b->is(ElementType::kInt8) && !b->is(ElementType::kUInt8)) return;
  const int64_t k = b->shape()[transposed ? 1 : 0], n = b->shape()[transposed ? 0 : 1];
  if (!ZerosFit(*b, zero, n)) return;
  zeros_ = SignedZeros(*b, zero, n);
  const WeightSource source{
      static_cast<const uint8_t*>(b->raw()), b->is(ElementType::kInt8), n, k, transposed ? k : 1, transposed ? 1 : n};
  weights_ = SharedWeights(info, *b, transposed ? "u8s8_transposed" : "u8s8", {n, k, PanelLayout::kVectors},
                           [&] { return PackWeightsS8(info.threads(), source, PanelLayout::kVectors); });
  if (weights_ == nullptr) return;
  shape_ = Shape{k, n};
  info.ReleaseConstant(matrix);
}

void QuantizedGemm::Run(KernelContext& context, const Tensor& a, int64_t rows, int32_t a_zero,
                        const QuantizedGemmOutput& out) const {
  const int64_t k = shape_[0], n = shape_[1];
  if (rows == 0) return;
  if (a.is(ElementType::kInt8)) a_zero += 128;
  const int64_t blocks = CeilDiv(n, weights_->width);
  const auto padded = static_cast<size_t>(blocks * weights_->width);
  // Accumulators wrap as in the definition.
  const auto add = context.scratch<uint32_t>(padded);
  const bool scaled = out.kind != OutputStage::kAccumulators;
  const auto scales = context.scratch<float>(scaled ? padded : 0);
  std::fill(add.begin() + n, add.end(), 0u);
  if (scaled) std::fill(scales.begin() + n, scales.end(), 0.0f);
  for (int64_t i = 0; i < n; ++i) {
    const int32_t zero = zeros_.empty() ? 0 : zeros_[static_cast<size_t>(i)];
    add[i] = static_cast<uint32_t>(out.bias == nullptr ? 0 : out.bias[i]) +
             static_cast<uint32_t>(weights_->offsets[static_cast<size_t>(i)]) -
             static_cast<uint32_t>(a_zero) * static_cast<uint32_t>(weights_->sums[static_cast<size_t>(i)]) +
             static_cast<uint32_t>(k) * static_cast<uint32_t>(a_zero) * static_cast<uint32_t>(zero);
    if (scaled) scales[i] = out.scales[out.scales.size() == 1 ? 0 : static_cast<size_t>(i)];
  }
  OutputStage store{
      out.kind, out.data, n,      reinterpret_cast<const int32_t*>(add.data()), scaled ? scales.data() : nullptr, nullptr,
      out.zero, nullptr,  nullptr};
  if (out.shift != nullptr) {
    const auto shift = context.scratch<float>(padded);
    std::copy_n(out.shift, n, shift.begin());
    std::fill(shift.begin() + n, shift.end(), 0.0f);
    store.bias = shift.data();
  }
  if (!zeros_.empty()) {
    const auto zeros = context.scratch<int32_t>(padded);
    std::transform(zeros_.begin(), zeros_.end(), zeros.begin(), [](int32_t zero) { return -zero; });
    std::fill(zeros.begin() + n, zeros.end(), 0);
    store.weight_zeros = zeros.data();
  }
  RunGemm(context, {.m = rows,
                    .lhs = {static_cast<const uint8_t*>(a.raw()), a.is(ElementType::kInt8)},
                    .rhs = weights_.get(),
                    .out = store});
}

}  // namespace tessera::cpu
