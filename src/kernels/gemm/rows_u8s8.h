#pragma once

// GEMM of rows of unsigned bytes (pixels in NHWC) with constant signed bytes whose accumulators are requantized before they
// leave the registers.

#include <cstdint>

#include "kernels/gemm/gemm_u8s8.h"

namespace tessera::cpu {

/// Rows that are `row` bytes apart, a multiple of 4, and are zeros after the weights' k bytes. Their results are
/// `store.row` elements apart.
struct PaddedRowsU8 {
  const uint8_t* data;
  int64_t row;
  int64_t count;
};

/// Output channels of a panel that PanelLayout::kPaddedRows packs; 0: the machine has no such instructions.
int64_t PaddedRowsWidth();

/// The sum of each row's bytes.
void SumPaddedRows(const PaddedRowsU8& rows, int32_t* sums);

/// out[row][channel] of the output channels of panels [b0, b1), packed with PanelLayout::kPaddedRows. The store's kind is
/// of 8 bits, its pointers by output channel are padded to whole panels; it has no bias.
void MultiplyPaddedRows(const PackedWeightsS8& packed, const PaddedRowsU8& rows, int64_t b0, int64_t b1,
                        const OutputStage& store);

}  // namespace tessera::cpu
