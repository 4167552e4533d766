#pragma once

// What the micro-kernels of unsigned with signed bytes offer, and what pack_u8s8.cpp packs weights for.

#include <span>

#include "kernels/gemm/gemm_u8s8.h"
#include "kernels/gemm/rows_u8s8.h"

namespace tessera::cpu {

using PaddedRowsFn = void (*)(const PackedWeightsS8& packed, const PaddedRowsU8& rows, int64_t b0, int64_t b1,
                              const OutputStage& store);

enum class U8S8Packing {
  kPairs,  // sums of two products fit 16 bits, mostly
  kExact,  // sums of four products fit: weights are packed as they are, at depth 1
  kTiles,  // the same, in tiles
};

struct U8S8Kernels {
  bool available = false;
  U8S8Packing packing = U8S8Packing::kPairs;
  int64_t width = 0;  // columns of a panel
  int64_t rows = 0;   // of a tile, and of one with 16-bit operands
  int64_t wide_rows = 0;
  double multiply_ns = 0;  // a multiply-add, for estimates
  void (*multiply_rows)(const PackedWeightsS8& packed, const RowsU8& left, int64_t m0, int64_t m1, int64_t b0, int64_t b1,
                        const OutputStage& store) = nullptr;
  void (*multiply_panels)(const PackedWeightsS8& packed, const uint8_t* panels, int64_t panel_bytes, int64_t first,
                          int64_t pixels, int64_t b0, int64_t b1, const OutputStage& store) = nullptr;
  PaddedRowsFn multiply_padded_rows = nullptr;
};

/// A row of kernels.inc, for one instruction set.
struct U8S8Row {
  const char* name;
  U8S8Kernels kernels;
  bool emulated;  // for tests
};

/// For the best instruction set here, and the first of them that multiplies; it is not available where none does.
std::span<const U8S8Row> RowsU8S8();
const U8S8Kernels& KernelsU8S8();

/// Those by multiply-adds of pairs, by dot products, and by tiles.
U8S8Kernels PairKernelsU8S8();
U8S8Kernels DotKernelsU8S8(bool emulated);
U8S8Kernels TileKernelsU8S8(bool emulated);

/// Those of rows that are requantized, by multiply-adds of pairs.
PaddedRowsFn PairPaddedRows();

/// Packs for the given kernels, which must be available.
std::shared_ptr<const PackedWeightsS8> PackWeightsS8For(const U8S8Kernels& kernels, ThreadPool& threads,
                                                        const WeightSource& source, PanelLayout side);

/// Groups of products that a tile accumulates in 16 bits.
inline constexpr int64_t kLeastDepth = 1, kMostDepth = 4;

}  // namespace tessera::cpu
