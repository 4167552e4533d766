#pragma once

// GEMM of an 8-bit matrix with packed constant weights.

#include "kernels/gemm/gemm_u8s8.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// `rows` rows of k bytes, one after the other.
struct MatrixU8 {
  const uint8_t* data;
  bool is_signed;
  int64_t rows, k;
};

/// Multiplies all rows by all `packed`, whose output channels run along the vectors (kVectors). Signed bytes count 128
/// more. `store` has no row_sums: they are computed here where weight_zeros need them.
void MultiplyU8S8(KernelContext& context, const PackedWeightsS8& packed, const MatrixU8& a, OutputStage store);

}  // namespace tessera::cpu
