#pragma once

// The pixels that a convolution's windows read, as rows of one matrix (im2col), for images of few pixels: a table has the
// index of each tap of each pixel.

#include <algorithm>
#include <span>

#include "base/cancellation.h"
#include "base/checked.h"
#include "cpu/engine/strided_copy.h"
#include "ops/nn/window.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// For each output pixel and tap the index of the input pixel; -1: none.
inline std::span<const int64_t> MeetingPixels(KernelContext& context, const Window& window) {
  const auto count = static_cast<size_t>(CheckedMul(window.output.num_elements(), window.kernel.num_elements()));
  std::span<int64_t> indices = context.scratch<int64_t>(count),
                     next = context.scratch<int64_t>(window.rank() > 1 ? count : 0);
  int64_t pixels = 1, taps = 1;  // of the axes before
  PacedCancellationPoint point(1);
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    const int64_t output = window.output[axis], kernel = window.kernel[axis], input = window.input[axis];
    const std::span<int64_t> before = indices;
    if (axis > 0) std::swap(indices, next);
    int64_t* to = indices.data();
    for (int64_t pixel = 0; pixel < pixels * output; ++pixel) {
      point.Pass(taps * kernel);
      const int64_t first = pixel % output * window.strides[axis] - window.begin[axis];
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t index = axis == 0 ? 0 : before[static_cast<size_t>(pixel / output * taps + tap)];
        for (int64_t k = 0; k < kernel; ++k) {
          const int64_t at = first + k * window.dilations[axis];
          *to++ = index < 0 || at < 0 || at >= input ? -1 : index * input + at;
        }
      }
    }
    pixels *= output;
    taps *= kernel;
  }
  return indices;
}

/// Whether images [pixels, channels] are such rows already: of one tap, which reads each pixel in order.
inline bool AreRows(std::span<const int64_t> indices, int64_t taps, int64_t plane) {
  return taps == 1 && plane == static_cast<int64_t>(indices.size()) && indices.front() == 0 &&
         std::ranges::is_sorted(indices);
}

/// Rows of a GEMM out of images [pixels, channels]: for each output pixel the channels of its taps, `outside` where
/// there is none.
template <class T>
void GatherRows(ThreadPool& threads, std::span<const int64_t> indices, int64_t taps, int64_t plane, int64_t channels,
                int64_t images, T outside, const T* from, T* rows) {
  const int64_t pixels = static_cast<int64_t>(indices.size()) / taps;
  const double cost =
      5 + static_cast<double>(taps) * (5 + static_cast<double>(channels * static_cast<int64_t>(sizeof(T))) * 0.0125);
  threads.ParallelFor(images * pixels, cost, [&](int64_t begin, int64_t end) {
    T* to = rows + begin * taps * channels;
    for (int64_t row = begin; row < end; ++row) {
      const T* image = from + row / pixels * plane * channels;
      const int64_t* index = indices.data() + row % pixels * taps;
      // Taps whose pixels are adjacent too, or all outside, together.
      for (int64_t tap = 0, end = 0; tap < taps; tap = end) {
        const int64_t first = index[tap], step = first < 0 ? 0 : 1;
        for (end = tap + 1; end < taps && index[end] == first + step * (end - tap);) ++end;
        const int64_t count = (end - tap) * channels;
        if (first < 0) std::fill_n(to, count, outside);
        else std::copy_n(image + first * channels, count, to);
        to += count;
      }
    }
  });
}

/// `images` matrices, each of `rows` rows, transposed.
template <class T>
void TransposePlanes(ThreadPool& threads, int64_t images, int64_t rows, int64_t columns, const T* from, T* to) {
  StridedCopy copy(ElementKind{.bytes = sizeof(T)});
  copy.Add(images, rows * columns, rows * columns);
  copy.Add(columns, 1, rows);
  copy.Add(rows, columns, 1);
  copy.Run(threads, from, to);
}

}  // namespace tessera::cpu
