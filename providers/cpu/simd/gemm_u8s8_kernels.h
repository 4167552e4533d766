#pragma once

// What the target-specific kernels of gemm_u8s8.cpp offer, and what pack_u8s8.cpp packs weights for.

#include "simd/gemm_u8s8.h"

namespace tessera::cpu {

struct U8S8Kernels {
  bool available;
  int64_t width;  // columns of a panel
  int64_t rows;   // of a tile, and of one of products of 16 bits
  int64_t wide_rows;
  void (*multiply_rows)(const PackedLines& lines, const ByteRows& left, int64_t m0, int64_t m1, int64_t b0, int64_t b1,
                        const Int8Store& store);
  void (*multiply_panels)(const PackedLines& lines, const uint8_t* panels, int64_t panel_bytes, int64_t first, int64_t pixels,
                          int64_t b0, int64_t b1, const Int8Store& store);
  void (*pack_pixels)(const PixelSource& source, const PixelRun* runs, size_t count, uint8_t* out);
};

/// Of the best instruction set here.
const U8S8Kernels& KernelsU8S8();

/// Groups of products that a tile adds up in 16 bits.
inline constexpr int64_t kLeastDepth = 1, kMostDepth = 4;

}  // namespace tessera::cpu
