#pragma once

// GEMM of floats with weights of 2, 4 or 8 bits, by the path that ChooseNBitsGemm chooses.

#include <algorithm>
#include <memory>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/nbits/nbits.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Panels of the weights' transpose.
class NBitsPanels final : public GemmPanelSource<float> {
 public:
  /// `groups`: the block whose scale each k has; null for its own.
  NBitsPanels(const NBitsWeights& weights, const int32_t* groups) : w_(weights), groups_(groups) {}

  /// rows * weights + bias.
  GemmProblem<float> MakeGemm(int64_t rows, const float* a, const float* bias, float* c) const {
    GemmProblem<float> args;
    args.m = rows;
    args.n = w_.n;
    args.k = w_.k;
    args.lhs = {.data = a, .row = w_.k};
    args.rhs.source = this;
    args.out = {.data = c, .row = w_.n};
    args.epilogue.bias = bias;
    return args;
  }

  void Pack(int64_t k0, int64_t kc, int64_t n0, int64_t width, float* out) const override {
    if (groups_ == nullptr) return DequantizeNBitsPanel(w_, k0, kc, n0, width, out);
    const int64_t panel = GemmPanelWidth<float>();
    for (int64_t i = 0; i < kc; ++i, out += panel) {
      std::fill(out + width, out + panel, 0.0f);
      for (int64_t j = 0; j < width; ++j) out[j] = WeightAt(n0 + j, k0 + i);
    }
  }

 private:
  float WeightAt(int64_t row, int64_t k) const {
    const int64_t bit = k % w_.block_size * w_.bits, group = groups_[k];
    const uint8_t byte = w_.quantized[(row * w_.blocks + k / w_.block_size) * w_.block_bytes() + bit / 8];
    const auto value = static_cast<float>((byte >> (bit % 8)) & ((1 << w_.bits) - 1));
    return (value - w_.ZeroOf(row, group)) * w_.scales[row * w_.blocks + group];
  }

  const NBitsWeights& w_;
  const int32_t* groups_;
};

/// A constant input of float16 or bfloat16 as floats, shared by all sessions; null for others.
std::shared_ptr<const Tensor> ConstantAsFloats(const KernelInfo& info, size_t input);

/// c = a * weights + bias for `rows` rows of k floats; the bias may be null. `quantizes`: a may be quantized to 8 bits,
/// which the weights must suit (nbits/quantized.h). `shares_panels`: many rows may take scratch memory for all weights as
/// floats.
void MultiplyByNBits(KernelContext& context, const NBitsWeights& weights, bool quantizes, int64_t rows, const float* a,
                     const float* bias, float* c, bool shares_panels);

}  // namespace tessera::cpu
