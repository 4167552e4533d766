#pragma once

// The pixels that a convolution's window reads, as rows of one matrix (im2col): images of bytes in NHWC.

#include <array>
#include <cstring>
#include <span>

#include "ops/nn/window.h"

namespace tessera::cpu {

class PixelRows {
 public:
  /// Of `bytes` bytes of images: channels [first, first + channels) of `all`; taps outside the image are `zero`, every byte
  /// is changed by `flip`.
  PixelRows(const uint8_t* images, int64_t bytes, const Window& window, int64_t all, int64_t first, int64_t channels,
            uint8_t zero, uint8_t flip)
      : images_(images),
        end_(images + bytes),
        window_(window),
        all_(all),
        first_(first),
        channels_(channels),
        zero_(zero),
        flip_(flip) {}

  /// Whether rows need no copy.
  bool in_place() const {
    const Window& w = window_;
    return flip_ == 0 && channels_ == all_ && channels_ % 4 == 0 && w.kernel.num_elements() == 1 &&
           w.strides.num_elements() == 1 && w.begin == Shape{0, 0} && w.end == Shape{0, 0};
  }
  int64_t bytes() const { return window_.kernel.num_elements() * channels_; }
  /// Of a copied row: whole groups of four.
  int64_t row() const { return (bytes() + 3) / 4 * 4; }

  /// Rows [begin, end), over all images.
  void Copy(int64_t begin, int64_t end, uint8_t* out) const {
    const int64_t width = window_.output[1], row = this->row();
    while (begin < end) {  // what there is of a row of the output
      const int64_t y = begin / width, x = begin % width, count = std::min(width - x, end - begin);
      CopyPixels(y / window_.output[0], y % window_.output[0], x, x + count, out);
      begin += count;
      out += count * row;
    }
  }

 private:
  static constexpr int64_t kWord = 8;
  static constexpr int64_t kShortLine = 64;    // that is not worth a call
  static constexpr int64_t kMostTapRows = 16;  // of a window that copies short rows

  /// Of a window: the offset of the first pixel, and the distance to the next pixel's.
  struct TapRow {
    const uint8_t* from;
    int64_t step;
  };
  using TapRows = std::array<TapRow, kMostTapRows>;

  /// Of a window's row.
  int64_t row_bytes() const { return window_.kernel[1] * channels_; }
  const uint8_t* Row(int64_t image, int64_t row) const {
    return images_ + (image * window_.input[0] + row) * window_.input[1] * all_ + first_;
  }

  void CopyPixels(int64_t image, int64_t y, int64_t begin, int64_t end, uint8_t* out) const {
    const Window& w = window_;
    const int64_t row = this->row();
    int64_t first = begin, last = begin;
    if (w.dilations[1] == 1 && channels_ == all_ && row_bytes() <= kShortLine && w.kernel[0] <= kMostTapRows) {
      const auto [inner, outer] = w.inner(1);
      first = std::clamp(inner, begin, end);
      last = std::max(first, std::min(outer, end - 1));  // the last pixel has no words after it
      if (first < last) last = CopyShort(image, y, first, last, out + (first - begin) * row);
    }
    for (int64_t x = begin; x < first; ++x) CopyRow(image, y, x, out + (x - begin) * row);
    for (int64_t x = last; x < end; ++x) CopyRow(image, y, x, out + (x - begin) * row);
  }

  /// Pixels whose taps are inside along the row and adjacent, by words. Those at the end of the images, after which
  /// nothing may be read, are left out: returns the first of them.
  int64_t CopyShort(int64_t image, int64_t y, int64_t first, int64_t last, uint8_t* out) const {
    const Window& w = window_;
    std::array<uint8_t, kShortLine> outside;
    outside.fill(zero_);
    TapRows tap_rows;
    for (int64_t k = 0; k < w.kernel[0]; ++k) {
      TapRow& tap_row = tap_rows[static_cast<size_t>(k)];
      tap_row = {outside.data(), 0};
      const int64_t row = y * w.strides[0] - w.begin[0] + k * w.dilations[0];
      if (row < 0 || row >= w.input[0]) continue;
      tap_row = {Row(image, row) + (first * w.strides[1] - w.begin[1]) * channels_, w.strides[1] * channels_};
      while (last > first && end_ - tap_row.from < (last - 1 - first) * tap_row.step + RoundUp(row_bytes(), kWord)) --last;
    }
    const int64_t words = CeilDiv(row_bytes(), kWord);
    (words == 1   ? CopyWords<1>
     : words == 2 ? CopyWords<2>
     : words == 3 ? CopyWords<3>
                  : CopyWords<0>)(*this, tap_rows, last - first, out);
    return last;
  }

  /// What a word writes past its row, the next row or pixel overwrites. kWords: 0 where not known before.
  template <int kWords>
  static void CopyWords(const PixelRows& rows, const TapRows& tap_rows, int64_t count, uint8_t* out) {
    const int64_t row = rows.row(), bytes = rows.row_bytes(), kernel = rows.window_.kernel[0];
    const int64_t words = kWords == 0 ? CeilDiv(bytes, kWord) : kWords;
    uint64_t flip;
    std::memset(&flip, rows.flip_, sizeof flip);
    for (int64_t x = 0; x < count; ++x, out += row) {
      uint8_t* to = out;
      for (int64_t k = 0; k < kernel; ++k, to += bytes) {
        const TapRow& tap_row = tap_rows[static_cast<size_t>(k)];
        const uint8_t* from = tap_row.from + x * tap_row.step;
        for (int64_t i = 0; i < words; ++i) {
          uint64_t word;
          std::memcpy(&word, from + i * kWord, kWord);
          word ^= flip;
          std::memcpy(to + i * kWord, &word, kWord);
        }
      }
      std::memset(to, 0, kWord);
    }
  }

  void CopyRow(int64_t image, int64_t y, int64_t x, uint8_t* out) const {
    const Window& w = window_;
    uint8_t* to = out;
    const int64_t column = x * w.strides[1] - w.begin[1];
    for (int64_t k = 0; k < w.kernel[0]; ++k, to += row_bytes()) {
      const int64_t row = y * w.strides[0] - w.begin[0] + k * w.dilations[0];
      if (row < 0 || row >= w.input[0]) {
        std::memset(to, zero_, static_cast<size_t>(row_bytes()));
      } else {
        CopyLine(Row(image, row), column, to);
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
    if (w.dilations[1] == 1 && channels_ == all_) {  // they are adjacent
      const int64_t begin = std::clamp<int64_t>(-column, 0, w.kernel[1]),
                    end = std::clamp(w.input[1] - column, begin, w.kernel[1]);
      std::memset(to, zero_, static_cast<size_t>(begin * channels_));
      std::memcpy(to + begin * channels_, from + (column + begin) * channels_,
                  static_cast<size_t>((end - begin) * channels_));
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

  const uint8_t* images_;
  const uint8_t* end_;
  const Window& window_;
  int64_t all_, first_, channels_;
  uint8_t zero_, flip_;
};

}  // namespace tessera::cpu
