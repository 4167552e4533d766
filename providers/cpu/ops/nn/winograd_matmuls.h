#pragma once

// What Winograd convolutions of images and of sequences share: a GEMM for each point.

#include <cstdint>

#include "base/rounding.h"
#include "kernels/gemm/gemm.h"

namespace tessera::cpu {

inline constexpr int64_t kColumnsTogether = 8;  // half a panel of the widest common instruction set

/// The points [begin, end) of a block: weights [points][outputs][channels] by packed columns.
template <class Block>
void MultiplyWinogradPoints(const Block& block, int64_t begin, int64_t end, const float* weights, const float* columns,
                            float* matmuls) {
  GemmProblem<float> args;
  args.m = block.outputs;
  args.n = CeilDiv(block.tiles(), kColumnsTogether) * kColumnsTogether;  // the buffer holds more, and none is cheaper
  args.k = block.channels;
  args.lhs.row = block.channels;
  args.out.row = block.matmul_row();
  for (int64_t i = begin; i < end; ++i) {
    args.lhs.data = weights + i * args.m * args.k;
    args.rhs.packed = columns + i * block.column_matrix();
    args.out.data = matmuls + i * block.matmul_matrix();
    GemmSerial(args);
  }
}

}  // namespace tessera::cpu
