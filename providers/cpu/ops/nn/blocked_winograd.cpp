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
  BlockedRun(KernelContext& context, const BlockedTileRows& image, int64_t batch, const float* weights, const float* input,
      const BlockedEpilogue& epilogue, float* output)
      : context_(context), image_(image), batch_(batch), weights_(weights), input_(input), epilogue_(epilogue), output_(output) {}

  /// Each thread takes blocks of tile rows through all three steps, in its own cache.
  void ByBlocks(int64_t rows) {
    const int64_t per_image = CeilDiv(image_.end_row, rows);
    const int64_t blocks = batch_ * per_image;
    const int64_t parts = std::min<int64_t>(blocks, context_.threads().num_threads());
    const BlockedTileRows largest = Rows(0, std::min(rows, image_.end_row));
    const int64_t columns = kWinogradPoints * largest.column_matrix(), products = kWinogradPoints * largest.product_matrix();
    const BlockedBuffers all = Take(CheckedMul(columns, parts), CheckedMul(products, parts), image_.input_blocks * parts);
    context_.threads().ParallelFor(parts, 1e6, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const BlockedBuffers own{all.columns + part * columns, all.products + part * products, all.steps + part * image_.input_blocks};
        for (int64_t i = blocks * part / parts; i < blocks * (part + 1) / parts; ++i) {
          const int64_t first = i % per_image * rows;
          const BlockedTileRows block = Rows(first, std::min(first + rows, image_.end_row));
          TransformTileRows(block, Image(i / per_image), 0, block.input_blocks, own.columns);
          FindSteps(block, own.steps);
          const int64_t groups = BlockGroups(block.output_blocks);
          for (int64_t point = 0; point < kWinogradPoints; ++point) Multiply(block, own, point, 0, groups);
          Output(block, i / per_image, 0, block.output_blocks, own);
        }
      }
    });
  }

  /// All threads share each step of an image: small images have too few tile rows.
  void BySteps() {
    ThreadPool& threads = context_.threads();
    const BlockedTileRows block = Rows(0, image_.end_row);
    const BlockedBuffers all =
        Take(kWinogradPoints * block.column_matrix(), kWinogradPoints * block.product_matrix(), image_.input_blocks);
    const double tile_ns = 30.0 * static_cast<double>(block.tiles());
    const int64_t groups = BlockGroups(block.output_blocks);
    const int64_t splits = std::min<int64_t>(groups, threads.num_threads());
    for (int64_t i = 0; i < batch_; ++i) {
      threads.ParallelFor(block.input_blocks, tile_ns, [&](int64_t begin, int64_t end) {
        TransformTileRows(block, Image(i), begin, end, all.columns);
      });
      FindSteps(block, all.steps);
      threads.ParallelFor(kWinogradPoints * splits, 1e5, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) {
          const int64_t split = j % splits;
          Multiply(block, all, j / splits, groups * split / splits, groups * (split + 1) / splits);
        }
      });
      threads.ParallelFor(block.output_blocks, tile_ns, [&](int64_t begin, int64_t end) { Output(block, i, begin, end, all); });
    }
  }

 private:
  BlockedTileRows Rows(int64_t first, int64_t end) const {
    BlockedTileRows block = image_;
    block.first_row = first;
    block.end_row = end;
    return block;
  }

  const float* Image(int64_t i) const { return input_ + i * image_.input_blocks * image_.height * image_.width * kChannelBlock; }

  BlockedBuffers Take(int64_t columns, int64_t products, int64_t steps) {
    return {context_.scratch<float>(static_cast<size_t>(columns)).data(),
            context_.scratch<float>(static_cast<size_t>(products)).data(),
            context_.scratch<BlockedStep>(static_cast<size_t>(steps)).data()};
  }

  static void FindSteps(const BlockedTileRows& block, BlockedStep* steps) {
    for (int64_t i = 0; i < block.input_blocks; ++i) steps[i] = {i * block.tiles() * kChannelBlock, i * kChannelBlock};
  }

  void Multiply(const BlockedTileRows& block, const BlockedBuffers& buffers, int64_t point, int64_t group_begin,
                int64_t group_end) const {
    BlockedProduct product;
    product.input = buffers.columns + point * block.column_matrix();
    product.steps = buffers.steps;
    product.num_steps = block.input_blocks;
    product.depth = block.input_blocks * kChannelBlock;
    product.pixels = block.tiles();
    product.output_blocks = block.output_blocks;
    product.weights = weights_ + point * block.input_blocks * block.output_blocks * kChannelBlock * kChannelBlock;
    product.output = buffers.products + point * block.product_matrix();
    MultiplyBlocked(product, {0, product.pixels}, group_begin, group_end);
  }

  void Output(const BlockedTileRows& block, int64_t image, int64_t begin, int64_t end, const BlockedBuffers& buffers) const {
    const int64_t at = image * block.output_blocks * block.y.size * block.x.size * kChannelBlock;
    BlockedEpilogue epilogue = epilogue_;
    if (epilogue.residual != nullptr) epilogue.residual += at;
    FinishTileRows(block, buffers.products, epilogue, begin, end, output_ + at);
  }

  KernelContext& context_;
  const BlockedTileRows& image_;
  const int64_t batch_;
  const float* weights_;
  const float* input_;
  const BlockedEpilogue& epilogue_;
  float* output_;
};

/// Tile rows of a block: as many as the cache holds, with no thread left over.
int64_t ChooseBlockedRows(const BlockedTileRows& image, int64_t batch, int64_t threads) {
  constexpr int64_t kFewestTiles = 24, kReadTiles = 8;  // reading the weights once more costs what so many tiles do
  const int64_t bytes =
      kWinogradPoints * int64_t{sizeof(float)} * kChannelBlock * (image.input_blocks + image.output_blocks) * image.x.tiles();
  const int64_t most = std::max(kBlockedBytes / bytes, CeilDiv(kFewestTiles, image.x.tiles()));
  int64_t best = 1;
  int64_t best_cost = INT64_MAX;
  for (int64_t rows = 1; rows <= std::min(most, image.end_row); ++rows) {
    const int64_t blocks = batch * CeilDiv(image.end_row, rows);
    const int64_t cost = CeilDiv(blocks, threads) * (rows * image.x.tiles() + kReadTiles);
    if (cost <= best_cost) {
      best = rows;
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace

std::shared_ptr<const Tensor> PackBlockedWinograd(ThreadPool& threads, const Tensor& weights) {
  const int64_t outputs = weights.shape()[0], channels = weights.shape()[1];
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
        PackBlockedWeights(values + i * rows * channels, channels / kChannelBlock, kChannelBlock, 1, count, 0, 1,
                           to + i * matrix + start);
      }
    }
  });
  return packed;
}

void ConvolveBlockedWinograd(KernelContext& context, const Window& window, int64_t batch, int64_t channels, int64_t outputs,
                             const float* weights, const float* input, const BlockedEpilogue& epilogue, float* output) {
  BlockedTileRows image{};
  image.input_blocks = channels / kChannelBlock;
  image.output_blocks = outputs / kChannelBlock;
  image.height = window.input[0];
  image.width = window.input[1];
  image.pad_top = window.begin[0];
  image.pad_left = window.begin[1];
  image.y = {window.output[0], window.dilations[0]};
  image.x = {window.output[1], window.dilations[1]};
  image.end_row = image.y.tiles();
  BlockedRun run(context, image, batch, weights, input, epilogue, output);
  const int64_t threads = context.threads().num_threads();
  if (threads > 1 && batch * image.end_row < 3 * threads) {
    run.BySteps();
  } else {
    run.ByBlocks(ChooseBlockedRows(image, batch, threads));
  }
}

}  // namespace tessera::cpu
