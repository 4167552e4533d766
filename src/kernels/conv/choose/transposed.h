#pragma once

// How ConvTranspose is computed in NCHW, whose window slides over its output.

#include <cstdint>

#include "kernels/conv/choose/choose.h"

namespace tessera::cpu {

/// kGemm, kCol2im or kGather.
ConvAlgorithm ChooseTransposed(const Window& window, int64_t group_channels);
/// Whether no GEMM reads the weights, unless all windows are single pixels.
bool GathersTransposed(int64_t group_channels);

/// Of kCol2im; channels and outputs are of a group.
struct TransposedSizes {
  int64_t batch, groups, channels, outputs;
  int64_t taps, columns;  // of a window, of an image: its pixels
  int64_t element_bytes;
};

struct TransposedBlocks {
  int64_t images;   // whose columns one GEMM reads: 1, or all
  int64_t outputs;  // of a block, which is gathered while it is in the cache
  bool afterwards;  // too few blocks for the threads: they share each GEMM by columns too, and gather its results then
};

TransposedBlocks DivideTransposed(const TransposedSizes& sizes, int64_t threads);

}  // namespace tessera::cpu
