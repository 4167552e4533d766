#include "cpu/engine/arg_extreme.h"

#include <limits>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/engine/convert_row.h"
#include "cpu/engine/found_position.h"
#include "cpu/engine/slots.h"
#include "kernels/reduce/arg_extreme.h"
#include "kernels/transpose/transpose.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kConvertAtOnce = 1024;
/// Elements between cancellation points.
constexpr int64_t kLong = int64_t{4} << 20;
/// Elements of a row up to which it counts as short, and rows from which on they go side by side.
constexpr int64_t kShortRow = 24, kLeastRowsAbreast = 16;

/// Whether position b wins over a, given a < b.
template <class C>
bool Wins(C a, C b, bool minimum, bool last) {
  if (a != a || b != b) return b != b && (last || a == a);
  if (a == b) return last;
  return minimum ? b < a : b > a;
}

template <class C>
void Columns(const ArgKernels<C>& kernels, const C* x, int64_t count, int64_t stride, int64_t columns, bool minimum,
             bool last, int64_t* index) {
  const int64_t most = std::max<int64_t>(kLong / columns, 1), first = std::min(most, count);
  kernels.columns(x, first, stride, columns, last, index);
  for (int64_t j = 0; j < columns; ++j) FoundPosition(index[j], first);
  for (int64_t begin = most; begin < count; begin += most) {
    CancellationPoint();
    const int64_t rows = std::min(most, count - begin);
    int64_t next[kArgColumns];
    kernels.columns(x + begin * stride, rows, stride, columns, last, next);
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t at = begin + FoundPosition(next[j], rows);
      if (Wins(x[index[j] * stride + j], x[at * stride + j], minimum, last)) index[j] = at;
    }
  }
}

/// The extreme of one contiguous row.
template <class T>
int64_t Row(const ArgKernels<ComputeType<T>>& kernels, const T* x, int64_t count, bool minimum, bool last) {
  using C = ComputeType<T>;
  if constexpr (std::is_same_v<T, C>) {
    int64_t best = FoundPosition(kernels.row(x, std::min(count, kLong), last), std::min(count, kLong));
    for (int64_t begin = kLong; begin < count; begin += kLong) {
      CancellationPoint();
      const int64_t n = std::min(kLong, count - begin), at = begin + FoundPosition(kernels.row(x + begin, n, last), n);
      if (Wins(x[best], x[at], minimum, last)) best = at;
    }
    return best;
  } else {
    alignas(64) C buffer[kConvertAtOnce];
    int64_t best = 0;
    C value = {};
    PacedCancellationPoint look(0.5);
    for (int64_t begin = 0; begin < count; begin += kConvertAtOnce) {
      const int64_t n = std::min(kConvertAtOnce, count - begin);
      look.Pass(n);
      LoadRow(x + begin, buffer, n);
      const int64_t at = FoundPosition(kernels.row(buffer, n, last), n);
      if (begin == 0 || Wins(value, buffer[at], minimum, last)) {
        best = begin + at;
        value = buffer[at];
      }
    }
    return best;
  }
}

/// Rows that would leave most lanes empty go side by side, transposed.
template <class T>
void ShortRows(const ArgKernels<T>& kernels, const T* x, int64_t rows, int64_t count, bool minimum, bool last,
               int64_t* index) {
  constexpr int64_t kRows = 64, kSize = sizeof(T);
  static const TransposeTile transpose = TransposeTileOf(kSize);
  alignas(64) T columns[kShortRow * kRows];
  for (int64_t i = 0; i < rows; i += kRows) {
    const int64_t n = std::min(kRows, rows - i);
    transpose(reinterpret_cast<const std::byte*>(x + i * count), count * kSize, reinterpret_cast<std::byte*>(columns),
              kRows * kSize, n, count);
    Columns(kernels, columns, count, kRows, n, minimum, last, index + i);
  }
}

/// What ArgExtreme was asked for.
template <class T>
struct Search {
  using C = ComputeType<T>;
  const ArgKernels<C>& kernels;
  const AxisView& view;
  const T* x;
  bool minimum, last;
  int64_t* index;

  /// Of one element, on one thread.
  static constexpr double kElementNs = std::is_same_v<T, C> ? 0.05 * sizeof(T) : 0.4;
  double row_ns() const { return kElementNs * static_cast<double>(view.count) + 10; }
};

template <class T>
void WholeRows(ThreadPool& threads, const Search<T>& of) {
  const int64_t count = of.view.count;
  threads.ParallelFor(of.view.outer, of.row_ns(), [&](int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<T, ComputeType<T>>) {
      if (count <= kShortRow && end - begin >= kLeastRowsAbreast) {
        return ShortRows(of.kernels, of.x + begin * count, end - begin, count, of.minimum, of.last, of.index + begin);
      }
    }
    for (int64_t o = begin; o < end; ++o) of.index[o] = Row(of.kernels, of.x + o * count, count, of.minimum, of.last);
  });
}

/// Parts of few long rows side by side, then the extreme of each row's.
template <class T>
void RowsInParts(KernelContext& context, const Search<T>& of, int64_t parts) {
  using C = ComputeType<T>;
  const int64_t outer = of.view.outer, count = of.view.count;
  const auto partial = context.scratch<int64_t>(static_cast<size_t>(outer * parts));
  context.threads().ParallelFor(outer * parts, of.row_ns() / static_cast<double>(parts), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = count * (i % parts) / parts, past = count * (i % parts + 1) / parts;
      partial[static_cast<size_t>(i)] =
          first + Row(of.kernels, of.x + i / parts * count + first, past - first, of.minimum, of.last);
    }
  });
  for (int64_t o = 0; o < outer; ++o) {
    const T* row = of.x + o * count;
    int64_t best = partial[static_cast<size_t>(o * parts)];
    for (int64_t p = 1; p < parts; ++p) {
      const int64_t at = partial[static_cast<size_t>(o * parts + p)];
      if (Wins(static_cast<C>(row[best]), static_cast<C>(row[at]), of.minimum, of.last)) best = at;
    }
    of.index[o] = best;
  }
}

/// Along an axis that is not the last: some columns at a time.
template <class T>
void AcrossColumns(KernelContext& context, const Search<T>& of) {
  using C = ComputeType<T>;
  const int64_t count = of.view.count, inner = of.view.inner;
  Require(count <= std::numeric_limits<int32_t>::max(), "an axis of {} elements is too long", count);
  const int64_t blocks = CeilDiv(inner, kArgColumns);
  const double unit_ns = 3 * of.kElementNs * static_cast<double>(count * std::min(inner, kArgColumns)) + 20;
  const int64_t units = of.view.outer * blocks;
  const int64_t slots = SlotCount(context.threads(), units, unit_ns);
  const int64_t panel_size = std::is_same_v<T, C> ? 0 : count * std::min(inner, kArgColumns);
  const auto panels = context.scratch<C>(static_cast<size_t>(CheckedMul(panel_size, slots)));
  ParallelSlots(context.threads(), slots, units, unit_ns, [&](int64_t slot, int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t column = unit % blocks * kArgColumns, columns = std::min(kArgColumns, inner - column);
      const T* in = of.x + unit / blocks * count * inner + column;
      int64_t* out = of.index + unit / blocks * inner + column;
      if constexpr (std::is_same_v<T, C>) {
        (void)slot;
        Columns(of.kernels, in, count, inner, columns, of.minimum, of.last, out);
      } else {
        C* panel = panels.data() + slot * panel_size;
        for (int64_t i = 0; i < count; ++i) LoadRow(in + i * inner, panel + i * columns, columns);
        Columns(of.kernels, panel, count, columns, columns, of.minimum, of.last, out);
      }
    }
  });
}

}  // namespace

template <class T>
void ArgExtreme(KernelContext& context, const AxisView& view, const T* x, bool minimum, bool last, int64_t* index) {
  const Search<T> of{ArgKernelsOf<ComputeType<T>>(minimum), view, x, minimum, last, index};
  if (view.inner != 1) return AcrossColumns(context, of);
  ThreadPool& threads = context.threads();
  const int64_t parts = view.outer >= threads.num_threads()
                            ? 1
                            : SlotCount(threads, CeilDiv(view.count, kConvertAtOnce), of.kElementNs * kConvertAtOnce);
  parts == 1 ? WholeRows(threads, of) : RowsInParts(context, of, parts);
}

#define TESSERA_ARG(T) template void ArgExtreme<T>(KernelContext&, const AxisView&, const T*, bool, bool, int64_t*)
TESSERA_ARG(float);
TESSERA_ARG(double);
TESSERA_ARG(Float16);
TESSERA_ARG(BFloat16);
TESSERA_ARG(int8_t);
TESSERA_ARG(uint8_t);
TESSERA_ARG(int16_t);
TESSERA_ARG(uint16_t);
TESSERA_ARG(int32_t);
TESSERA_ARG(uint32_t);
TESSERA_ARG(int64_t);
TESSERA_ARG(uint64_t);
#undef TESSERA_ARG

}  // namespace tessera::cpu
