// MatMulNBits, com.microsoft, version 1: matmul with weights of 2, 4 or 8 bits. Few rows (the tokens of a decoder) meet
// the weights as they are stored; many rows meet panels of them that are converted on the way into the caches. Where
// accuracy_level is 4 (A may be quantized to 8 bits) and the weights have 4 bits or 8, the matmuls are those of integers.

#include <algorithm>
#include <bit>
#include <optional>

#include "base/checked.h"
#include "base/precision.h"
#include "cpu/ops/microsoft/nbits_gemm.h"
#include "cpu/ops/nn/float_view.h"
#include "cpu/ops/nn/gemm_calls.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/math/matmul_nbits.h"

namespace tessera::cpu {
namespace {

template <class T>
class MatMulNBits final : public Kernel {
 public:
  explicit MatMulNBits(const KernelInfo& info) : attributes_(info.node()) {
    weights_.k = attributes_.k;
    weights_.n = attributes_.n;
    weights_.block_size = attributes_.block_size;
    weights_.blocks = attributes_.blocks;
    weights_.bits = static_cast<int>(attributes_.bits);
    if (attributes_.accuracy_level == kInt8AccuracyLevel) quantizes_a_ = weights_.bits != 2;
    const std::optional<int> zero = CommonZero(info, weights_);
    has_common_zero_ = zero.has_value();
    weights_.common_zero = zero.value_or(1 << (weights_.bits - 1));
    scales_ = ConstantAsFloats(info, 2);
  }

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Shape shape = attributes_.ResultShape(a.shape());
    const NBitsWeights weights = Weights(context);
    const int32_t* groups = Groups(context);
    const Tensor* bias_input = context.input(5);
    Tensor* output = context.output(0, shape);
    if (output == nullptr || output->num_elements() == 0) return;
    const int64_t rows = a.num_elements() / weights.k;
    const float* values = ComputeView<T>(context, &a);
    const float* bias = ComputeView<T>(context, bias_input);
    ComputeResult<T> result(context, *output);
    if (groups != nullptr) {
      const NBitsPanels panels(weights, groups);
      const GemmProblem<float> args = panels.MakeGemm(rows, values, bias, result.data());
      RunGemms<float>(context, 1, [&](int64_t) { return args; });
    } else {
      MultiplyByNBits(context, weights, quantizes_a_, rows, values, bias, result.data(), true);
    }
    result.Finish();
  }

 private:
  /// The one zero point that all blocks have, where constants say so.
  static std::optional<int> CommonZero(const KernelInfo& info, const NBitsWeights& w) {
    const Tensor* zeros = info.constant_input(3);
    const int64_t row_bytes = w.zero_row_bytes();
    if (zeros == nullptr || !zeros->is(ElementType::kUInt8) || zeros->num_elements() != CheckedMul(w.n, row_bytes))
      return std::nullopt;
    const uint8_t* bytes = zeros->data<uint8_t>();
    const int value = bytes[0] & ((1 << w.bits) - 1);
    int all = 0;
    for (int bit = 0; bit < 8; bit += w.bits) all |= value << bit;
    const int64_t bits_of_last = (w.blocks * w.bits - 1) % 8 + 1;
    const int last = (1 << bits_of_last) - 1;
    for (int64_t row = 0; row < w.n; ++row, bytes += row_bytes) {
      const bool same = std::all_of(bytes, bytes + row_bytes - 1, [&](uint8_t byte) { return byte == all; });
      if (!same || ((bytes[row_bytes - 1] ^ all) & last) != 0) return std::nullopt;
    }
    return value;
  }

  NBitsWeights Weights(KernelContext& context) const {
    NBitsWeights w = weights_;
    const Tensor& quantized = context.required_input(1);
    const Tensor& scales = context.required_input(2);
    const Tensor* zeros = has_common_zero_ ? nullptr : context.input(3);
    attributes_.Check(quantized, scales, zeros, context.input(5), ElementTypeOf<T>);
    w.quantized = quantized.data<uint8_t>();
    w.scales = scales_ ? scales_->template data<float>() : ComputeView<T>(context, &scales);
    if (zeros == nullptr) return w;
    if (zeros->is(ElementType::kUInt8)) w.zeros = zeros->data<uint8_t>();
    else w.float_zeros = ComputeView<T>(context, zeros);
    return w;
  }

  /// The block whose scale each k has; null for its own.
  const int32_t* Groups(KernelContext& context) const {
    const Tensor* groups = context.input(4);
    if (groups == nullptr) return nullptr;
    Require(groups->num_elements() >= weights_.k, "g_idx is {} for a K of {}", groups->shape(), weights_.k);
    for (const int32_t group : groups->values<int32_t>()) {
      Require(group >= 0 && group < weights_.blocks, "g_idx holds {}, there are {} blocks", group, weights_.blocks);
    }
    return groups->data<int32_t>();
  }

  MatMulNBitsAttributes attributes_;
  NBitsWeights weights_;
  bool quantizes_a_ = false;
  bool has_common_zero_ = false;  // whatever the input says
  std::shared_ptr<const Tensor> scales_;
};

}  // namespace

void RegisterMatMulNBits(KernelRegistry& registry) {
  registry.Add(Op("MatMulNBits", "com.microsoft")
                   .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16})
                   .Factory(MakeTyped<MatMulNBits, TypeList<float, Float16, BFloat16>>));
}

}  // namespace tessera::cpu
