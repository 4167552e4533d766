#pragma once

// Products of an 8-bit matrix with packed lines of constant weights.

#include "kernels/gemm/gemm_u8s8.h"
#include "tessera/kernel.h"

namespace tessera::cpu {

/// `rows` rows of k bytes, one behind the other.
struct ByteMatrix {
  const uint8_t* data;
  bool is_signed;
  int64_t rows, k;
};

/// Products of all rows with all `lines`, which lie along the vectors (LineSide::kVectors). Signed bytes count 128 more.
/// `store` has no row_sums: they are made here where line_zeros ask for them.
void MultiplyByteMatrix(KernelContext& context, const PackedWeightsS8& lines, const ByteMatrix& a, OutputStage store);

}  // namespace tessera::cpu
