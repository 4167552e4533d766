#include "cpu/ops/nn/winograd_conv.h"

#include <algorithm>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "base/weight_memory.h"
#include "cpu/ops/nn/winograd_1d.h"
#include "cpu/ops/nn/winograd_matmuls.h"
#include "cpu/ops/nn/winograd_rows.h"
#include "kernels/conv/winograd/winograd_1d.h"
#include "runtime/memory/packed_store.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kBlockBytes = 768 << 10;  // of columns and GEMM results under way in a thread: about its L2

struct Buffers {
  std::span<float> columns;
  std::span<float> matmuls;
  std::span<float> rows;
};

class Run {
 public:
  Run(KernelContext& context, const WinogradBlock& image, int64_t batch, const float* weights, const float* input,
      const Epilogue<float>& epilogue, float* output)
      : context_(context),
        image_(image),
        batch_(batch),
        weights_(weights),
        input_(input),
        epilogue_(epilogue),
        output_(output) {}

  /// Each thread computes blocks of tile rows in all three steps, in its own cache.
  void ByBlocks(int64_t rows) {
    const int64_t per_image = CeilDiv(image_.end_row, rows);
    const int64_t blocks = batch_ * per_image;
    const int64_t parts = std::min<int64_t>(blocks, context_.threads().num_threads());
    const WinogradBlock largest = Block(0, rows);
    Buffers all = Allocate(largest, parts);
    context_.threads().ParallelFor(parts, 1e6, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const Buffers own = Part(all, part, parts);
        for (int64_t i = blocks * part / parts; i < blocks * (part + 1) / parts; ++i) {
          CancellationPoint();
          const int64_t first = i % per_image * rows;
          const WinogradBlock block = Block(first, std::min(first + rows, image_.end_row));
          Input(block, i / per_image, 0, block.channels, own.rows, own);
          Multiply(block, own, 0, kWinogradPoints);
          Output(block, i / per_image, 0, block.outputs, own);
        }
      }
    });
  }

  /// All threads share each step of an image: small images have too few tile rows.
  void BySteps() {
    ThreadPool& threads = context_.threads();
    const WinogradBlock block = Block(0, image_.end_row);
    const int64_t parts = threads.num_threads();
    const Buffers all = Allocate(block, 1);
    const int64_t row_size = WinogradBufferSize(block);
    const auto rows = context_.scratch<float>(static_cast<size_t>(CheckedMul(row_size, parts)));
    for (int64_t i = 0; i < batch_; ++i) {
      threads.ParallelFor(parts, 1e5, [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part) {
          Input(block, i, block.channels * part / parts, block.channels * (part + 1) / parts,
                rows.subspan(static_cast<size_t>(part * row_size)), all);
        }
      });
      threads.ParallelFor(kWinogradPoints, 1e5, [&](int64_t begin, int64_t end) { Multiply(block, all, begin, end); });
      threads.ParallelFor(block.outputs, 10.0 * static_cast<double>(block.tiles()),
                          [&](int64_t begin, int64_t end) { Output(block, i, begin, end, all); });
    }
  }

 private:
  WinogradBlock Block(int64_t first, int64_t end) const {
    WinogradBlock block = image_;
    block.first_row = first;
    block.end_row = end;
    return block;
  }

  Buffers Allocate(const WinogradBlock& block, int64_t parts) {
    const int64_t columns = CheckedMul(kWinogradPoints, block.column_matrix());
    const int64_t matmuls = CheckedMul(kWinogradPoints, block.matmul_matrix());
    const auto allocate = [&](int64_t size) {
      size = CeilDiv(size, 16) * 16;
      return context_.scratch<float>(static_cast<size_t>(CheckedMul(size, parts)));
    };
    return {allocate(columns), allocate(matmuls), allocate(WinogradBufferSize(block))};
  }

  static Buffers Part(const Buffers& all, int64_t part, int64_t parts) {
    const auto own = [&](std::span<float> values) {
      const size_t size = values.size() / static_cast<size_t>(parts);
      return values.subspan(static_cast<size_t>(part) * size, size);
    };
    return {own(all.columns), own(all.matmuls), own(all.rows)};
  }

  void Input(const WinogradBlock& block, int64_t image, int64_t begin, int64_t end, std::span<float> rows,
             const Buffers& buffers) const {
    TransformWinogradInput(block, input_ + image * block.channels * block.height * block.width, begin, end, rows.data(),
                           buffers.columns.data());
  }

  void Multiply(const WinogradBlock& block, const Buffers& buffers, int64_t begin, int64_t end) const {
    MultiplyWinogradPoints(block, begin, end, weights_, buffers.columns.data(), buffers.matmuls.data());
  }

  void Output(const WinogradBlock& block, int64_t image, int64_t begin, int64_t end, const Buffers& buffers) const {
    TransformWinogradOutput(block, buffers.matmuls.data(), epilogue_, begin, end,
                            output_ + image * block.outputs * block.output_height * block.output_width);
  }

  KernelContext& context_;
  const WinogradBlock& image_;
  const int64_t batch_;
  const float* weights_;
  const float* input_;
  const Epilogue<float>& epilogue_;
  float* output_;
};

/// Tile rows of a block: as few as fill the cache, with no thread left over and no panel of columns half empty.
int64_t ChooseRows(const WinogradBlock& image, int64_t batch, int64_t threads) {
  constexpr int64_t kFewestColumns = 48, kReadColumns = 12;  // reading the weights once more costs so many columns
  const int64_t bytes = kWinogradPoints * int64_t{sizeof(float)} * (image.channels + image.outputs) * image.tiles_x();
  const int64_t most = std::max(kBlockBytes / bytes, CeilDiv(kFewestColumns, image.tiles_x()));
  return RowsOfLeastCost(batch, image.end_row, most, threads, [&](int64_t rows) {
    const int64_t panels = CeilDiv(rows * image.tiles_x(), kColumnsTogether);
    const int64_t columns =
        panels * kColumnsTogether + panels % 2 * kColumnsTogether / 2;  // half a panel is not half the work
    return columns + kReadColumns;
  });
}

}  // namespace

WinogradConv::WinogradConv(const KernelInfo& info) {
  const Tensor* constant = info.constant_input(1);
  weights_shape_ = constant->shape();
  const bool is_1d = weights_shape_.rank() == 3;
  const Shape shape{is_1d ? kWinograd1dPoints : kWinogradPoints, outputs(), channels()};
  transformed_ = SharedTensor(info, *constant, "winograd", ElementType::kFloat, shape, [&] {
    auto transformed = std::make_shared<Tensor>(ElementType::kFloat, shape, WeightMemory());
    float* values = transformed->mutable_data<float>();
    info.threads().ParallelFor(
        outputs(), static_cast<double>(channels()) * (is_1d ? 20.0 : 150.0), [&](int64_t begin, int64_t end) {
          const WinogradForm form{is_1d ? WinogradAxisForm::kOne : WinogradAxisForm::kFour, WinogradAxisForm::kFour};
          TransformWinogradFilters(form, constant->unaligned_data<float>() + begin * channels() * (is_1d ? 3 : 9),
                                   (end - begin) * channels(), outputs() * channels(), values + begin * channels());
        });
    return transformed;
  });
}

void WinogradConv::Convolve(KernelContext& context, const Window& window, int64_t batch, const float* input,
                            const Epilogue<float>& epilogue, float* output) const {
  if (window.rank() == 1) {
    ConvolveWinograd1d(context, window, batch, channels(), outputs(), transformed(), input, epilogue, output);
    return;
  }
  WinogradBlock image{channels(),
                      outputs(),
                      window.input[0],
                      window.input[1],
                      window.output[0],
                      window.output[1],
                      window.begin[0],
                      window.begin[1],
                      0,
                      CeilDiv(window.output[0], kWinogradTile)};
  Run run(context, image, batch, transformed(), input, epilogue, output);
  const int64_t threads = context.threads().num_threads();
  if (threads > 1 && batch * image.end_row < 3 * threads) {
    run.BySteps();
  } else {
    run.ByBlocks(ChooseRows(image, batch, threads));
  }
}

}  // namespace tessera::cpu
