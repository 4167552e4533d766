#include "cpu/ops/nn/winograd_1d.h"

#include <algorithm>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/ops/nn/winograd_matmuls.h"
#include "kernels/conv/winograd/winograd_1d.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kLineBlockBytes = 384 << 10;  // of columns and GEMM results under way in a thread: most of its L2
constexpr int64_t kFewestTiles = 48;    // so that reading the weights once more does not cost more than the GEMMs do
constexpr int64_t kTilesTogether = 16;  // a panel of the widest common instruction set

/// Tiles of a block: as many as the cache holds, fewer where threads would have nothing to do.
int64_t ChooseTiles(const Winograd1d& shape, int64_t batch, int64_t threads) {
  const int64_t bytes = kWinograd1dPoints * int64_t{sizeof(float)} * (shape.channels + shape.outputs);
  const int64_t all = shape.all_tiles();
  int64_t blocks = CeilDiv(all, std::max(kLineBlockBytes / bytes, kFewestTiles));
  if (threads > 1) blocks = std::clamp(CeilDiv(2 * threads, batch), blocks, std::max(blocks, CeilDiv(all, kFewestTiles)));
  return CeilDiv(CeilDiv(all, blocks), kTilesTogether) * kTilesTogether;
}

}  // namespace

void ConvolveWinograd1d(KernelContext& context, const Window& window, int64_t batch, int64_t channels, int64_t outputs,
                        const float* weights, const float* input, const Epilogue<float>& epilogue, float* output) {
  const int64_t length = window.input[0], output_length = window.output[0];
  Winograd1d shape{channels, outputs, length, output_length, window.dilations[0], window.begin[0], 0, 0};
  const int64_t threads = context.threads().num_threads();
  const int64_t all = shape.all_tiles(), tiles = ChooseTiles(shape, batch, threads);
  shape.end_tile = tiles;
  // Cache lines of their own for the parts.
  const auto padded = [](int64_t size) { return CeilDiv(size, 16) * 16; };
  const int64_t columns_size = padded(CheckedMul(kWinograd1dPoints, shape.column_matrix()));
  const int64_t matmul_out_size = padded(CheckedMul(kWinograd1dPoints, shape.matmul_matrix()));
  const int64_t part_size = CheckedAdd(columns_size, matmul_out_size);
  const int64_t per_image = CeilDiv(all, tiles), blocks = CheckedMul(batch, per_image);
  const int64_t parts = std::min(blocks, threads);
  const auto scratch = context.scratch<float>(static_cast<size_t>(CheckedMul(part_size, parts)));
  const double cost = static_cast<double>(shape.tiles() * channels * outputs) * 0.15 * static_cast<double>(blocks) /
                      static_cast<double>(parts);
  context.threads().ParallelFor(parts, cost, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      float *columns = scratch.data() + part * part_size, *matmul_out = columns + columns_size;
      for (int64_t i = blocks * part / parts; i < blocks * (part + 1) / parts; ++i) {
        CancellationPoint();
        const int64_t image = i / per_image;
        Winograd1d block = shape;
        block.first_tile = i % per_image * tiles;
        block.end_tile = std::min(block.first_tile + tiles, all);
        TransformWinograd1dInput(block, input + image * channels * length, columns);
        MultiplyWinogradPoints(block, 0, kWinograd1dPoints, weights, columns, matmul_out);
        TransformWinograd1dOutput(block, matmul_out, epilogue, output + image * outputs * output_length);
      }
    }
  });
}

}  // namespace tessera::cpu
