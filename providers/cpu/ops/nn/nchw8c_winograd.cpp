#include "cpu/ops/nn/nchw8c_winograd.h"

#include <algorithm>
#include <utility>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "base/weight_memory.h"
#include "cpu/ops/nn/nchw8c_layout.h"
#include "cpu/ops/nn/winograd_rows.h"
#include "kernels/conv/winograd/fit.h"
#include "kernels/conv/winograd/winograd.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kNchw8cBytes = 384 << 10;  // of columns and GEMM results under way in a thread: most of its L2

struct Nchw8cBuffers {
  float* columns;
  float* matmuls;
  Nchw8cStep* steps;
};

class Nchw8cRun {
 public:
  /// `images`: a group's channels of a batch's image each.
  Nchw8cRun(KernelContext& context, const Nchw8cTileRows& slice, const Window& window, int64_t images, int64_t groups,
            const float* weights, const float* input, const Epilogue<float>& epilogue, float* output)
      : context_(context),
        slice_(slice),
        window_(window),
        groups_(groups),
        slices_(images * window.output[0]),
        form_(slice.form),
        weights_(weights),
        input_(input),
        epilogue_(epilogue),
        output_(output) {}

  /// Each thread computes blocks of tile rows in all three steps, in its own cache.
  void ByBlocks(int64_t rows) {
    const int64_t per_slice = CeilDiv(slice_.end_row, rows);
    const int64_t blocks = slices_ * per_slice;
    const int64_t parts = std::min<int64_t>(blocks, context_.threads().num_threads());
    const Nchw8cTileRows largest = Rows(0, std::min(rows, slice_.end_row));
    const int64_t columns = form_.planes() * largest.column_matrix(), matmuls = form_.points() * largest.matmul_matrix();
    const int64_t steps = kStepTables * slice_.summed_blocks();
    const Nchw8cBuffers all = Allocate(CheckedMul(columns, parts), CheckedMul(matmuls, parts), steps * parts);
    context_.threads().ParallelFor(parts, 1e6, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const Nchw8cBuffers own{all.columns + part * columns, all.matmuls + part * matmuls, all.steps + part * steps};
        for (int64_t i = blocks * part / parts; i < blocks * (part + 1) / parts; ++i) {
          CancellationPoint();
          const int64_t slice = i / per_slice, first = i % per_slice * rows;
          const Nchw8cTileRows block = Rows(first, std::min(first + rows, slice_.end_row));
          Transform(block, slice, 0, block.summed_blocks(), own.columns);
          const int64_t count = FindSteps(block, slice, own.steps);
          const int64_t groups = BlockGroups(block.output_blocks);
          for (int64_t point = 0; point < form_.points(); ++point) Multiply(block, slice, own, count, point, 0, groups);
          Output(block, slice, 0, block.output_blocks, own);
        }
      }
    });
  }

  /// All threads share each step of a slice: small images have too few tile rows.
  void BySteps() {
    ThreadPool& threads = context_.threads();
    const Nchw8cTileRows block = Rows(0, slice_.end_row);
    const int64_t summed = block.summed_blocks();
    const Nchw8cBuffers all =
        Allocate(form_.planes() * block.column_matrix(), form_.points() * block.matmul_matrix(), kStepTables * summed);
    const double tile_ns = 30.0 * static_cast<double>(block.tiles());
    const int64_t groups = BlockGroups(block.output_blocks);
    const int64_t splits = std::min<int64_t>(groups, threads.num_threads());
    for (int64_t i = 0; i < slices_; ++i) {
      threads.ParallelFor(summed, tile_ns,
                          [&](int64_t begin, int64_t end) { Transform(block, i, begin, end, all.columns); });
      const int64_t count = FindSteps(block, i, all.steps);
      threads.ParallelFor(form_.points() * splits, 1e5, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) {
          const int64_t split = j % splits;
          Multiply(block, i, all, count, j / splits, groups * split / splits, groups * (split + 1) / splits);
        }
      });
      threads.ParallelFor(block.output_blocks, tile_ns,
                          [&](int64_t begin, int64_t end) { Output(block, i, begin, end, all); });
    }
  }

 private:
  Nchw8cTileRows Rows(int64_t first, int64_t end) const {
    Nchw8cTileRows block = slice_;
    block.first_row = first;
    block.end_row = end;
    return block;
  }

  /// What slice `k` of the window reads for a slice of the output; null where that is padding or, transposed, between
  /// inputs.
  const float* Read(int64_t slice, int64_t k) const {
    int64_t z = slice % window_.output[0];
    if (form_.transposed()) {
      z += window_.begin[0] - k * window_.dilations[0];
      if (z % window_.strides[0] != 0) return nullptr;
      z /= window_.strides[0];
    } else {
      z = z * window_.strides[0] - window_.begin[0] + k * window_.dilations[0];
    }
    if (z < 0 || z >= window_.input[0]) return nullptr;
    const int64_t image = slice / window_.output[0];
    return input_ + image * slice_.input_blocks * slice_.input_plane + z * slice_.height * slice_.width * kChannelBlock;
  }

  Nchw8cBuffers Allocate(int64_t columns, int64_t matmuls, int64_t steps) {
    return {context_.scratch<float>(static_cast<size_t>(columns)).data(),
            context_.scratch<float>(static_cast<size_t>(matmuls)).data(),
            context_.scratch<Nchw8cStep>(static_cast<size_t>(steps)).data()};
  }

  /// Blocks [begin, end) of all that the window's slices read.
  void Transform(const Nchw8cTileRows& block, int64_t slice, int64_t begin, int64_t end, float* columns) const {
    for (int64_t i = begin; i < end;) {
      const int64_t k = i / block.input_blocks, first = k * block.input_blocks,
                    last = std::min(end, first + block.input_blocks);
      if (const float* from = Read(slice, k)) {
        TransformTileRows(block, from, i - first, last - first, columns + first * block.tiles() * kChannelBlock);
      }
      i = last;
    }
  }

  /// Points of a table accumulate over so many planes along each axis. Its steps begin at `first` times those of one plane.
  struct StepTable {
    int64_t y, x, first;
  };
  static constexpr StepTable kTables[] = {{1, 1, 0}, {1, 2, 1}, {2, 1, 3}, {2, 2, 5}, {3, 1, 9}};
  static constexpr int64_t kStepTables = 12;  // in all

  /// Fills the tables that the form needs; slices of padding have no steps. Returns the steps of one plane.
  int64_t FindSteps(const Nchw8cTileRows& block, int64_t slice, Nchw8cStep* steps) const {
    int64_t each = 0;
    for (int64_t k = 0; k < block.slices; ++k) each += Read(slice, k) == nullptr ? 0 : block.input_blocks;
    for (const StepTable& table : kTables) {
      if (PlanesOf(form_.y).most() < table.y || PlanesOf(form_.x).most() < table.x) continue;
      const int64_t planes = table.y * table.x;
      Nchw8cStep* to = steps + table.first * each;
      for (int64_t k = 0; k < block.slices; ++k) {
        if (Read(slice, k) == nullptr) continue;
        for (int64_t i = 0; i < block.input_blocks; ++i) {
          for (int64_t j = 0; j < planes; ++j) {
            const int64_t plane = j / table.x * PlanesOf(form_.x).planes + j % table.x,
                          weights = (i * block.slices + k) * planes + j;
            *to++ = {plane * block.column_matrix() + (k * block.input_blocks + i) * block.tiles() * kChannelBlock,
                     weights * kChannelBlock};
          }
        }
      }
    }
    return each;
  }

  int64_t GroupOf(int64_t slice) const { return slice / window_.output[0] % groups_; }

  /// For the groups of blocks [begin, end).
  void Multiply(const Nchw8cTileRows& block, int64_t slice, const Nchw8cBuffers& buffers, int64_t steps, int64_t point,
                int64_t begin, int64_t end) const {
    const auto [planes_y, planes_x] = form_.PlanesOfPoint(point);
    const int64_t planes = planes_y * planes_x, depth = block.summed_blocks() * kChannelBlock;
    Nchw8cGemm gemm;
    gemm.input = buffers.columns + form_.FirstPlane(point) * block.column_matrix();
    gemm.steps = buffers.steps + kTables[(planes_y - 1) * 2 + planes_x - 1].first * steps;
    gemm.num_steps = planes * steps;
    gemm.depth = planes * depth;
    gemm.pixels = block.tiles();
    gemm.output_blocks = block.output_blocks;
    gemm.weights = weights_ + (GroupOf(slice) * form_.num_weights() + form_.FirstWeights(point)) * depth *
                                  block.output_blocks * kChannelBlock;
    gemm.output = buffers.matmuls + point * block.matmul_matrix();
    MultiplyNchw8c(gemm, {0, gemm.pixels}, begin, end);
  }

  void Output(const Nchw8cTileRows& block, int64_t slice, int64_t begin, int64_t end, const Nchw8cBuffers& buffers) const {
    const int64_t image = slice / window_.output[0], z = slice % window_.output[0];
    const int64_t at = image * block.output_blocks * block.output_plane + z * block.y.size * block.x.size * kChannelBlock;
    const Epilogue<float> epilogue = epilogue_.From(GroupOf(slice) * block.output_blocks * kChannelBlock, at);
    FinishTileRows(block, buffers.matmuls, epilogue, begin, end, output_ + at);
  }

  KernelContext& context_;
  const Nchw8cTileRows& slice_;
  const Window& window_;
  const int64_t groups_;
  const int64_t slices_;  // of all images' outputs
  const WinogradForm form_;
  const float* weights_;
  const float* input_;
  const Epilogue<float>& epilogue_;
  float* output_;
};

/// Tile rows of a block: as many as the cache holds, with no thread left over.
int64_t ChooseNchw8cRows(const Nchw8cTileRows& slice, int64_t slices, int64_t threads) {
  constexpr int64_t kFewestTiles = 24, kReadTiles = 8;  // reading the weights once more costs as much as so many tiles
  const int64_t row_blocks = slice.form.planes() * slice.summed_blocks() + slice.form.points() * slice.output_blocks;
  const int64_t bytes = int64_t{sizeof(float)} * kChannelBlock * row_blocks * slice.x.tiles();
  const int64_t most = std::max(kNchw8cBytes / bytes, CeilDiv(kFewestTiles, slice.x.tiles()));
  return RowsOfLeastCost(slices, slice.end_row, most, threads,
                         [&](int64_t rows) { return rows * slice.x.tiles() + kReadTiles; });
}

/// How far before the image the first tile's inputs begin.
int64_t Lead(const Window& window, size_t axis, WinogradAxisForm form) {
  const WinogradPlanes of = PlanesOf(form);
  return of.transposed() ? (of.taps - 1 - of.transpose.pad) / of.stride - window.begin[axis] / of.stride
                         : window.begin[axis];
}

}  // namespace

std::shared_ptr<const Tensor> PackNchw8cWinograd(ThreadPool& threads, WinogradForm form, int64_t group,
                                                 const Tensor& weights) {
  const int64_t taps = PlanesOf(form.y).taps * PlanesOf(form.x).taps;
  const int64_t outputs = weights.shape()[0] / group,
                channels = weights.num_elements() / (weights.shape()[0] * taps);  // of all slices
  const int64_t slices = channels / weights.shape()[1];
  const int64_t matrix = CheckedMul(outputs, channels);
  auto packed =
      std::make_shared<Tensor>(ElementType::kFloat, Shape{group, form.num_weights(), outputs, channels}, WeightMemory());
  const auto* from = weights.unaligned_data<float>();
  float* to = packed->mutable_data<float>();
  const int64_t blocks = outputs / kChannelBlock, parts = BlockGroups(blocks);
  const double filter_ns = static_cast<double>(form.num_weights());
  // Part by part: all transformed filters at once would take as much memory as the result.
  threads.ParallelFor(
      group * parts, static_cast<double>(channels * 2 * kChannelBlock) * filter_ns, [&](int64_t begin, int64_t end) {
        Tensor transformed(ElementType::kFloat, Shape{form.num_weights(), 3 * kChannelBlock, channels});
        auto* values = transformed.mutable_data<float>();
        for (int64_t i = begin; i < end; ++i) {
          const int64_t first = FirstBlock(blocks, i % parts), count = FirstBlock(blocks, i % parts + 1) - first;
          const int64_t filters = count * kChannelBlock * channels, start = first * kChannelBlock * channels;
          float* own = to + i / parts * form.num_weights() * matrix;
          TransformWinogradFilters(form, from + (i / parts * matrix + start) * taps, filters, filters, values);
          for (int64_t point = 0; point < form.points(); ++point) {
            const auto [planes_y, planes_x] = form.PlanesOfPoint(point);
            const int64_t first_weights = form.FirstWeights(point), planes = planes_y * planes_x;
            PackNchw8cWeights(values + first_weights * filters, channels / slices / kChannelBlock, kChannelBlock,
                              slices * planes, count, 0, 1, own + first_weights * matrix + planes * start);
          }
        }
      });
  return packed;
}

void ConvolveNchw8cWinograd(KernelContext& context, WinogradForm form, const Window& image, const Nchw8cChannels& of,
                            const float* weights, const float* input, const Epilogue<float>& epilogue, float* output) {
  const Window window = Upright(image);
  Nchw8cTileRows slice{};
  slice.form = form;
  slice.slices = window.kernel[0];
  slice.input_blocks = of.channels / kChannelBlock;
  slice.output_blocks = of.outputs / kChannelBlock;
  slice.input_plane = window.input.num_elements() * kChannelBlock;
  slice.output_plane = window.output.num_elements() * kChannelBlock;
  slice.height = window.input[1];
  slice.width = window.input[2];
  slice.pad_top = Lead(window, 1, form.y);
  slice.pad_left = Lead(window, 2, form.x);
  slice.y = TilesAlong(window, 1, form.y);
  slice.x = TilesAlong(window, 2, form.x);
  slice.end_row = slice.y.tiles();
  Nchw8cRun run(context, slice, window, of.batch * of.group, of.group, weights, input, epilogue, output);
  const int64_t threads = context.threads().num_threads(), slices = of.batch * of.group * window.output[0];
  if (threads > 1 && slices * slice.end_row < 3 * threads) {
    run.BySteps();
  } else {
    run.ByBlocks(ChooseNchw8cRows(slice, slices, threads));
  }
}

}  // namespace tessera::cpu
