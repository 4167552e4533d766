#pragma once

// Matmuls of floats, whose rows become integers on the way, with matrices of 8 bits: what DynamicQuantizeLSTM's gates are
// made of. Each row is integers of as many bits as exact sums of 32 bits leave room for, 12 to 16.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/rounding.h"
#include "kernels/gemm/gemm_u8s8.h"
#include "kernels/gemm/quantized_rows.h"
#include "tessera/provider/thread_pool.h"

namespace tessera::cpu {

/// Rows of a matrix that are multiplied by the limbs of what they meet.
struct LimbWeights {
  explicit LimbWeights(std::shared_ptr<const PackedWeightsS8> packed);

  std::shared_ptr<const PackedWeightsS8> weights;
  std::vector<int32_t> terms;  // LimbTerm by column, padded to whole panels
};

/// Whether GEMMs with limbs are what this processor is fast at.
bool MultipliesLimbs();

/// [k, n], in parts of kDepth rows each.
struct GateMatrix {
  static constexpr int64_t kDepth = 4096;  // of a sum of 32 bits; several of them are added as floats

  int64_t k, n;
  const int8_t* panels;                // PackNarrowInt8's, part after part; or
  std::span<const LimbWeights> limbs;  // by part
  ColumnScales columns;                // zero points of what was packed, unsigned weights less 128

  int64_t parts() const { return CeilDiv(k, kDepth); }
};

size_t GatePanelsSize(int64_t k, int64_t n);
/// `weights`: [k, n], row after row.
void PackGatePanels(ThreadPool& threads, const uint8_t* weights, bool is_signed, int64_t k, int64_t n, int8_t* panels);

/// Bytes of workspace that AddGateMatMul needs for each row, a multiple of a cache line.
size_t GateWorkspaceOfRow(int64_t k, int64_t n);
/// out += a * matrix, for `rows` rows of a, [rows, k]; rows of `out` are `out_row` apart.
void AddGateMatMul(ThreadPool& threads, const GateMatrix& matrix, int64_t rows, const float* a, float* out, int64_t out_row,
                   std::byte* workspace);

}  // namespace tessera::cpu
