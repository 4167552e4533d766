#pragma once

// GEMM of an 8-bit tensor with a constant 8-bit matrix, packed at load, whose accumulators are requantized or scaled while
// they are stored, or stay: what QLinearMatMul, MatMulInteger, MatMulIntegerToFloat and QGemm share.

#include <memory>
#include <span>
#include <vector>

#include "kernels/gemm/gemm_u8s8.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

struct QuantizedGemmOutput {
  OutputStage::Kind kind = OutputStage::kUInt8;
  void* data = nullptr;
  std::span<const float> scales;  // one, or one for each column; none of accumulators
  const int32_t* bias = nullptr;  // by column, to the accumulators
  const float* shift = nullptr;   // by column, to the scaled accumulators
  int32_t zero = 0;
};

class QuantizedGemm {
 public:
  /// Packs constant input `matrix` with its zero points, and gives its memory back; `transposed`: its rows are
  /// the columns of B.
  QuantizedGemm(const KernelInfo& info, size_t matrix, size_t zero_point, bool transposed);

  /// False: not constant, or not faster here.
  explicit operator bool() const { return weights_ != nullptr; }
  /// [k, n]
  const Shape& shape() const { return shape_; }

  /// `rows` rows of A, one after the other.
  void Run(KernelContext& context, const Tensor& a, int64_t rows, int32_t a_zero, const QuantizedGemmOutput& out) const;

 private:
  Shape shape_;
  std::shared_ptr<const PackedWeightsS8> weights_;
  std::vector<int32_t> zeros_;  // of the columns, as of int8; empty: all 0
};

/// Input `i` is known to hold one element.
bool IsSingle(const KernelInfo& info, size_t i);

}  // namespace tessera::cpu
