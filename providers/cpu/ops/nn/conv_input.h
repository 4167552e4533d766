#pragma once

// The layout that convolutions read their input in: padded, and along the last axis split by stride phase, so that a row of
// output pixels reads contiguous elements at every kernel position.

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/cancellation.h"
#include "base/checked.h"
#include "cpu/ops/nn/multi_index.h"
#include "kernels/conv/depthwise/depthwise_int8.h"
#include "kernels/conv/nchw/conv.h"
#include "kernels/conv/nchw/phase_rows.h"
#include "kernels/conv/nchw/phase_span.h"
#include "ops/nn/window.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

class ConvInput {
 public:
  /// `in_place`: the input itself already has this layout (no padding, unit stride along the last axis).
  ConvInput(KernelContext& context, const Window& window) : window_(window) {
    const size_t last = window.rank() - 1;
    const int64_t stride = window.strides[last];
    in_place_ = stride == 1;
    for (size_t i = 0; i <= last; ++i) in_place_ = in_place_ && window.begin[i] == 0 && window.end[i] == 0;
    phases_ = in_place_ ? 1 : std::min(stride, window.extent(last));
    phase_width_ = in_place_ ? window.input[last] : CheckedAdd(window.output[last], (window.extent(last) - 1) / stride);
    padded_ = window.input;
    for (size_t i = 0; i < last && !in_place_; ++i) {
      padded_[i] = CheckedAdd(CheckedMul(window.output[i] - 1, window.strides[i]), window.extent(i));
    }
    padded_[last] = CheckedMul(phases_, phase_width_);
    channel_size_ = CheckedAdd(padded_.num_elements(), in_place_ ? 0 : kPhaseRowsSlack);
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

  /// By channel, of so many, and kernel position.
  std::span<const int64_t> TapOffsets(KernelContext& context, int64_t channels) const {
    if (channels == 1) return kernel_offsets_;
    const auto taps = static_cast<int64_t>(kernel_offsets_.size());
    const auto offsets = context.scratch<int64_t>(static_cast<size_t>(CheckedMul(channels, taps)));
    int64_t* to = offsets.data();
    for (int64_t c = 0; c < channels; ++c)
      for (const int64_t offset : kernel_offsets_) *to++ = c * channel_size_ + offset;
    return offsets;
  }

  /// Lays out so many channels, each of `plane` elements, at steps of `out_step`; padding becomes 0.
  template <class T>
  void LayOutChannels(const T* in, int64_t plane, int64_t channels, int64_t out_step, T* out) const {
    if constexpr (std::is_same_v<T, float>) {
      const size_t last = window_.rank() - 1;
      const PhaseRows rows{.in_step = window_.input[last],
                           .in_width = window_.input[last],
                           .from = -window_.begin[last],
                           .stride = window_.strides[last],
                           .phases = used_phases_,
                           .width = phase_width_,
                           .out_step = padded_[last],
                           .out_phase = phase_width_};
      const PhaseImages images{in, out, channels, plane, out_step, 1, 0, 0};
      CopyPhaseRuns(rows, images, [this](PhaseRuns& runs) { AddRuns(runs); });
    } else {
      for (int64_t c = 0; c < channels; ++c) LayOut(in + c * plane, out + c * out_step);
    }
  }

  /// Lays one channel out; padding becomes `pad`.
  template <class T>
  void LayOut(const T* in, T* out, T pad = T{}) const {
    if constexpr (std::is_same_v<T, uint8_t>) {
      if (window_.rank() == 2 && window_.strides[1] <= 2) {
        window_.strides[1] == 1 ? LayOutImage(in, out, pad) : LayOutHalves(in, out, pad);
        return;
      }
    }
    if (window_.rank() == 1) {
      LayOutRow(in, pad, false, out);
      return;
    }
    ForEachImage([&](int64_t image, int64_t at) { LayOutRows(image == kOutside ? nullptr : in + image, pad, out + at); });
  }

 private:
  static constexpr int64_t kOutside = -1;

  /// body(image, at) for each image that is read, of the last two axes; kOutside: all padding.
  template <class Body>
  void ForEachImage(const Body& body) const {
    const size_t rows = window_.rank() - 2;  // the axis of rows; the axes before it count images
    const int64_t image = window_.input.SizeOfRange(rows, rows + 2), size = padded_.SizeOfRange(rows, rows + 2);
    const int64_t images = padded_.SizeOfRange(0, rows);
    for (int64_t i = 0; i < images; ++i) {
      bool inside = true, used = true;
      int64_t rest = i, from = 0, step = 1;
      const uint8_t* use = row_used_.data() + row_used_.size() - padded_[rows];
      for (size_t axis = rows; axis-- > 0;) {
        const int64_t p = rest % padded_[axis], source = p - window_.begin[axis];
        rest /= padded_[axis];
        use -= padded_[axis];
        used = used && use[p] != 0;
        inside = inside && source >= 0 && source < window_.input[axis];
        from += source * step;
        step *= window_.input[axis];
      }
      if (used) body(inside ? from * image : kOutside, i * size);
    }
  }

  /// The rows that are read, of a channel.
  void AddRuns(PhaseRuns& runs) const {
    if (window_.rank() == 1) return runs.Add(0, 1, 0);
    const size_t axis = window_.rank() - 2;
    const int64_t width = window_.input[axis + 1], size = padded_[axis + 1], count = padded_[axis],
                  before = window_.begin[axis], end = before + window_.input[axis];
    const uint8_t* use = row_used_.data() + row_used_.size() - count;
    ForEachImage([&](int64_t image, int64_t at) {
      const auto inside = [&](int64_t p) { return image != kOutside && p >= before && p < end; };
      for (int64_t p = 0, first = 0; p < count; p = first) {
        for (first = p; first < count && use[first] != 0 && inside(first) == inside(p);) ++first;
        runs.Add(inside(p) ? image + (p - before) * width : PhaseRun::kPadding, first - p, at + p * size);
        while (first < count && use[first] == 0) ++first;
      }
    });
  }

  /// A row's elements that one phase of the stride reads; `to`: where they begin with their padding.
  struct Phase {
    PhaseSpan inside;
    int64_t to;
  };

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
    // The padded image's rows that are inside the input.
    const int64_t first = std::min(window_.begin[0], padded_[0]);
    ImageU8 image{std::clamp<int64_t>(padded_[0] - first, 0, window_.input[0]), width, padded_[1], {}, {}, {}};
    for (int64_t phase = 0; phase < phases_; ++phase) {
      const int64_t start = std::max<int64_t>((before - phase + 1) / 2, 0);
      const int64_t end = std::min((width + before - phase + 1) / 2, phase_width_);
      image.from[phase] = 2 * start + phase - before;
      image.to[phase] = phase * phase_width_ + start;
      image.count[phase] = phase_used_[phase] != 0 ? end - start : 0;
    }
    SplitColumns(image, in, in + window_.input.num_elements(), out + first * padded_[1]);
  }

  /// Rows are short more often than not: whole words or pairs of them, the last of which may overlap the one before.
  template <class T>
  static void CopyShort(const T* from, int64_t count, T* to) {
    constexpr int64_t kStep = sizeof(T) == 1 ? 8 : 16 / static_cast<int64_t>(sizeof(T)), kLong = 64;
    if (count > kLong) {
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
      return;
    }
    if (count < kStep) {
      for (int64_t i = 0; i < count; ++i) to[i] = from[i];
      return;
    }
    for (int64_t i = 0; i + kStep < count; i += kStep) std::memcpy(to + i, from + i, kStep * sizeof(T));
    std::memcpy(to + count - kStep, from + count - kStep, kStep * sizeof(T));
  }

  /// The rows of one image; null: all of it is padding.
  template <class T>
  void LayOutRows(const T* in, T pad, T* out) const {
    const size_t axis = window_.rank() - 2;
    const int64_t width = window_.input[axis + 1], size = padded_[axis + 1], before = window_.begin[axis];
    const uint8_t* use = row_used_.data() + row_used_.size() - padded_[axis];
    // The padding of many short rows costs more than to fill all of them.
    constexpr int64_t kShort = 32;
    const bool padded = phase_width_ <= kShort;
    if (padded) std::fill_n(out, padded_[axis] * size, pad);
    for (int64_t p = 0; p < padded_[axis]; ++p, out += size) {
      if (use[p] == 0) continue;
      if (in != nullptr && p >= before && p < before + window_.input[axis]) {
        LayOutRow(in + (p - before) * width, pad, padded, out);
      } else if (!padded) {
        std::fill_n(out, size, pad);
      }
    }
  }

  /// `padded`: the padding is there.
  template <class T>
  void LayOutRow(const T* row, T pad, bool padded, T* out) const {
    constexpr int64_t kShort = 16;
    const int64_t stride = window_.strides[window_.rank() - 1];
    for (const Phase& phase : phase_rows_) {
      const auto [first, end, at] = phase.inside;
      T* to = out + phase.to;
      const T* from = row + at;
      const int64_t count = end - first;
      if (!padded) std::fill_n(to, first, pad);
      if (stride == 1) {
        CopyShort(from, count, to + first);
      } else if (stride == 2 && (count <= kShort || !std::is_floating_point_v<T>)) {  // which compilers vectorize
        for (int64_t i = 0; i < count; ++i) to[first + i] = from[2 * i];
      } else if (count <= kShort || !std::is_floating_point_v<T>) {
        for (int64_t i = 0; i < count; ++i) to[first + i] = from[i * stride];
      } else if constexpr (std::is_floating_point_v<T>) {
        CopyStrided<T>(from, stride, count, to + first);
      }
      if (!padded) std::fill_n(to + end, phase_width_ - end, pad);
    }
  }

  void FindKernelOffsets(KernelContext& context) {
    const size_t last = window_.rank() - 1;
    const int64_t stride = in_place_ ? 1 : window_.strides[last];
    kernel_offsets_ = context.scratch<int64_t>(static_cast<size_t>(window_.kernel.num_elements()));
    size_t k = 0;
    PacedCancellationPoint look(10);
    ForEachIndex(window_.kernel.dims(), [&](const Shape& index) {
      look.Pass();
      int64_t offset = 0;
      for (size_t i = 0; i < last; ++i)
        offset = (offset + index[i] * window_.dilations[i]) * (i + 1 == last ? 1 : padded_[i + 1]);
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
    PacedCancellationPoint look(10);
    ForEachIndex(outer, [&](const Shape& index) {
      look.Pass();
      int64_t offset = 0;
      for (size_t i = 0; i < last; ++i)
        offset = (offset + index[i] * window_.strides[i]) * (i + 1 == last ? 1 : padded_[i + 1]);
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
    PacedCancellationPoint look(1);
    int64_t base = 0;
    for (size_t i = 0; i < last; ++i) {
      for (int64_t k = 0; k < window_.kernel[i]; ++k) {
        look.Pass();
        // From the end on: a row that an earlier position reads as well has all before it read by that, too.
        for (int64_t o = window_.output[i] - 1; o >= 0; --o) {
          uint8_t& used = row_used_[base + o * window_.strides[i] + k * window_.dilations[i]];
          if (used != 0) break;
          used = 1;
          look.Pass();
        }
      }
      base += padded_[i];
    }
    phase_used_ = context.scratch<uint8_t>(static_cast<size_t>(phases_));
    std::fill(phase_used_.begin(), phase_used_.end(), uint8_t{0});
    for (int64_t k = 0; k < window_.kernel[last]; ++k) phase_used_[k * window_.dilations[last] % window_.strides[last]] = 1;
    FindPhases(context);
  }

  void FindPhases(KernelContext& context) {
    const size_t last = window_.rank() - 1;
    const int64_t stride = window_.strides[last], before = window_.begin[last];
    phase_rows_ = context.scratch<Phase>(static_cast<size_t>(phases_));
    size_t count = 0;
    for (int64_t phase = 0; phase < phases_; ++phase) {
      if (phase_used_[phase] == 0) continue;
      phase_rows_[count++] = {InsideOfPhase(window_.input[last], before, stride, phase, phase_width_),
                              phase * phase_width_};
    }
    phase_rows_ = phase_rows_.first(count);
    used_phases_ = phase_rows_.empty() ? 0 : phase_rows_.back().to / phase_width_ + 1;
  }

  const Window& window_;
  bool in_place_;
  int64_t phases_;
  int64_t used_phases_ = 0;  // up to the last one
  int64_t phase_width_;
  Shape padded_;
  int64_t channel_size_ = 0;
  std::span<int64_t> kernel_offsets_;
  std::span<int64_t> row_offsets_;
  std::span<uint8_t> row_used_;
  std::span<uint8_t> phase_used_;
  std::span<Phase> phase_rows_;  // that are used
};

}  // namespace tessera::cpu
