#pragma once

// How kBatchedIm2col takes the images of a batch: how many make one GEMM, and whether threads share it.

#include "kernels/conv/choose/costs.h"
#include "kernels/conv/choose/problem.h"

namespace tessera::cpu {

/// Of a convolution in one group, when it runs.
struct BatchedSizes {
  int64_t batch, channels, outputs;
  int64_t taps, pixels, plane;  // of a window, of an image's output and input
};

struct BatchedGroups {
  bool shared;      // by all threads, a GEMM after the other; else each thread has groups of images of its own
  int64_t images;   // of a group
  double group_ns;  // estimated, on one core
};

/// Threads with many rows each go their own ways; of few rows they share the weights, too. A group is so large that weights
/// are read seldom and its rows stay in the cache.
BatchedGroups GroupImages(ConvTypes types, const BatchedSizes& sizes, int64_t threads);

}  // namespace tessera::cpu
