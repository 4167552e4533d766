#include "cpu/ops/nn/nchw8c_dense.h"

#include <algorithm>
#include <span>

#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/ops/nn/nchw8c_layout.h"
#include "kernels/conv/choose/costs.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kPaddedRoundBytes = int64_t{8} << 20;  // padded input per round of images

/// How the pixels and the block groups of an image are split among threads.
struct Split {
  int64_t pixels, groups;  // parts of each
};

/// The parts that `threads` finish first: each reads its inputs and its weights.
Split ChooseSplit(const Nchw8cGemm& gemm, int64_t images, int64_t threads) {
  const int64_t groups = BlockGroups(gemm.output_blocks);
  if (threads == 1) return {1, 1};
  const double product_ns = ConvCostsHere().product_ns;
  Split best{1, 1};
  double best_cost = 1e300;
  for (int64_t group_parts = 1; group_parts <= std::min(groups, 4 * threads); ++group_parts) {
    for (int64_t tasks = threads; tasks <= 4 * threads; tasks += threads) {
      const int64_t pixel_parts = std::clamp<int64_t>(tasks / group_parts, 1, CeilDiv(gemm.pixels, 4));
      const double pixels = static_cast<double>(CeilDiv(CeilDiv(gemm.pixels, pixel_parts), 6) * 6);
      const double outputs = static_cast<double>(CeilDiv(groups, group_parts) * 2 * kChannelBlock);
      const double depth = static_cast<double>(gemm.depth);
      const double task = 300 + depth * (pixels * outputs * product_ns + outputs * 0.25 + pixels * 0.1);
      const double cost = static_cast<double>(CeilDiv(pixel_parts * group_parts * images, threads)) * task;
      if (cost < best_cost) {
        best = {pixel_parts, group_parts};
        best_cost = cost;
      }
    }
  }
  return best;
}

/// The layout of a window's rows after padding.
struct PaddedImage {
  explicit PaddedImage(const Window& window) : window(window), size(window.input) {
    bool larger = false;
    Shape padded(size.rank());
    for (size_t i = 0; i < size.rank(); ++i) {
      padded[i] = CheckedAdd(CheckedMul(window.output[i] - 1, window.strides[i]), window.extent(i));
      larger = larger || window.begin[i] != 0 || padded[i] > size[i];
    }
    in_place = !larger;
    if (larger) size = padded;
  }

  int64_t pixels() const { return size.num_elements(); }

  /// One plane of `unit` elements a pixel.
  void Pad(const float* from, int64_t unit, float* to) const {
    ForRows(unit, to,
            [&](int64_t pixel, int64_t columns, float* row) { std::copy_n(from + pixel * unit, columns * unit, row); });
  }

  /// Eight planes, one after the other, to a plane of NCHW8c.
  void Block(const float* from, float* to) const {
    const int64_t pixels = window.input.num_elements();
    ForRows(kChannelBlock, to,
            [&](int64_t pixel, int64_t columns, float* row) { UseNchw8c(from + pixel, pixels, 0, columns, row); });
  }

  const Window& window;
  Shape size;
  bool in_place;

 private:
  /// Fills a plane: copy(pixel, columns, row) writes so many pixels of the input from `pixel` on.
  template <class Copy>
  void ForRows(int64_t unit, float* to, const Copy& copy) const {
    const int64_t left = std::min(window.begin[2], size[2]), width = size[2] * unit;
    const int64_t columns = std::min(size[2] - left, window.input[2]);
    for (int64_t row = 0; row < size[0] * size[1]; ++row, to += width) {
      const int64_t z = row / size[1] - window.begin[0], y = row % size[1] - window.begin[1];
      if (z < 0 || z >= window.input[0] || y < 0 || y >= window.input[1]) {
        std::fill_n(to, width, 0.0f);
        continue;
      }
      std::fill_n(to, left * unit, 0.0f);
      copy((z * window.input[1] + y) * window.input[2], columns, to + left * unit);
      std::fill(to + (left + columns) * unit, to + width, 0.0f);
    }
  }
};

/// Calls set(pixel, offset) for all output pixels: the offset, in elements, of what the first kernel position reads in
/// planes of these sizes.
template <class Set>
void ForOutputPixels(const Window& window, std::span<const int64_t> plane, std::span<const int64_t> begin, int64_t unit,
                     const Set& set) {
  size_t pixel = 0;
  for (int64_t z = 0; z < window.output[0]; ++z) {
    const int64_t slice = z * window.strides[0] - begin[0];
    for (int64_t y = 0; y < window.output[1]; ++y) {
      const int64_t row = slice * plane[1] + y * window.strides[1] - begin[1];
      for (int64_t x = 0; x < window.output[2]; ++x)
        set(pixel++, (row * plane[2] + x * window.strides[2] - begin[2]) * unit);
    }
  }
}

}  // namespace

Nchw8cDense::Nchw8cDense(int64_t outputs, int64_t channels, const Window& window, int64_t group, ConvLayout layout)
    : outputs_(outputs),
      group_channels_(channels),
      positions_(window.kernel.num_elements()),
      group_(group),
      layout_(layout) {
  if (layout != ConvLayout::kNchw8cFromPlanes) return;
  step_ = 1;
  for (const int64_t step : {3, 4, 5, 6, 7, 8, 11}) {  // the steps of MultiplyNchw8c
    if (window.dilations[2] == 1 && window.kernel[2] % step == 0) step_ = step;
  }
}

void Nchw8cDense::Pack(ThreadPool& threads, const float* weights, float* packed) const {
  const int64_t blocks = group_outputs() / kChannelBlock;
  const int64_t parts = BlockGroups(blocks);
  const double cost = static_cast<double>(depth()) * 2 * kChannelBlock;
  threads.ParallelFor(group_ * parts, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = i / parts * group_outputs() * depth();
      PackNchw8cWeights(weights + at, group_channels_ / unit(), unit(), positions_, blocks, i % parts, i % parts + 1,
                        packed + at);
    }
  });
}

Nchw8cGemm Nchw8cDense::Start(const Window& window, const Epilogue<float>& epilogue) const {
  Nchw8cGemm gemm;
  gemm.step = step_;
  gemm.depth = depth();
  gemm.pixels = window.output.num_elements();
  gemm.output_blocks = group_outputs() / kChannelBlock;
  gemm.epilogue = epilogue;
  return gemm;
}

Nchw8cGemm Nchw8cDense::Part(const Nchw8cGemm& first, int64_t image, int64_t group, const float* packed,
                             int64_t image_size) const {
  Nchw8cGemm gemm = first;
  const int64_t at = (image * outputs_ + group * group_outputs()) * first.pixels;
  gemm.input += image * image_size + group * (image_size / group_);
  gemm.weights = packed + group * group_outputs() * depth();
  gemm.output += at;
  gemm.epilogue = gemm.epilogue.From(group * group_outputs(), at);
  return gemm;
}

/// The steps at the region's kernel positions, in planes of these sizes; returns their number.
size_t Nchw8cDense::WriteSteps(const Window& window, const Nchw8cRegion& taps, std::span<const int64_t> plane,
                               Nchw8cStep* steps) const {
  size_t count = 0;
  const int64_t together = layout_ == ConvLayout::kNchw8cFromPlanes ? step_ : 1;  // kernel positions in a step
  const int64_t plane_pixels = plane[0] * plane[1] * plane[2];
  for (int64_t c = 0; c < group_channels_ / unit(); ++c) {
    for (int64_t z = taps.z.first_tap; z < taps.z.end_tap; ++z) {
      for (int64_t y = taps.y.first_tap; y < taps.y.end_tap; ++y) {
        const int64_t row = z * window.dilations[0] * plane[1] + y * window.dilations[1];
        for (int64_t x = taps.x.first_tap; x < taps.x.end_tap; x += together) {
          const int64_t pixel = row * plane[2] + x * window.dilations[2];
          const int64_t position = (z * window.kernel[1] + y) * window.kernel[2] + x;
          steps[count++] = {(c * plane_pixels + pixel) * unit(), (c * positions_ + position) * unit()};
        }
      }
    }
  }
  return count;
}

void Nchw8cDense::Convolve(KernelContext& context, const Window& window, int64_t batch, const float* packed,
                           const float* input, const Epilogue<float>& epilogue, float* output) const {
  if (ReadsRegions()) {
    const Nchw8cRegions regions(window);
    if (regions.Pay()) return ByRegions(context, window, regions, batch, packed, input, epilogue, output);
  }
  Whole(context, window, batch, packed, input, epilogue, output);
}

void Nchw8cDense::ByRegions(KernelContext& context, const Window& window, const Nchw8cRegions& regions, int64_t batch,
                            const float* packed, const float* input, const Epilogue<float>& epilogue, float* output) const {
  const auto pixel_offsets = context.scratch<int64_t>(static_cast<size_t>(window.output.num_elements()));
  ForOutputPixels(window, window.input.dims(), window.begin.dims(), unit(),
                  [&](size_t pixel, int64_t at) { pixel_offsets[pixel] = at; });
  const size_t most = static_cast<size_t>(depth() / step_);
  const auto steps = context.scratch<Nchw8cStep>(regions.count() * most);
  const auto num_steps = context.scratch<size_t>(regions.count());
  for (size_t i = 0; i < regions.count(); ++i) {
    num_steps[i] = WriteSteps(window, regions.at(i), window.input.dims(), steps.data() + i * most);
  }
  Nchw8cGemm first = Start(window, epilogue);
  first.input = input;
  first.output = output;
  first.pixel_offsets = pixel_offsets.data();
  const int64_t groups = BlockGroups(first.output_blocks), image_size = planes() * window.input.num_elements() * unit();
  const int64_t parts = std::min<int64_t>(groups, context.threads().num_threads());
  const auto of_slice = static_cast<int64_t>(regions.of_slice());
  const int64_t tasks = window.output[0] * of_slice * parts;
  context.threads().ParallelFor(batch * group_ * tasks, 1e5, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t slice = i % tasks / parts / of_slice;
      const size_t number = regions.InSlice(slice, static_cast<size_t>(i % tasks / parts % of_slice));
      const Nchw8cRegion region = regions.at(number);
      Nchw8cGemm gemm = Part(first, i / tasks / group_, i / tasks % group_, packed, image_size);
      gemm.steps = steps.data() + number * most;
      gemm.num_steps = static_cast<int64_t>(num_steps[number]);
      const int64_t width = window.output[2], start = (slice * window.output[1] + region.y.begin) * width + region.x.begin;
      const int64_t rows = region.y.end - region.y.begin, columns = region.x.end - region.x.begin;
      const Nchw8cPixels pixels =
          columns == width ? Nchw8cPixels{start, rows * width} : Nchw8cPixels{start, columns, rows, width};
      MultiplyNchw8c(gemm, pixels, groups * (i % parts) / parts, groups * (i % parts + 1) / parts);
    }
  });
}

void Nchw8cDense::Whole(KernelContext& context, const Window& window, int64_t batch, const float* packed,
                        const float* input, const Epilogue<float>& epilogue, float* output) const {
  const PaddedImage padded(window);
  const int64_t plane_size = CheckedMul(padded.pixels(), unit());
  const int64_t image_size = CheckedMul(planes(), plane_size);
  const int64_t image_bytes = CheckedMul(image_size, static_cast<int64_t>(sizeof(float)));
  const int64_t fitting = std::clamp<int64_t>(kPaddedRoundBytes / std::max<int64_t>(image_bytes, 1), 1, batch);
  const bool copies = !padded.in_place || layout_ == ConvLayout::kNchw8cFromNchw;
  const int64_t round = copies ? fitting : batch;
  const int64_t source_plane = window.input.num_elements() * unit();
  const bool in_order = unit() > 1 && padded.in_place && positions_ == 1 &&
                        std::ranges::all_of(window.strides, [](int64_t stride) { return stride == 1; });
  Nchw8cGemm gemm = Start(window, epilogue);
  const auto pixel_offsets = context.scratch<int64_t>(static_cast<size_t>(in_order ? 0 : gemm.pixels));
  const Shape origin(kSpatialAxes, 0);
  if (!in_order) {
    ForOutputPixels(window, padded.size.dims(), origin.dims(), unit(),
                    [&](size_t pixel, int64_t at) { pixel_offsets[pixel] = at; });
  }
  const auto steps = context.scratch<Nchw8cStep>(static_cast<size_t>(depth() / step_));
  const auto whole = [&](size_t i) { return Nchw8cBand{0, window.output[i], 0, window.kernel[i]}; };
  gemm.num_steps =
      static_cast<int64_t>(WriteSteps(window, {whole(0), whole(1), whole(2)}, padded.size.dims(), steps.data()));
  gemm.steps = steps.data();
  gemm.pixel_offsets = in_order ? nullptr : pixel_offsets.data();
  const auto buffer = context.scratch<float>(static_cast<size_t>(copies ? CheckedMul(round, image_size) : 0));
  for (int64_t image = 0; image < batch; image += round) {
    const int64_t images = std::min(round, batch - image);
    gemm.input = input + image * planes() * source_plane;
    if (copies) {
      const double cost = 10 + 0.15 * static_cast<double>(plane_size);
      context.threads().ParallelFor(images * planes(), cost, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const float* from = input + (image * planes() + i) * source_plane;
          float* to = buffer.data() + i * plane_size;
          layout_ == ConvLayout::kNchw8cFromNchw ? padded.Block(from, to) : padded.Pad(from, unit(), to);
        }
      });
      gemm.input = buffer.data();
    }
    const int64_t at = image * outputs_ * gemm.pixels;
    gemm.output = output + at;
    if (epilogue.residual != nullptr) gemm.epilogue.residual = epilogue.residual + at;
    RunImages(context, gemm, images, image_size, packed);
  }
}

void Nchw8cDense::RunImages(KernelContext& context, const Nchw8cGemm& first, int64_t images, int64_t image_size,
                            const float* packed) const {
  const Split split = ChooseSplit(first, images * group_, context.threads().num_threads());
  const int64_t groups = BlockGroups(first.output_blocks);
  const int64_t parts = split.pixels * split.groups;
  const double work = static_cast<double>(first.pixels) * static_cast<double>(group_outputs()) *
                      static_cast<double>(depth()) * ConvCostsHere().product_ns / static_cast<double>(parts);
  context.threads().ParallelFor(images * group_ * parts, work, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Nchw8cGemm gemm = Part(first, i / parts / group_, i / parts % group_, packed, image_size);
      const int64_t pixel_part = i % parts % split.pixels, group_part = i % parts / split.pixels;
      const int64_t first_pixel = first.pixels * pixel_part / split.pixels;
      MultiplyNchw8c(gemm, {first_pixel, first.pixels * (pixel_part + 1) / split.pixels - first_pixel},
                     groups * group_part / split.groups, groups * (group_part + 1) / split.groups);
    }
  });
}

}  // namespace tessera::cpu
