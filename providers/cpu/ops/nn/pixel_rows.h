#pragma once

// The pixels that a convolution's window meets, as rows of one matrix: images of bytes whose channels lie side by side.

#include <cstring>

#include "ops/nn/window.h"

namespace tessera::cpu {

class PixelRows {
 public:
  /// Bytes that a copy may write behind its last row.
  static constexpr int64_t kSlack = 8;

  /// Of `bytes` bytes of images: channels [first, first + channels) of `all`; taps outside the image are `zero`, every byte is changed by `flip`.
  PixelRows(const uint8_t* images, int64_t bytes, const Window& window, int64_t all, int64_t first, int64_t channels, uint8_t zero, uint8_t flip)
      : images_(images), end_(images + bytes), window_(window), all_(all), first_(first), channels_(channels), zero_(zero), flip_(flip) {}

  /// Whether rows need no copy.
  bool in_place() const {
    const Window& w = window_;
    return flip_ == 0 && channels_ == all_ && channels_ % 4 == 0 && w.kernel.num_elements() == 1 && w.strides.num_elements() == 1 &&
           w.begin == Shape{0, 0} && w.end == Shape{0, 0};
  }
  int64_t bytes() const { return window_.kernel.num_elements() * channels_; }
  /// Of a copied row: whole groups of four.
  int64_t row() const { return (bytes() + 3) / 4 * 4; }

  /// Rows [begin, end), over all images.
  void Copy(int64_t begin, int64_t end, uint8_t* out) const {
    for (int64_t i = begin; i < end; ++i, out += row()) {
      const int64_t pixel = i % window_.output.num_elements();
      CopyRow(i / window_.output.num_elements(), pixel / window_.output[1], pixel % window_.output[1], out);
    }
  }

 private:
  void CopyRow(int64_t image, int64_t y, int64_t x, uint8_t* out) const {
    const Window& w = window_;
    uint8_t* to = out;
    const int64_t column = x * w.strides[1] - w.begin[1], line = w.kernel[1] * channels_;
    for (int64_t k = 0; k < w.kernel[0]; ++k, to += line) {
      const int64_t row = y * w.strides[0] - w.begin[0] + k * w.dilations[0];
      if (row < 0 || row >= w.input[0]) {
        std::memset(to, zero_, static_cast<size_t>(line));
      } else {
        CopyLine(images_ + (image * w.input[0] + row) * w.input[1] * all_ + first_, column, to);
      }
    }
    if (flip_ != 0) {
      for (uint8_t* byte = out; byte < to; ++byte) *byte ^= flip_;
    }
    for (const uint8_t* end = out + this->row(); to < end; ++to) *to = 0;
  }

  /// The taps of one row of the image.
  void CopyLine(const uint8_t* from, int64_t column, uint8_t* to) const {
    const Window& w = window_;
    const int64_t line = w.kernel[1] * channels_;
    if (w.dilations[1] == 1 && channels_ == all_) {  // they lie side by side
      const bool inside = column >= 0 && column + w.kernel[1] <= w.input[1];
      if (inside && line <= kShortLine && end_ - from >= column * channels_ + line + kSlack) {
        const uint8_t* first = from + column * channels_;
        for (int64_t i = 0; i < line; i += kSlack) std::memcpy(to + i, first + i, kSlack);  // what follows overwrites the rest
        return;
      }
      const int64_t begin = std::clamp<int64_t>(-column, 0, w.kernel[1]), end = std::clamp(w.input[1] - column, begin, w.kernel[1]);
      std::memset(to, zero_, static_cast<size_t>(begin * channels_));
      std::memcpy(to + begin * channels_, from + (column + begin) * channels_, static_cast<size_t>((end - begin) * channels_));
      std::memset(to + end * channels_, zero_, static_cast<size_t>((w.kernel[1] - end) * channels_));
      return;
    }
    for (int64_t k = 0; k < w.kernel[1]; ++k, to += channels_) {
      const int64_t x = column + k * w.dilations[1];
      if (x < 0 || x >= w.input[1]) {
        std::memset(to, zero_, static_cast<size_t>(channels_));
      } else {
        std::memcpy(to, from + x * all_, static_cast<size_t>(channels_));
      }
    }
  }

  static constexpr int64_t kShortLine = 64;  // that is not worth a call

  const uint8_t* images_;
  const uint8_t* end_;
  const Window& window_;
  int64_t all_, first_, channels_;
  uint8_t zero_, flip_;
};

}  // namespace tessera::cpu
