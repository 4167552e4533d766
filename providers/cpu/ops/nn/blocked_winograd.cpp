#include "ops/nn/blocked_winograd.h"

#include <algorithm>

#include "base/checked.h"
#include "base/rounding.h"
#include "base/weight_memory.h"
#include "simd/winograd.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kBlockedBytes = 384 << 10;  // of columns and products under way in a thread: most of its L2

struct BlockedBuffers {
  float* columns;
  float* products;
  BlockedStep* steps;
};

class BlockedRun {
 public:
  BlockedRun(KernelContext& context, const BlockedTileRows& slice, const Window& window, int64_t batch, const float* weights,
             const float* input, const BlockedEpilogue& epilogue, float* output)
      : context_(context),
        slice_(slice),
        window_(window),
        slices_(batch * window.output[0]),
        weights_(weights),
        input_(input),
        epilogue_(epilogue),
        output_(output) {}

  /// Each thread takes blocks of tile rows through all three steps, in its own cache.
  void ByBlocks(int64_t rows) {
    const int64_t per_slice = CeilDiv(slice_.end_row, rows);
    const int64_t blocks = slices_ * per_slice;
    const int64_t parts = std::min<int64_t>(blocks, context_.threads().num_threads());
    const BlockedTileRows largest = Rows(0, std::min(rows, slice_.end_row));
    const int64_t columns = kWinogradPoints * largest.column_matrix(), products = kWinogradPoints * largest.product_matrix();
    const int64_t steps = slice_.summed_blocks();
    const BlockedBuffers all = Take(CheckedMul(columns, parts), CheckedMul(products, parts), steps * parts);
    context_.threads().ParallelFor(parts, 1e6, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const BlockedBuffers own{all.columns + part * columns, all.products + part * products, all.steps + part * steps};
        for (int64_t i = blocks * part / parts; i < blocks * (part + 1) / parts; ++i) {
          const int64_t slice = i / per_slice, first = i % per_slice * rows;
          const BlockedTileRows block = Rows(first, std::min(first + rows, slice_.end_row));
          Transform(block, slice, 0, steps, own.columns);
          const int64_t count = FindSteps(block, slice, own.steps);
          const int64_t groups = BlockGroups(block.output_blocks);
          for (int64_t point = 0; point < kWinogradPoints; ++point) Multiply(block, own, count, point, 0, groups);
          Output(block, slice, 0, block.output_blocks, own);
        }
      }
    });
  }

  /// All threads share each step of a slice: small images have too few tile rows.
  void BySteps() {
    ThreadPool& threads = context_.threads();
    const BlockedTileRows block = Rows(0, slice_.end_row);
    const int64_t steps = slice_.summed_blocks();
    const BlockedBuffers all = Take(kWinogradPoints * block.column_matrix(), kWinogradPoints * block.product_matrix(), steps);
    const double tile_ns = 30.0 * static_cast<double>(block.tiles());
    const int64_t groups = BlockGroups(block.output_blocks);
    const int64_t splits = std::min<int64_t>(groups, threads.num_threads());
    for (int64_t i = 0; i < slices_; ++i) {
      threads.ParallelFor(steps, tile_ns, [&](int64_t begin, int64_t end) { Transform(block, i, begin, end, all.columns); });
      const int64_t count = FindSteps(block, i, all.steps);
      threads.ParallelFor(kWinogradPoints * splits, 1e5, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) {
          const int64_t split = j % splits;
          Multiply(block, all, count, j / splits, groups * split / splits, groups * (split + 1) / splits);
        }
      });
      threads.ParallelFor(block.output_blocks, tile_ns, [&](int64_t begin, int64_t end) { Output(block, i, begin, end, all); });
    }
  }

 private:
  BlockedTileRows Rows(int64_t first, int64_t end) const {
    BlockedTileRows block = slice_;
    block.first_row = first;
    block.end_row = end;
    return block;
  }

  /// What slice `k` of the window reads for a slice of the output; null where that is padding.
  const float* Read(int64_t slice, int64_t k) const {
    const int64_t z = slice % window_.output[0] * window_.strides[0] - window_.begin[0] + k * window_.dilations[0];
    if (z < 0 || z >= window_.input[0]) return nullptr;
    const int64_t image = slice / window_.output[0];
    return input_ + image * slice_.input_blocks * slice_.input_plane + z * slice_.height * slice_.width * kChannelBlock;
  }

  BlockedBuffers Take(int64_t columns, int64_t products, int64_t steps) {
    return {context_.scratch<float>(static_cast<size_t>(columns)).data(),
            context_.scratch<float>(static_cast<size_t>(products)).data(),
            context_.scratch<BlockedStep>(static_cast<size_t>(steps)).data()};
  }

  /// Blocks [begin, end) of all that the window's slices read.
  void Transform(const BlockedTileRows& block, int64_t slice, int64_t begin, int64_t end, float* columns) const {
    for (int64_t i = begin; i < end;) {
      const int64_t k = i / block.input_blocks, first = k * block.input_blocks, last = std::min(end, first + block.input_blocks);
      if (const float* from = Read(slice, k)) {
        TransformTileRows(block, from, i - first, last - first, columns + first * block.tiles() * kChannelBlock);
      }
      i = last;
    }
  }

  /// Slices of padding have none; returns their number.
  int64_t FindSteps(const BlockedTileRows& block, int64_t slice, BlockedStep* steps) const {
    int64_t count = 0;
    for (int64_t k = 0; k < block.slices; ++k) {
      if (Read(slice, k) == nullptr) continue;
      for (int64_t i = 0; i < block.input_blocks; ++i) {
        steps[count++] = {(k * block.input_blocks + i) * block.tiles() * kChannelBlock, (i * block.slices + k) * kChannelBlock};
      }
    }
    return count;
  }

  void Multiply(const BlockedTileRows& block, const BlockedBuffers& buffers, int64_t steps, int64_t point, int64_t group_begin,
                int64_t group_end) const {
    BlockedProduct product;
    product.input = buffers.columns + point * block.column_matrix();
    product.steps = buffers.steps;
    product.num_steps = steps;
    product.depth = block.summed_blocks() * kChannelBlock;
    product.pixels = block.tiles();
    product.output_blocks = block.output_blocks;
    product.weights = weights_ + point * product.depth * block.output_blocks * kChannelBlock;
    product.output = buffers.products + point * block.product_matrix();
    MultiplyBlocked(product, {0, product.pixels}, group_begin, group_end);
  }

  void Output(const BlockedTileRows& block, int64_t slice, int64_t begin, int64_t end, const BlockedBuffers& buffers) const {
    const int64_t image = slice / window_.output[0], z = slice % window_.output[0];
    const int64_t at = image * block.output_blocks * block.output_plane + z * block.y.size * block.x.size * kChannelBlock;
    BlockedEpilogue epilogue = epilogue_;
    if (epilogue.residual != nullptr) epilogue.residual += at;
    FinishTileRows(block, buffers.products, epilogue, begin, end, output_ + at);
  }

  KernelContext& context_;
  const BlockedTileRows& slice_;
  const Window& window_;
  const int64_t slices_;  // of all images' outputs
  const float* weights_;
  const float* input_;
  const BlockedEpilogue& epilogue_;
  float* output_;
};

/// Tile rows of a block: as many as the cache holds, with no thread left over.
int64_t ChooseBlockedRows(const BlockedTileRows& slice, int64_t slices, int64_t threads) {
  constexpr int64_t kFewestTiles = 24, kReadTiles = 8;  // reading the weights once more costs what so many tiles do
  const int64_t bytes =
      kWinogradPoints * int64_t{sizeof(float)} * kChannelBlock * (slice.summed_blocks() + slice.output_blocks) * slice.x.tiles();
  const int64_t most = std::max(kBlockedBytes / bytes, CeilDiv(kFewestTiles, slice.x.tiles()));
  int64_t best = 1;
  int64_t best_cost = INT64_MAX;
  for (int64_t rows = 1; rows <= std::min(most, slice.end_row); ++rows) {
    const int64_t blocks = slices * CeilDiv(slice.end_row, rows);
    const int64_t cost = CeilDiv(blocks, threads) * (rows * slice.x.tiles() + kReadTiles);
    if (cost <= best_cost) {
      best = rows;
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace

std::shared_ptr<const Tensor> PackBlockedWinograd(ThreadPool& threads, const Tensor& weights) {
  const int64_t outputs = weights.shape()[0], slices = weights.shape().SizeOfRange(2, weights.shape().rank() - 2);
  const int64_t channels = CheckedMul(weights.shape()[1], slices);  // and their slices
  const int64_t matrix = CheckedMul(outputs, channels);
  auto packed = std::make_shared<Tensor>(ElementType::kFloat, Shape{kWinogradPoints, outputs, channels}, WeightMemory());
  const auto* from = weights.unaligned_data<float>();
  float* to = packed->mutable_data<float>();
  const int64_t blocks = outputs / kChannelBlock;
  constexpr double kFilterNs = 30;
  // Group by group: all transformed filters at once would take as much memory as the result.
  threads.ParallelFor(BlockGroups(blocks), static_cast<double>(channels * 2 * kChannelBlock) * kFilterNs, [&](int64_t begin, int64_t end) {
    Tensor transformed(ElementType::kFloat, Shape{kWinogradPoints, 3 * kChannelBlock, channels});
    auto* values = transformed.mutable_data<float>();
    for (int64_t group = begin; group < end; ++group) {
      const int64_t first = FirstBlock(blocks, group), count = FirstBlock(blocks, group + 1) - first;
      const int64_t rows = count * kChannelBlock, start = first * kChannelBlock * channels;
      TransformWinogradWeights(from + start * 9, rows, channels, 0, rows, values);
      for (int64_t i = 0; i < kWinogradPoints; ++i) {
        PackBlockedWeights(values + i * rows * channels, channels / slices / kChannelBlock, kChannelBlock, slices, count, 0, 1,
                           to + i * matrix + start);
      }
    }
  });
  return packed;
}

void ConvolveBlockedWinograd(KernelContext& context, const Window& window, int64_t batch, int64_t channels, int64_t outputs,
                             const float* weights, const float* input, const BlockedEpilogue& epilogue, float* output) {
  BlockedTileRows slice{};
  slice.slices = window.kernel[0];
  slice.input_blocks = channels / kChannelBlock;
  slice.output_blocks = outputs / kChannelBlock;
  slice.input_plane = window.input.num_elements() * kChannelBlock;
  slice.output_plane = window.output.num_elements() * kChannelBlock;
  slice.height = window.input[1];
  slice.width = window.input[2];
  slice.pad_top = window.begin[1];
  slice.pad_left = window.begin[2];
  slice.y = {window.output[1], window.dilations[1]};
  slice.x = {window.output[2], window.dilations[2]};
  slice.end_row = slice.y.tiles();
  BlockedRun run(context, slice, window, batch, weights, input, epilogue, output);
  const int64_t threads = context.threads().num_threads(), slices = batch * window.output[0];
  if (threads > 1 && slices * slice.end_row < 3 * threads) {
    run.BySteps();
  } else {
    run.ByBlocks(ChooseBlockedRows(slice, slices, threads));
  }
}

}  // namespace tessera::cpu
