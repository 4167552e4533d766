#pragma once

// Columns to image: each kernel position of each column is added to the pixel that it came from. Shared by Col2Im and
// ConvTranspose.

#include "base/rounding.h"
#include "ops/nn/multi_index.h"
#include "ops/nn/pool.h"

namespace tessera::cpu {

/// Adds one channel's columns [kernel positions, columns] to `image`. `window` describes the image as the input of a sliding
/// window and its columns as the output. Add(pixel, value) combines.
template <class T, class Add>
void AddColumns(const Window& window, const T* columns, T* image, Add&& add) {
  const size_t last = window.rank() - 1;
  const int64_t width = window.output[last];
  const int64_t stride = window.strides[last];
  const auto outer_columns = window.output.dims().first(last);
  ForEachIndex(window.kernel.dims(), [&](const Shape& kernel) {
    // Columns whose pixel along the last axis lies inside the image.
    const int64_t shift = kernel[last] * window.dilations[last] - window.begin[last];
    const int64_t first = shift >= 0 ? 0 : CeilDiv(-shift, stride);
    const int64_t room = window.input[last] - shift;
    const int64_t end = room <= 0 ? 0 : std::min(width, CeilDiv(room, stride));
    ForEachIndex(outer_columns, [&](const Shape& column) {
      int64_t row = 0;
      bool inside = true;
      for (size_t i = 0; i < last; ++i) {
        const int64_t pixel = column[i] * window.strides[i] + kernel[i] * window.dilations[i] - window.begin[i];
        inside = inside && pixel >= 0 && pixel < window.input[i];
        row = row * window.input[i] + pixel;
      }
      if (inside) {
        T* to = image + row * window.input[last] + shift;
        if (stride == 1) {
          for (int64_t x = first; x < end; ++x) add(to[x], columns[x]);
        } else {
          for (int64_t x = first; x < end; ++x) add(to[x * stride], columns[x]);
        }
      }
      columns += width;
    });
  });
}

}  // namespace tessera::cpu
