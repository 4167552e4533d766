#pragma once

// Products of rows of unsigned bytes (pixels, channels last) with constant signed bytes whose sums become codes before they
// leave the registers.

#include <cstdint>

#include "kernels/gemm/gemm_u8s8.h"

namespace tessera::cpu {

/// Rows that lie `row` bytes apart, a multiple of 4, and are zeros behind the lines' k bytes. What they become lies
/// `store.row` codes apart.
struct CodeRows {
  const uint8_t* data;
  int64_t row;
  int64_t count;
};

/// Lines of a block that LineSide::kCodeRows packs; 0: the machine has no such instructions.
int64_t CodeRowsWidth();

/// The sum of each row's bytes.
void SumCodeRows(const CodeRows& rows, int32_t* sums);

/// out[row][line] of the lines of blocks [b0, b1), packed with LineSide::kCodeRows. The store's kind is a code's, its
/// pointers by line are padded to whole blocks; it has no bias.
void MultiplyCodeRows(const PackedWeightsS8& lines, const CodeRows& rows, int64_t b0, int64_t b1, const OutputStage& store);

}  // namespace tessera::cpu
