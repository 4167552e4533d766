#pragma once

// How poolings go through planes: as a whole, many small ones together, or row by row.

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/ops/nn/pool_rows.h"
#include "kernels/pool/pool.h"
#include "kernels/pool/tiny_planes.h"
#include "ops/nn/pool.h"
#include "tessera/provider/function_ref.h"

namespace tessera::cpu {

/// Axes before the last two along which windows are single elements that move by one count as planes.
inline void FoldIntoPlanes(Window& window, int64_t& planes) {
  size_t folded = 0;
  while (window.rank() - folded > 2 && window.kernel[folded] == 1 && window.strides[folded] == 1 &&
         window.output[folded] == window.input[folded] && window.begin[folded] == 0)
    planes = CheckedMul(planes, window.input[folded++]);
  for (Shape* sizes :
       {&window.input, &window.output, &window.kernel, &window.strides, &window.dilations, &window.begin, &window.end})
    *sizes = Shape(sizes->dims().subspan(folded));
}

/// Pools `planes` planes. With kDivide, `counted(axis, o)` gives the elements that output index `o` counts along an
/// axis.
template <class T>
class PoolPlanes {
 public:
  using Counted = FunctionRef<int64_t(size_t axis, int64_t o)>;

  PoolPlanes(KernelContext& context, const Window& window, int64_t planes, PoolKind kind, PoolFinish finish,
             Counted counted)
      : context_(context), window_(window), outer_(window.rank() - 1) {
    int64_t positions = 0;
    for (size_t i = 0; i < outer_; ++i) {
      positions += window.output[i];
      output_rows_ = CheckedMul(output_rows_, window.output[i]);
      most_rows_ = CheckedMul(most_rows_, std::min(window.kernel[i], window.input[i]));
    }
    most_rows_ = std::max<int64_t>(most_rows_, 1);
    items_ = CheckedMul(planes, output_rows_);
    FindPositions(positions, finish, counted);
    const int64_t output = window.output[outer_];
    T* counts = nullptr;
    if (finish == PoolFinish::kDivide) {
      counts = context.scratch<T>(static_cast<size_t>(PoolCountsSize(output))).data();
      std::fill_n(counts, PoolCountsSize(output), T{1});
      InCancellablePieces(0, output, 5, [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) counts[o] = static_cast<T>(counted(outer_, o));
      });
    }
    along_ = {kind,
              finish,
              window.input[outer_],
              output,
              window.kernel[outer_],
              window.strides[outer_],
              window.dilations[outer_],
              window.begin[outer_],
              counts};
  }

  void Run(const T* in, T* out) {
    if (items_ == 0) return;
    if constexpr (std::is_floating_point_v<T>) {
      if (TakesWholePlanes()) return RunWholePlanes(in, out);
    }
    if constexpr (std::is_same_v<T, float>) {
      if (TakesTinyPlanes()) return RunTinyPlanes(in, out);
    }
    if (outer_ == 1 && TakesSmallPlanes()) return RunSmallPlanes(in, out);
    if constexpr (std::is_same_v<T, float>) {
      if (TakesSlices()) return RunSlices(in, out);
    }
    const int threads = context_.threads().num_threads();
    const int64_t parts = threads == 1 ? 1 : std::clamp<int64_t>(items_ / 4, 1, 8 * threads);
    const int64_t buffer_size = CheckedMul(kPoolBufferRows, RoundUp(PoolBufferRow(along_), int64_t{64}));
    const auto buffers = context_.scratch<T>(static_cast<size_t>(CheckedMul(buffer_size, parts)));
    const int64_t pointers_size = CheckedMul(kBatch + 1, most_rows_);  // of a batch, and its rows
    const auto pointers = context_.scratch<const T*>(static_cast<size_t>(CheckedMul(pointers_size, parts)));
    const double loads = static_cast<double>(along_.width * most_rows_ + along_.output * TapsAlong());
    const double cost =
        (15 + loads * static_cast<double>(sizeof(T)) * 0.02) * static_cast<double>(items_) / static_cast<double>(parts);
    context_.threads().ParallelFor(parts, cost, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const auto bound = [&](int64_t p) { return items_ / parts * p + std::min(p, items_ % parts); };
        RunPart(bound(part), bound(part + 1), in, pointers.data() + part * pointers_size,
                buffers.data() + part * buffer_size, out);
      }
    });
  }

 private:
  static constexpr int64_t kBatch = 64;  // rows

  /// An output index along an axis: where the input under its window begins, how many positions are there, how many
  /// count.
  struct Position {
    int64_t first;  // in elements
    int64_t inside;
    int64_t counted;
  };

  /// Of a window along the rows, inside of them.
  int64_t TapsAlong() const { return std::min(along_.kernel, CeilDiv(along_.width, along_.dilation)); }

  /// One window that covers all of each plane.
  bool TakesWholePlanes() const {
    for (size_t i = 0; i <= outer_; ++i) {
      if (window_.output[i] != 1 || window_.dilations[i] != 1) return false;
      const KernelRange range = InsideInput(window_, i, 0);
      if (range.first != window_.begin[i] || range.last - range.first != window_.input[i]) return false;
    }
    return true;
  }

  void RunWholePlanes(const T* in, T* out) const {
    const int64_t size = window_.input.num_elements();
    T divisor = along_.finish == PoolFinish::kDivide ? along_.counts[0] : T{1};
    for (size_t i = 0; i < outer_; ++i) divisor *= static_cast<T>(positions_[i].counted);
    divisor = std::max(divisor, T{1});
    context_.threads().ParallelFor(items_, 10 + 0.15 * static_cast<double>(size), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T value = ReducePoolRow<T>(along_.kind, in + i * size, size);
        out[i] = along_.finish == PoolFinish::kSquareRoot ? std::sqrt(value) : value / divisor;
      }
    });
  }

  /// Few windows with few taps, and planes enough for the lanes of vectors.
  bool TakesTinyPlanes() const {
    constexpr int64_t kFewTaps = 64, kMostTaps = 200, kPlanesPerTap = 4;
    const int64_t planes = items_ / output_rows_;
    if (planes < kFewestTinyPlanes || window_.input.num_elements() > kMostOfTinyPlane ||
        window_.output.num_elements() > kMostOfTinyPlane)
      return false;
    const int64_t taps = TapsInside();
    if (taps <= kFewTaps) return true;
    // Many taps need more planes, for which they are listed once. And where all windows are whole and move by one, passes
    // along rows share what overlaps.
    const bool dense = taps == window_.output.num_elements() * window_.kernel.num_elements() &&
                       std::ranges::all_of(window_.strides, [](int64_t stride) { return stride == 1; });
    return taps <= kMostTaps && planes >= kPlanesPerTap * taps && !(dense && window_.kernel.num_elements() > 3);
  }

  /// Of all windows of a plane.
  int64_t TapsInside() const {
    int64_t taps = 1;
    for (size_t i = 0; i <= outer_; ++i) {
      int64_t along = 0;
      for (int64_t o = 0; o < window_.output[i]; ++o) {
        const KernelRange range = InsideInput(window_, i, o);
        along += range.last - range.first;
      }
      taps *= along;
    }
    return taps;
  }

  void RunTinyPlanes(const T* in, T* out) const {
    const int64_t size = window_.input.num_elements(), outputs = window_.output.num_elements();
    const auto taps = context_.scratch<int32_t>(static_cast<size_t>(TapsInside()));
    const auto ends = context_.scratch<int32_t>(static_cast<size_t>(outputs));
    const auto counts = context_.scratch<T>(static_cast<size_t>(outputs));
    int32_t count = 0;
    Shape at(window_.rank());
    for (size_t o = 0; o < static_cast<size_t>(outputs); ++o) {
      count = AddTaps(at, 0, 0, taps, count);
      ends[o] = count;
      counts[o] = CountedAt(at);
      for (size_t i = at.rank(); i-- > 0 && ++at[i] == window_.output[i];) at[i] = 0;
    }
    const TinyPlanes tiny{along_.kind, along_.finish, size, taps, ends, counts.data()};
    const double cost = 2 + 0.5 * static_cast<double>(count);
    context_.threads().ParallelFor(items_ / output_rows_, cost, [&](int64_t begin, int64_t end) {
      PoolTinyPlanes(tiny, end - begin, in + begin * size, out + begin * outputs);
    });
  }

  /// The indices in the plane under the window of an output, from axis `i` on; `index`: of what the axes before give.
  int32_t AddTaps(const Shape& output, size_t i, int64_t index, std::span<int32_t> taps, int32_t count) const {
    if (i > outer_) {
      taps[static_cast<size_t>(count)] = static_cast<int32_t>(index);
      return count + 1;
    }
    const KernelRange range = InsideInput(window_, i, output[i]);
    for (int64_t k = range.first; k < range.last; ++k) {
      const int64_t along = output[i] * window_.strides[i] - window_.begin[i] + k * window_.dilations[i];
      count = AddTaps(output, i + 1, index * window_.input[i] + along, taps, count);
    }
    return count;
  }

  /// What an output's sum is divided by.
  T CountedAt(const Shape& output) const {
    if (along_.finish != PoolFinish::kDivide) return T{1};
    T counted = along_.counts[output[outer_]];
    const Position* positions = positions_.data();
    for (size_t i = 0; i < outer_; ++i) {
      counted *= static_cast<T>(positions[output[i]].counted);
      positions += window_.output[i];
    }
    return std::max(counted, T{1});
  }

  /// Along the last two axes: rows too short for two passes along them, and planes enough for every thread.
  bool TakesSmallPlanes() const {
    constexpr int64_t kPlanesPerThread = 4;
    if (outer_ == 0 || window_.input.num_elements() == 0) return false;
    const int threads = context_.threads().num_threads();
    if (threads > 1 && items_ / window_.output[outer_ - 1] < kPlanesPerThread * threads) return false;
    const int64_t stride = window_.strides[outer_], rows = window_.kernel[outer_ - 1], columns = window_.kernel[outer_];
    // What PoolSmallPlanes has code for: by a stride of 3 move windows of three adjacent columns only.
    constexpr int64_t kMostStride = 3;
    if (stride > kMostStride) return false;
    if (stride == kMostStride && (columns != kMostStride || window_.dilations[outer_] != 1)) return false;
    // Most windows load all of their taps, where two passes along rows share those that windows have in common: that pays
    // in long rows, with wide windows sooner.
    constexpr int64_t kMostRows = 5, kMostColumns = 5, kFewColumns = 3, kMostOutput = 40, kMostOutputOfWide = 28;
    const bool wide = columns > kFewColumns;
    if (rows > kMostRows || columns > kMostColumns || (wide && stride > 1)) return false;
    if (along_.output > (wide ? kMostOutputOfWide : kMostOutput)) return false;
    // Padded copies of planes stay in a cache: 64 KiB of floats at most, little of it padding.
    constexpr int64_t kMostPadded = 128, kMostPadding = 8;
    return PaddedSize(outer_ - 1) <= kMostPadded && PaddedSize(outer_) <= kMostPadded &&
           window_.begin[outer_ - 1] <= kMostPadding && window_.begin[outer_] <= kMostPadding;
  }
  int64_t PaddedSize(size_t axis) const {
    return (window_.output[axis] - 1) * window_.strides[axis] + window_.extent(axis);
  }

  /// The last two axes.
  SmallPlanes<T> SmallPlanesOfWindow() const {
    SmallPlanes<T> small{along_.kind, along_.finish, {}, {}, {}, {}, {}, {}, {}, nullptr};
    for (size_t i = 0; i < 2; ++i) {
      const size_t axis = outer_ - 1 + i;
      small.input[i] = window_.input[axis];
      small.output[i] = window_.output[axis];
      small.kernel[i] = window_.kernel[axis];
      small.strides[i] = window_.strides[axis];
      small.dilations[i] = window_.dilations[axis];
      small.pads[i] = window_.begin[axis];
      small.padded[i] = PaddedSize(axis);
    }
    // Where only the end of the input is not read, rows of the input's length spare the copy.
    if (small.pads[1] == 0 && small.padded[1] < small.input[1]) small.padded[1] = small.input[1];
    return small;
  }

  static int64_t BufferSize(const SmallPlanes<T>& small) {
    return RoundUp(small.padded[0] * small.padded[1] + kPoolSlack, int64_t{64});
  }

  void RunSmallPlanes(const T* in, T* out) {
    SmallPlanes<T> small = SmallPlanesOfWindow();
    if (along_.finish == PoolFinish::kDivide) {
      const auto scales = context_.scratch<T>(static_cast<size_t>(output_rows_ * along_.output + kPoolSlack));
      std::fill(scales.begin(), scales.end(), T{1});
      for (int64_t r = 0; r < output_rows_; ++r) {
        const T counted = static_cast<T>(positions_[static_cast<size_t>(r)].counted);
        for (int64_t o = 0; o < along_.output; ++o) {
          scales[r * along_.output + o] =
              static_cast<T>(T{1} / std::max<T>(static_cast<T>(along_.counts[o] * counted), T{1}));
        }
      }
      small.scales = scales.data();
    }
    const int64_t planes = items_ / output_rows_, in_size = window_.input.num_elements(),
                  out_size = output_rows_ * along_.output;
    const int threads = context_.threads().num_threads();
    const int64_t parts = threads == 1 ? 1 : std::min<int64_t>(planes, 8 * threads);
    const int64_t size = BufferSize(small);
    const auto buffers = context_.scratch<T>(static_cast<size_t>(size * parts));
    const double cost = 20 + static_cast<double>(in_size + out_size * window_.kernel.num_elements()) *
                                 static_cast<double>(sizeof(T)) * 0.02;
    context_.threads().ParallelFor(
        parts, cost * static_cast<double>(planes) / static_cast<double>(parts), [&](int64_t begin, int64_t end) {
          for (int64_t part = begin; part < end; ++part) {
            const int64_t first = planes * part / parts, count = planes * (part + 1) / parts - first;
            InCancellablePieces(first, first + count, cost, [&](int64_t from, int64_t to) {
              PoolSmallPlanes<T>(small, to - from, in + from * in_size, buffers.data() + part * size,
                                 out + from * out_size);
            });
          }
        });
  }

  /// Windows that have several of them.
  bool TakesSlices() const {
    if (outer_ < 2 || along_.kind != PoolKind::kMax) return false;
    const int64_t slices = window_.kernel.SizeOfRange(0, outer_ - 1);
    return slices > 1 && TakesSmallPlanes();
  }

  /// A maximum over the last two axes of maxima of slices along the others, so many that they stay in L1.
  void RunSlices(const T* in, T* out) {
    const SmallPlanes<T> small = SmallPlanesOfWindow();
    const int64_t slice = small.input[0] * small.input[1], result = small.output[0] * small.output[1];
    const int64_t slices = items_ / small.output[0], together = std::max<int64_t>(kSliceElements / slice, 1);
    const int threads = context_.threads().num_threads();
    const int64_t parts = threads == 1 ? 1 : std::min<int64_t>(slices, 8 * threads);
    const int64_t padded = BufferSize(small);
    const int64_t size = CheckedMul(padded + together * slice, parts);
    const auto buffers = context_.scratch<T>(static_cast<size_t>(size));
    const auto pointers = context_.scratch<const T*>(static_cast<size_t>(CheckedMul(most_rows_, parts)));
    const double cost = 20 + static_cast<double>(slice * most_rows_ + result * small.kernel[0] * small.kernel[1]) * 0.08;
    context_.threads().ParallelFor(
        parts, cost * static_cast<double>(slices) / static_cast<double>(parts), [&](int64_t begin, int64_t end) {
          for (int64_t part = begin; part < end; ++part) {
            T* const buffer = buffers.data() + part * (padded + together * slice);
            T* const maxima = buffer + padded;
            const int64_t last = slices * (part + 1) / parts;
            for (int64_t first = slices * part / parts; first < last; first += together) {
              CancellationPoint();
              const int64_t count = std::min(together, last - first);
              MaximaOfSlices(first, count, slice, in, pointers.data() + part * most_rows_, maxima);
              PoolSmallPlanes<T>(small, count, maxima, buffer, out + first * result);
            }
          }
        });
  }
  static constexpr int64_t kSliceElements = 4096;

  /// `first`: of all planes' output positions along the axes before the last two.
  void MaximaOfSlices(int64_t first, int64_t count, int64_t slice, const T* in, const T** pointers, T* to) const {
    const int64_t of_plane = output_rows_ / window_.output[outer_ - 1], plane_size = window_.input.num_elements();
    Shape index(outer_);
    for (int64_t s = first; s < first + count; ++s, to += slice) {
      int64_t rest = s % of_plane;
      for (size_t i = outer_ - 1; i-- > 0;) {
        index[i] = rest % window_.output[i];
        rest /= window_.output[i];
      }
      const PlaneRows found = RowsAt(index.data(), in + s / of_plane * plane_size, pointers);
      MaxOfSlices(found.firsts.data(), static_cast<int64_t>(found.firsts.size()), slice, to);
    }
  }

  void FindPositions(int64_t total, PoolFinish finish, Counted counted) {
    positions_ = context_.scratch<Position>(static_cast<size_t>(total));
    Position* position = positions_.data();
    steps_ = Shape(outer_);
    for (size_t i = 0; i < outer_; ++i) {
      const int64_t stride = window_.input.SizeOfRange(i + 1, outer_ + 1);
      steps_[i] = window_.dilations[i] * stride;
      PacedCancellationPoint look(10);
      for (int64_t o = 0; o < window_.output[i]; ++o) {
        look.Pass();
        const KernelRange range = InsideInput(window_, i, o);
        const int64_t first = o * window_.strides[i] - window_.begin[i] + range.first * window_.dilations[i];
        *position++ = {first * stride, range.last - range.first, finish == PoolFinish::kDivide ? counted(i, o) : 1};
      }
    }
  }

  void RunPart(int64_t begin, int64_t end, const T* in, const T** pointers, T* buffer, T* out) const {
    const int64_t plane_size = window_.input.num_elements();
    const size_t last = std::max<size_t>(outer_, 1) - 1;  // one position along it where sequences are pooled
    Shape index(last + 1);
    int64_t rest = begin % output_rows_;
    for (size_t i = outer_; i-- > 0;) {
      index[i] = rest % window_.output[i];
      rest /= window_.output[i];
    }
    const T* plane = in + begin / output_rows_ * plane_size;
    PoolRow<T> rows[kBatch];
    const T** const firsts = pointers + kBatch * most_rows_;
    PlaneRows plane_rows = RowsAt(index.data(), plane, firsts);
    PacedCancellationPoint look(0.1);
    const int64_t work = along_.output * TapsAlong() + along_.width * most_rows_ + 200;
    for (int64_t item = begin; item < end;) {
      const int64_t batch = std::min(kBatch, end - item);
      look.Pass(batch * work);
      for (int64_t i = 0; i < batch; ++i) {
        rows[i] = RowAt(plane_rows, index[last], pointers + i * most_rows_);
        size_t axis = outer_;
        while (axis > 0 && ++index[axis - 1] == window_.output[axis - 1]) index[--axis] = 0;
        if (axis == 0) plane += plane_size;
        if (axis <= last) plane_rows = RowsAt(index.data(), plane, firsts);
      }
      ComputePoolRows<T>(along_, rows, batch, buffer, out + item * along_.output);
      item += batch;
    }
  }

  /// What the windows at one position of all axes but the last two have in common: the input's first row for each of their
  /// positions along those axes.
  struct PlaneRows {
    std::span<const T* const> firsts;
    int64_t counted;
    const Position* positions;  // along the last axis but one
    int64_t step;               // elements between a window's positions along it
  };

  PlaneRows RowsAt(const int64_t* index, const T* plane, const T** firsts) const {
    static constexpr Position kWhole = {0, 1, 1};
    firsts[0] = plane;
    int64_t count = 1, counted = 1;
    const Position* positions = outer_ == 0 ? &kWhole : positions_.data();
    // Each axis turns every row so far into one per kernel position inside the input, last ones first so that it works in
    // place.
    for (size_t i = 0; i + 1 < outer_; ++i) {
      const Position& position = positions[index[i]];
      positions += window_.output[i];
      for (int64_t r = count; r-- > 0;) {
        const T* row = firsts[r] + position.first;
        for (int64_t k = position.inside; k-- > 0;) firsts[r * position.inside + k] = row + k * steps_[i];
      }
      count *= position.inside;
      counted *= position.counted;
    }
    return {{firsts, static_cast<size_t>(count)}, counted, positions, outer_ == 0 ? 0 : steps_[outer_ - 1]};
  }

  PoolRow<T> RowAt(const PlaneRows& plane_rows, int64_t index, const T** rows) const {
    const Position& position = plane_rows.positions[index];
    int64_t count = 0;
    for (const T* first : plane_rows.firsts) {
      const T* row = first + position.first;
      for (int64_t k = 0; k < position.inside; ++k, row += plane_rows.step) rows[count++] = row;
    }
    return {rows, count, static_cast<T>(plane_rows.counted * position.counted)};
  }

  KernelContext& context_;
  const Window& window_;
  size_t outer_;
  int64_t output_rows_ = 1;
  int64_t most_rows_ = 1;
  int64_t items_ = 0;
  PoolAlong<T> along_;
  std::span<Position> positions_;  // axis after axis
  Shape steps_;                    // elements between a window's positions along an axis
};

inline constexpr auto kNothingCounted = [](size_t, int64_t) -> int64_t { return 1; };

}  // namespace tessera::cpu
