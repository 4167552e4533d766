#pragma once

// Scales and the output of GEMMs of 8-bit matrices: what MatMulIntegerToFloat and QGemm share.

#include <algorithm>
#include <span>

#include "base/check.h"
#include "cpu/ops/nn/quantized_gemm.h"
#include "kernels/gemm/gemm_int8.h"

namespace tessera::cpu {

inline std::span<const float> GemmScales(const Tensor& tensor, int64_t columns, std::string_view name) {
  Require(tensor.num_elements() == 1 || tensor.num_elements() == columns, "{} has {} values; 1 or {} are expected", name,
          tensor.num_elements(), columns);
  return {tensor.data<float>(), static_cast<size_t>(tensor.num_elements())};
}

inline float SingleScale(const Tensor& tensor, std::string_view name) {
  Require(tensor.num_elements() == 1, "{} has {} values, 1 is expected", name, tensor.num_elements());
  return tensor.data<float>()[0];
}

/// A factor times B's scales.
inline std::span<const float> ScaledBy(KernelContext& context, float a, std::span<const float> b) {
  const auto scales = context.scratch<float>(b.size());
  std::transform(b.begin(), b.end(), scales.begin(), [a](float scale) { return a * scale; });
  return scales;
}

/// Rows of accumulators, bias included, to what `out` asks for.
inline void StoreGemm(KernelContext& context, const int32_t* accumulators, int64_t rows, int64_t n,
                      const QuantizedGemmOutput& out) {
  context.threads().ParallelFor(rows, static_cast<double>(n) * 0.5, [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m) {
      const int32_t* row = accumulators + m * n;
      if (out.kind != OutputStage::kFloat) {
        RequantizeRow(row, n, out.scales.data(), out.scales.size() == 1 ? 0 : 1, out.zero, out.kind == OutputStage::kInt8,
                      static_cast<uint8_t*>(out.data) + m * n);
        continue;
      }
      float* to = static_cast<float*>(out.data) + m * n;
      for (int64_t j = 0; j < n; ++j) {
        to[j] = static_cast<float>(row[j]) * out.scales[out.scales.size() == 1 ? 0 : static_cast<size_t>(j)] +
                (out.shift == nullptr ? 0.0f : out.shift[j]);
      }
    }
  });
}

}  // namespace tessera::cpu
