#include "ops/nn/blocked_winograd.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "base/checked.h"
#include "base/rounding.h"
#include "base/weight_memory.h"
#include "ops/nn/blocked_layout.h"
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
  /// `images`: a group's channels of a batch's image each.
  BlockedRun(KernelContext& context, const BlockedTileRows& slice, const Window& window, int64_t images, int64_t groups,
             const float* weights, const float* input, const BlockedEpilogue& epilogue, float* output)
      : context_(context),
        slice_(slice),
        window_(window),
        groups_(groups),
        slices_(images * window.output[0]),
        planes_(PlanesOf(slice.form)),
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
    const int64_t columns = planes_.all_planes() * largest.column_matrix(), products = planes_.all_points() * largest.product_matrix();
    const int64_t steps = (2 * planes_.most_planes() - 1) * slice_.summed_blocks();
    const BlockedBuffers all = Take(CheckedMul(columns, parts), CheckedMul(products, parts), steps * parts);
    context_.threads().ParallelFor(parts, 1e6, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const BlockedBuffers own{all.columns + part * columns, all.products + part * products, all.steps + part * steps};
        for (int64_t i = blocks * part / parts; i < blocks * (part + 1) / parts; ++i) {
          const int64_t slice = i / per_slice, first = i % per_slice * rows;
          const BlockedTileRows block = Rows(first, std::min(first + rows, slice_.end_row));
          Transform(block, slice, 0, block.summed_blocks(), own.columns);
          const int64_t count = FindSteps(block, slice, own.steps);
          const int64_t groups = BlockGroups(block.output_blocks);
          for (int64_t point = 0; point < planes_.all_points(); ++point) Multiply(block, slice, own, count, point, 0, groups);
          Output(block, slice, 0, block.output_blocks, own);
        }
      }
    });
  }

  /// All threads share each step of a slice: small images have too few tile rows.
  void BySteps() {
    ThreadPool& threads = context_.threads();
    const BlockedTileRows block = Rows(0, slice_.end_row);
    const int64_t summed = block.summed_blocks();
    const BlockedBuffers all = Take(planes_.all_planes() * block.column_matrix(), planes_.all_points() * block.product_matrix(),
                                    (2 * planes_.most_planes() - 1) * summed);
    const double tile_ns = 30.0 * static_cast<double>(block.tiles());
    const int64_t groups = BlockGroups(block.output_blocks);
    const int64_t splits = std::min<int64_t>(groups, threads.num_threads());
    for (int64_t i = 0; i < slices_; ++i) {
      threads.ParallelFor(summed, tile_ns, [&](int64_t begin, int64_t end) { Transform(block, i, begin, end, all.columns); });
      const int64_t count = FindSteps(block, i, all.steps);
      threads.ParallelFor(planes_.all_points() * splits, 1e5, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) {
          const int64_t split = j % splits;
          Multiply(block, i, all, count, j / splits, groups * split / splits, groups * (split + 1) / splits);
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

  /// The steps of points of one plane, of two and of four, those of `planes` from (planes - 1) * (what is returned: the steps of one plane)
  /// on; slices of padding have none.
  int64_t FindSteps(const BlockedTileRows& block, int64_t slice, BlockedStep* steps) const {
    int64_t count = 0;
    for (int64_t planes = 1; planes <= planes_.most_planes(); planes *= 2) {
      for (int64_t k = 0; k < block.slices; ++k) {
        if (Read(slice, k) == nullptr) continue;
        for (int64_t i = 0; i < block.input_blocks; ++i) {
          for (int64_t j = 0; j < planes; ++j) {
            const int64_t weights = (i * block.slices + k) * planes + j;
            steps[count++] = {j * block.column_matrix() + (k * block.input_blocks + i) * block.tiles() * kChannelBlock, weights * kChannelBlock};
          }
        }
      }
    }
    return count / (2 * planes_.most_planes() - 1);
  }

  int64_t GroupOf(int64_t slice) const { return slice / window_.output[0] % groups_; }

  /// For the groups of blocks [begin, end).
  void Multiply(const BlockedTileRows& block, int64_t slice, const BlockedBuffers& buffers, int64_t steps, int64_t point, int64_t begin,
                int64_t end) const {
    const int64_t plane = planes_.FirstPlane(point), planes = planes_.PlanesOf(point);
    const int64_t depth = block.summed_blocks() * kChannelBlock;
    BlockedProduct product;
    product.input = buffers.columns + plane * block.column_matrix();
    product.steps = buffers.steps + (planes - 1) * steps;
    product.num_steps = planes * steps;
    product.depth = planes * depth;
    product.pixels = block.tiles();
    product.output_blocks = block.output_blocks;
    product.weights = weights_ + (GroupOf(slice) * planes_.all_planes() + plane) * depth * block.output_blocks * kChannelBlock;
    product.output = buffers.products + point * block.product_matrix();
    MultiplyBlocked(product, {0, product.pixels}, begin, end);
  }

  void Output(const BlockedTileRows& block, int64_t slice, int64_t begin, int64_t end, const BlockedBuffers& buffers) const {
    const int64_t image = slice / window_.output[0], z = slice % window_.output[0];
    const int64_t at = image * block.output_blocks * block.output_plane + z * block.y.size * block.x.size * kChannelBlock;
    BlockedEpilogue epilogue = epilogue_;
    if (epilogue.residual != nullptr) epilogue.residual += at;
    if (epilogue.bias != nullptr) epilogue.bias += GroupOf(slice) * block.output_blocks * kChannelBlock;
    FinishTileRows(block, buffers.products, epilogue, begin, end, output_ + at);
  }

  KernelContext& context_;
  const BlockedTileRows& slice_;
  const Window& window_;
  const int64_t groups_;
  const int64_t slices_;  // of all images' outputs
  const WinogradPlanes planes_;
  const float* weights_;
  const float* input_;
  const BlockedEpilogue& epilogue_;
  float* output_;
};

/// Tile rows of a block: as many as the cache holds, with no thread left over.
int64_t ChooseBlockedRows(const BlockedTileRows& slice, int64_t slices, int64_t threads) {
  constexpr int64_t kFewestTiles = 24, kReadTiles = 8;  // reading the weights once more costs what so many tiles do
  const WinogradPlanes planes = PlanesOf(slice.form);
  const int64_t row_blocks = planes.all_planes() * slice.summed_blocks() + planes.all_points() * slice.output_blocks;
  const int64_t bytes = int64_t{sizeof(float)} * kChannelBlock * row_blocks * slice.x.tiles();
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

/// Three by three along the last two axes, in an image large enough.
bool Fits(const Window& window, WinogradForm form) {
  const int64_t stride = PlanesOf(form).stride;
  for (size_t i = kSpatialAxes - 2; i < kSpatialAxes; ++i) {
    const int64_t dilation = window.dilations[i];
    if (window.kernel[i] != 3 || window.strides[i] != stride || dilation > window.output[i]) return false;
    if (window.begin[i] > 2 * dilation || window.end[i] > 2 * dilation || (stride > 1 && dilation > 1)) return false;
  }
  return true;
}

/// Of a group, on one core: products of so many pixels (tiles) by so many weights, which come from memory meanwhile.
double ProductsNs(double pixels, double weights) {
  constexpr double kProductNs = 1.0 / 45, kReadNs = 0.2, kApart = 0.3;  // a multiply-add, a weight; what does not overlap
  constexpr double kFewestPixels = 4;                                   // what fewer cost too
  const double products = std::max(pixels, kFewestPixels) * weights * kProductNs, reads = weights * kReadNs;
  return std::max(products, reads) + kApart * std::min(products, reads);
}

double TransformedNs(WinogradForm form, const Window& window, int64_t images, int64_t depth, int64_t outputs) {
  constexpr double kPlaneNs = 0.11;  // to transform a channel's plane of a tile
  const WinogradPlanes planes = PlanesOf(form);
  double tiles = static_cast<double>(images);
  for (const size_t i : {1, 2}) tiles *= static_cast<double>(WinogradAxis{window.output[i], window.dilations[i], planes.side}.tiles());
  const double transformed = static_cast<double>(depth * planes.all_planes() + outputs * planes.all_points());
  return ProductsNs(tiles, static_cast<double>(planes.all_planes()) * static_cast<double>(depth * outputs)) + tiles * transformed * kPlaneNs;
}

/// What a line's three taps become in a plane.
std::span<const std::array<float, 3>> TapsOf(WinogradForm form) {
  static constexpr std::array<float, 3> kTwo[] = {{1, 0, 0}, {0.5f, 0.5f, 0.5f}, {0.5f, -0.5f, 0.5f}, {0, 0, 1}};
  static constexpr std::array<float, 3> kStrided[] = {{1, 0, 0}, {0, 1, 0}, {1, 0, 1}, {0, 0, 1}, {0, 1, 0}};
  return form == WinogradForm::kTwo ? std::span<const std::array<float, 3>>(kTwo) : kStrided;
}

/// `filters` of 3x3 at any address to transformed[points][filters][planes of the point].
void TransformFilters(WinogradForm form, const float* filters, int64_t count, float* transformed) {
  const WinogradPlanes planes = PlanesOf(form);
  const auto taps = TapsOf(form);
  const auto along = [](const std::array<float, 3>& factors, float a, float b, float c) {
    return factors[0] * a + factors[1] * b + factors[2] * c;
  };
  const auto side = static_cast<size_t>(planes.planes);
  for (int64_t filter = 0; filter < count; ++filter) {
    float w[9], all[5][5];
    for (int64_t i = 0; i < 9; ++i) w[i] = LoadUnaligned(filters + filter * 9 + i);
    for (size_t i = 0; i < side; ++i) {
      float row[3];
      for (size_t j = 0; j < 3; ++j) row[j] = along(taps[i], w[j], w[3 + j], w[6 + j]);
      for (size_t j = 0; j < side; ++j) all[i][j] = along(taps[j], row[0], row[1], row[2]);
    }
    for (int64_t point = 0; point < planes.all_points(); ++point) {
      const int64_t y = point / planes.points, x = point % planes.points, of_point = planes.PlanesOf(point);
      float* to = transformed + planes.FirstPlane(point) * count + filter * of_point;
      for (int64_t k = 0; k < of_point; ++k) {
        to[k] = all[planes.first[static_cast<size_t>(y)] + k / planes.of(x)][planes.first[static_cast<size_t>(x)] + k % planes.of(x)];
      }
    }
  }
}

}  // namespace

std::optional<WinogradForm> ChooseBlockedWinograd(const Window& window, const BlockedChannels& of, bool forced) {
  constexpr int64_t kManyPairs = 512 * 512;  // up to four times so many weights must save half the time
  const int64_t depth = of.channels * window.kernel[0], images = of.batch * window.output[0];
  if (!WinogradMayPay(depth, of.outputs)) return std::nullopt;
  const double pixels = static_cast<double>(images * window.output[1] * window.output[2]);
  const double most = depth * of.outputs > kManyPairs / of.group ? 0.5 : 0.9;
  double least = forced ? std::numeric_limits<double>::infinity() : most * ProductsNs(pixels, 9 * static_cast<double>(depth * of.outputs));
  std::optional<WinogradForm> best;
  for (const WinogradForm form : {WinogradForm::kFour, WinogradForm::kTwo, WinogradForm::kStrided}) {
    if (!Fits(window, form)) continue;
    const double time = TransformedNs(form, window, images, depth, of.outputs);
    if (time >= least) continue;
    least = time;
    best = form;
  }
  return best;
}

std::shared_ptr<const Tensor> PackBlockedWinograd(ThreadPool& threads, WinogradForm form, int64_t group, const Tensor& weights) {
  const WinogradPlanes planes = PlanesOf(form);
  const int64_t outputs = weights.shape()[0] / group, slices = weights.shape().SizeOfRange(2, weights.shape().rank() - 2);
  const int64_t channels = CheckedMul(weights.shape()[1], slices);  // and their slices
  const int64_t matrix = CheckedMul(outputs, channels);
  auto packed = std::make_shared<Tensor>(ElementType::kFloat, Shape{group, planes.all_planes(), outputs, channels}, WeightMemory());
  const auto* from = weights.unaligned_data<float>();
  float* to = packed->mutable_data<float>();
  const int64_t blocks = outputs / kChannelBlock, parts = BlockGroups(blocks);
  constexpr double kFilterNs = 30;
  // Part by part: all transformed filters at once would take as much memory as the result.
  threads.ParallelFor(group * parts, static_cast<double>(channels * 2 * kChannelBlock) * kFilterNs, [&](int64_t begin, int64_t end) {
    Tensor transformed(ElementType::kFloat, Shape{planes.all_planes(), 3 * kChannelBlock, channels});
    auto* values = transformed.mutable_data<float>();
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = FirstBlock(blocks, i % parts), count = FirstBlock(blocks, i % parts + 1) - first;
      const int64_t rows = count * kChannelBlock, start = first * kChannelBlock * channels;
      const float* filters = from + (i / parts * matrix + start) * 9;
      float* own = to + i / parts * planes.all_planes() * matrix;
      if (form == WinogradForm::kFour) {
        TransformWinogradWeights(filters, rows, channels, 0, rows, values);
      } else {
        TransformFilters(form, filters, rows * channels, values);
      }
      for (int64_t point = 0; point < planes.all_points(); ++point) {
        const int64_t plane = planes.FirstPlane(point), of_point = planes.PlanesOf(point);
        PackBlockedWeights(values + plane * rows * channels, channels / slices / kChannelBlock, kChannelBlock, slices * of_point, count, 0, 1,
                           own + plane * matrix + of_point * start);
      }
    }
  });
  return packed;
}

void ConvolveBlockedWinograd(KernelContext& context, WinogradForm form, const Window& window, const BlockedChannels& of, const float* weights,
                             const float* input, const BlockedEpilogue& epilogue, float* output) {
  BlockedTileRows slice{};
  slice.form = form;
  slice.slices = window.kernel[0];
  slice.input_blocks = of.channels / kChannelBlock;
  slice.output_blocks = of.outputs / kChannelBlock;
  slice.input_plane = window.input.num_elements() * kChannelBlock;
  slice.output_plane = window.output.num_elements() * kChannelBlock;
  slice.height = window.input[1];
  slice.width = window.input[2];
  slice.pad_top = window.begin[1];
  slice.pad_left = window.begin[2];
  slice.y = {window.output[1], window.dilations[1], PlanesOf(form).side};
  slice.x = {window.output[2], window.dilations[2], PlanesOf(form).side};
  slice.end_row = slice.y.tiles();
  BlockedRun run(context, slice, window, of.batch * of.group, of.group, weights, input, epilogue, output);
  const int64_t threads = context.threads().num_threads(), slices = of.batch * of.group * window.output[0];
  if (threads > 1 && slices * slice.end_row < 3 * threads) {
    run.BySteps();
  } else {
    run.ByBlocks(ChooseBlockedRows(slice, slices, threads));
  }
}

}  // namespace tessera::cpu
