#pragma once

// The layout that convolutions read their input in: padded, and along the last axis split by stride phase, so that a row of
// output pixels reads contiguous elements at every kernel position.

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/checked.h"
#include "base/rounding.h"
#include "base/window.h"
#include "ops/nn/multi_index.h"
#include "simd/conv.h"
#include "simd/conv_int8.h"
#include "tessera/kernel.h"

namespace tessera::cpu {

class ConvInput {
 public:
  /// `in_place`: the input itself already is in this layout (no padding, unit stride along the last axis).
  ConvInput(KernelContext& context, const Window& window) : window_(window) {
    const size_t last = window.rank() - 1;
    const int64_t stride = window.strides[last];
    in_place_ = stride == 1;
    for (size_t i = 0; i <= last; ++i) in_place_ = in_place_ && window.begin[i] == 0 && window.end[i] == 0;
    phases_ = in_place_ ? 1 : std::min(stride, window.extent(last));
    phase_width_ = in_place_ ? window.input[last]
                             : CheckedAdd(window.output[last], (window.extent(last) - 1) / stride);
    padded_ = window.input;
    for (size_t i = 0; i < last && !in_place_; ++i) {
      padded_[i] = CheckedAdd(CheckedMul(window.output[i] - 1, window.strides[i]), window.extent(i));
    }
    padded_[last] = CheckedMul(phases_, phase_width_);
    channel_size_ = padded_.num_elements();
    FindKernelOffsets(context);
    FindRowOffsets(context);
    if (!in_place_) FindUse(context);
  }

  bool in_place() const { return in_place_; }
  /// Elements from channel to channel.
  int64_t channel_size() const { return channel_size_; }
  /// By kernel position, row-major.
  std::span<const int64_t> kernel_offsets() const { return kernel_offsets_; }
  /// By output row (all spatial axes but the last).
  std::span<const int64_t> row_offsets() const { return row_offsets_; }
  int64_t output_width() const { return window_.output[window_.rank() - 1]; }

  /// Lays one channel out; padding becomes `pad`.
  template <class T>
  void LayOut(const T* in, T* out, T pad = T{}) const {
    if constexpr (std::is_same_v<T, uint8_t>) {
      if (window_.rank() == 2 && window_.strides[1] <= 2) {
        window_.strides[1] == 1 ? LayOutImage(in, out, pad) : LayOutHalves(in, out, pad);
        return;
      }
    }
    const size_t last = window_.rank() - 1;
    const int64_t width = window_.input[last];
    const int64_t row_size = padded_[last];
    int64_t rows = 1;
    for (size_t i = 0; i < last; ++i) rows *= padded_[i];
    for (int64_t r = 0; r < rows; ++r, out += row_size) {
      int64_t rest = r;
      int64_t from = 0;
      int64_t stride = 1;
      bool inside = true;
      bool used = true;
      int64_t use_base = 0;
      for (size_t i = 0; i < last; ++i) use_base += padded_[i];
      for (size_t i = last; i-- > 0;) {
        const int64_t p = rest % padded_[i];
        rest /= padded_[i];
        use_base -= padded_[i];
        used = used && row_used_[use_base + p] != 0;
        const int64_t source = p - window_.begin[i];
        inside = inside && source >= 0 && source < window_.input[i];
        from += source * stride;
        stride *= window_.input[i];
      }
      if (!used) continue;
      if (!inside) {
        std::fill_n(out, row_size, pad);
        continue;
      }
      for (int64_t phase = 0; phase < phases_; ++phase) {
        if (phase_used_[phase] != 0) LayOutRow(in + from * width, phase, pad, out + phase * phase_width_);
      }
    }
  }

 private:
  /// An image of bytes, read without stride: its rows are too short to look at each for long.
  void LayOutImage(const uint8_t* in, uint8_t* out, uint8_t pad) const {
    const int64_t width = window_.input[1], row_size = padded_[1];
    std::fill_n(out, channel_size_, pad);
    const int64_t skipped = std::max<int64_t>(-window_.begin[1], 0), before = std::max<int64_t>(window_.begin[1], 0);
    const int64_t count = std::min(width - skipped, row_size - before);
    if (count <= 0) return;
    for (int64_t p = 0; p < padded_[0]; ++p) {
      const int64_t source = p - window_.begin[0];
      if (source < 0 || source >= window_.input[0] || row_used_[p] == 0) continue;
      CopyShort(in + source * width + skipped, count, out + p * row_size + before);
    }
  }

  /// An image of bytes, read with stride 2.
  void LayOutHalves(const uint8_t* in, uint8_t* out, uint8_t pad) const {
    const int64_t width = window_.input[1], before = window_.begin[1];
    std::fill_n(out, channel_size_, pad);
    // The padded image's rows that lie in the input.
    const int64_t first = std::min(window_.begin[0], padded_[0]);
    ByteImage image{std::clamp<int64_t>(padded_[0] - first, 0, window_.input[0]), width, padded_[1], {}, {}, {}};
    for (int64_t phase = 0; phase < phases_; ++phase) {
      const int64_t start = std::max<int64_t>((before - phase + 1) / 2, 0);
      const int64_t end = std::min((width + before - phase + 1) / 2, phase_width_);
      image.from[phase] = 2 * start + phase - before;
      image.to[phase] = phase * phase_width_ + start;
      image.count[phase] = phase_used_[phase] != 0 ? end - start : 0;
    }
    SplitColumns(image, in, in + window_.input.num_elements(), out + first * padded_[1]);
  }

  /// Whole words, the last of which may overlap the one before.
  static void CopyShort(const uint8_t* from, int64_t count, uint8_t* to) {
    if (count < 8) {
      for (int64_t i = 0; i < count; ++i) to[i] = from[i];
      return;
    }
    for (int64_t i = 0; i + 8 < count; i += 8) std::memcpy(to + i, from + i, 8);
    std::memcpy(to + count - 8, from + count - 8, 8);
  }

  template <class T>
  void LayOutRow(const T* row, int64_t phase, T pad, T* out) const {
    const size_t last = window_.rank() - 1;
    const int64_t stride = window_.strides[last];
    const int64_t width = window_.input[last];
    const int64_t before = window_.begin[last];
    // out[i] is input element i * stride + phase - before.
    const int64_t first = std::clamp<int64_t>(CeilDiv(before - phase, stride), 0, phase_width_);
    const int64_t room = width + before - phase;
    const int64_t end = std::clamp<int64_t>(room <= 0 ? 0 : CeilDiv(room, stride), first, phase_width_);
    std::fill_n(out, first, pad);
    const T* from = row + first * stride + phase - before;
    if (stride == 1) {
      if (end > first) std::memcpy(out + first, from, static_cast<size_t>(end - first) * sizeof(T));
    } else if constexpr (std::is_floating_point_v<T>) {
      CopyStrided<T>(from, stride, end - first, out + first);
    } else if (stride == 2) {  // which compilers vectorize
      for (int64_t i = 0; i < end - first; ++i) out[first + i] = from[2 * i];
    } else {
      for (int64_t i = first; i < end; ++i) out[i] = row[i * stride + phase - before];
    }
    std::fill(out + end, out + phase_width_, pad);
  }

  void FindKernelOffsets(KernelContext& context) {
    const size_t last = window_.rank() - 1;
    const int64_t stride = in_place_ ? 1 : window_.strides[last];
    kernel_offsets_ = context.scratch<int64_t>(static_cast<size_t>(window_.kernel.num_elements()));
    size_t k = 0;
    ForEachIndex(window_.kernel.dims(), [&](const Shape& index) {
      int64_t offset = 0;
      for (size_t i = 0; i < last; ++i) offset = (offset + index[i] * window_.dilations[i]) * (i + 1 == last ? 1 : padded_[i + 1]);
      const int64_t x = index[last] * window_.dilations[last];
      kernel_offsets_[k++] = offset * padded_[last] + x % stride * phase_width_ + x / stride;
    });
  }

  void FindRowOffsets(KernelContext& context) {
    const size_t last = window_.rank() - 1;
    const auto outer = window_.output.dims().first(last);
    int64_t rows = 1;
    for (int64_t dim : outer) rows = CheckedMul(rows, dim);
    row_offsets_ = context.scratch<int64_t>(static_cast<size_t>(rows));
    size_t r = 0;
    ForEachIndex(outer, [&](const Shape& index) {
      int64_t offset = 0;
      for (size_t i = 0; i < last; ++i) offset = (offset + index[i] * window_.strides[i]) * (i + 1 == last ? 1 : padded_[i + 1]);
      row_offsets_[r++] = offset * padded_[last];
    });
  }

  /// Rows and phases that no kernel position reads (strides past the kernel) are not copied.
  void FindUse(KernelContext& context) {
    const size_t last = window_.rank() - 1;
    int64_t total = 0;
    for (size_t i = 0; i < last; ++i) total += padded_[i];
    row_used_ = context.scratch<uint8_t>(static_cast<size_t>(std::max<int64_t>(total, 1)));
    std::fill(row_used_.begin(), row_used_.end(), uint8_t{0});
    int64_t base = 0;
    for (size_t i = 0; i < last; ++i) {
      for (int64_t k = 0; k < window_.kernel[i]; ++k) {
        for (int64_t o = 0; o < window_.output[i]; ++o) row_used_[base + o * window_.strides[i] + k * window_.dilations[i]] = 1;
      }
      base += padded_[i];
    }
    phase_used_ = context.scratch<uint8_t>(static_cast<size_t>(phases_));
    std::fill(phase_used_.begin(), phase_used_.end(), uint8_t{0});
    for (int64_t k = 0; k < window_.kernel[last]; ++k) phase_used_[k * window_.dilations[last] % window_.strides[last]] = 1;
  }

  const Window& window_;
  bool in_place_;
  int64_t phases_;
  int64_t phase_width_;
  Shape padded_;
  int64_t channel_size_ = 0;
  std::span<int64_t> kernel_offsets_;
  std::span<int64_t> row_offsets_;
  std::span<uint8_t> row_used_;
  std::span<uint8_t> phase_used_;
};

}  // namespace tessera::cpu
