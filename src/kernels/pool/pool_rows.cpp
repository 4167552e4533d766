// Rows of a pooling's output.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pool/pool_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/cancellation.h"
#include "base/rounding.h"
#include "kernels/pool/pool-inl.h"
#include "kernels/pool/pool.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

/// N rows (0: as many as given) combined into one; D narrows until a vector fits.
template <PoolKind kKind, int N, class D, class T = hn::TFromD<D>>
HWY_INLINE void CombineRows(D d, const T* const* rows, int64_t row_count, int64_t first, int64_t width, T* to) {
  using Op = PoolOp<T, kKind>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if constexpr (hn::MaxLanes(d) > 1) {
    if (width < lanes) {
      CombineRows<kKind, 0>(hn::Half<D>(), rows, row_count, first, width, to);
      return;
    }
  }
  const int64_t count = N == 0 ? row_count : N;
  const auto combined = [&](int64_t x) HWY_ATTR {
    auto v = Op::Load(hn::LoadU(d, rows[0] + first + x));
    for (int64_t r = 1; r < count; ++r) v = Op::Combine(v, Op::Load(hn::LoadU(d, rows[r] + first + x)));
    return v;
  };
  int64_t x = 0;
  for (; x + lanes <= width; x += lanes) hn::StoreU(combined(x), d, to + x);
  if (x < width) hn::StoreU(combined(width - lanes), d, to + width - lanes);
}

template <class T, PoolKind kKind>
void CombineRows(const PoolRow<T>& row, int64_t first, int64_t width, T* to) {
  const hn::ScalableTag<T> d;
  switch (row.row_count) {
    case 0: std::fill_n(to, width, PoolOp<T, kKind>::Identity()); return;
    case 2: {
      const T* const rows[] = {row.rows[0], row.rows[1]};
      return CombineRows<kKind, 2>(d, rows, 2, first, width, to);
    }
    case 3: {
      const T* const rows[] = {row.rows[0], row.rows[1], row.rows[2]};
      return CombineRows<kKind, 3>(d, rows, 3, first, width, to);
    }
    default: return CombineRows<kKind, 0>(d, row.rows, row.row_count, first, width, to);
  }
}

template <class T>
HWY_INLINE T FinishOne(PoolFinish finish, const Piece<T>& piece, int64_t o, T v) {
  if constexpr (std::is_floating_point_v<T>) {
    if (finish == PoolFinish::kDivide) return v * piece.scales[o];
    if (finish == PoolFinish::kSquareRoot) return std::sqrt(v);
  }
  return v;
}

/// K: the kernel's width, 0: any. kKind: kMax, or kSum for every kind that adds.
template <class T, PoolKind kKind, int K>
void CombineColumns(const PoolAlong<T>& along, const Piece<T>& piece) {
  using Op = PoolOp<T, kKind>;
  constexpr bool kFinished = kKind != PoolKind::kMax;
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t kernel = K == 0 ? along.kernel : K;
  const int64_t dilation = along.dilation;
  const T* const all = piece.from;
  const auto window = [=](const T* from) HWY_ATTR {
    auto v = hn::LoadU(d, from);
    for (int64_t k = 1; k < kernel; ++k) v = Op::Combine(v, hn::LoadU(d, from + k * dilation));
    return v;
  };
  if (along.stride == 1) {
    ForEachVector<kFinished, kFinished>(d, along.finish, piece, [=](int64_t o) HWY_ATTR { return window(all + o); });
    return;
  }
  if (along.stride == 2) {
    ForEachVector<kFinished, kFinished>(d, along.finish, piece, [=](int64_t o) HWY_ATTR {
      return hn::ConcatEven(d, window(all + 2 * o + lanes), window(all + 2 * o));
    });
    return;
  }
  if constexpr (K != 2) {
    if (along.stride == 3 && dilation == 1 && kernel >= 3) {
      ForEachVector<kFinished, kFinished>(d, along.finish, piece, [=](int64_t o) HWY_ATTR {
        hn::Vec<decltype(d)> v, a, b, c;
        hn::LoadInterleaved3(d, all + 3 * o, a, b, c);
        v = Op::Combine(Op::Combine(a, b), c);
        for (int64_t k = 3; k < kernel; k += 3) {
          hn::LoadInterleaved3(d, all + 3 * o + k, a, b, c);
          v = Op::Combine(v, a);
          if (k + 1 < kernel) v = Op::Combine(v, b);
          if (k + 2 < kernel) v = Op::Combine(v, c);
        }
        return v;
      });
      return;
    }
  }
  for (int64_t o = 0; o < piece.output; ++o) {
    const T* from = all + o * along.stride;
    T v = from[0];
    for (int64_t k = 1; k < kernel; ++k) v = Op::CombineOne(v, from[k * dilation]);
    piece.out[o] = FinishOne(along.finish, piece, o, v);
  }
}

/// Windows of two adjacent elements without padding: both passes in registers. D narrows until a vector fits.
template <PoolKind kKind, int N, class D, class T>
HWY_INLINE void CombinePairs(D d, const PoolAlong<T>& along, const PoolRow<T>& row, int64_t first, const Piece<T>& piece) {
  using Op = PoolOp<T, kKind>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if constexpr (sizeof(T) * hn::MaxLanes(d) > 16) {
    if (piece.output < lanes) {
      CombinePairs<kKind, N>(hn::Half<D>(), along, row, first, piece);
      return;
    }
  }
  const T* const* const rows = row.rows;
  const T* const top = rows[0] + first;
  const T* const bottom = rows[N == 2 ? 1 : 0] + first;
  const int64_t count = row.row_count;
  const auto combined = [=](int64_t x) HWY_ATTR {
    auto v = Op::Load(hn::LoadU(d, top + x));
    if constexpr (N == 2) {
      v = Op::Combine(v, Op::Load(hn::LoadU(d, bottom + x)));
    } else {
      for (int64_t r = 1; r < count; ++r) v = Op::Combine(v, Op::Load(hn::LoadU(d, rows[r] + first + x)));
    }
    return v;
  };
  ForEachVector<kKind == PoolKind::kSum, kKind == PoolKind::kSumOfSquares>(d, along.finish, piece, [=](int64_t o) HWY_ATTR {
    const auto low = combined(2 * o), high = combined(2 * o + lanes);
    return Op::Combine(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low));
  });
}

/// Outputs of all rows that are computed together, and the input columns under them: padding, the row's, padding.
template <class T>
struct Block {
  Block(const PoolAlong<T>& along, int64_t begin, int64_t output)
      : begin(begin), output(output), span((output - 1) * along.stride + (along.kernel - 1) * along.dilation + 1) {
    const int64_t start = begin * along.stride - along.pad;
    left = std::clamp<int64_t>(-start, 0, span);
    first = start + left;
    width = std::clamp<int64_t>(along.width - first, 0, span - left);
  }

  int64_t begin, output;
  int64_t span, left;    // columns, and those of padding before the row's
  int64_t first, width;  // of the row's
};

/// Where a block's results of each row go, and what they are divided by.
template <class T>
class BlockResults {
 public:
  /// `scales`: two rows of scratch, `scales_row` apart.
  BlockResults(const PoolAlong<T>& along, const Block<T>& block, T* scales, int64_t scales_row, T* out, const T* out_end)
      : along_(along), block_(block), scales_(scales), scales_row_(scales_row), out_(out), out_end_(out_end) {}

  T* OfRow(int64_t r) const { return out_ + r * along_.output + block_.begin; }

  Piece<T> PieceOf(const PoolRow<T>& row, int64_t r) {
    T* to = OfRow(r);
    const bool whole = block_.output == along_.output;  // what runs into the next row is overwritten when that is computed
    return Piece<T>{nullptr, to, whole ? out_end_ : to + block_.output, block_.output, ScalesFor(row.count)};
  }

 private:
  const T* ScalesFor(T rows_counted) {
    if (along_.finish != PoolFinish::kDivide) return nullptr;
    int slot = 0;
    while (slot < known_ && counted_[slot] != rows_counted) ++slot;
    T* const into = scales_ + std::min(slot, 1) * scales_row_;
    if constexpr (std::is_floating_point_v<T>) {
      if (slot == known_) {
        known_ = std::min(slot + 1, 2);
        counted_[std::min(slot, 1)] = rows_counted;
        const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
        const T* const counts = along_.counts + block_.begin;
        for (int64_t x = 0; x < block_.output + lanes; ++x) into[x] = T{1} / std::max(counts[x] * rows_counted, T{1});
      }
    }
    return into;
  }

  const PoolAlong<T>& along_;
  const Block<T>& block_;
  T* const scales_;
  const int64_t scales_row_;
  T* const out_;
  const T* const out_end_;
  // Divisors for the first number of rows seen, usually of full windows, and for the latest other one.
  T counted_[2] = {};
  int known_ = 0;
};

template <class T>
bool IsPairs(const PoolAlong<T>& along, const Block<T>& block) {
  return along.kernel == 2 && along.stride == 2 && along.dilation == 1 && block.left == 0 && block.width == block.span &&
         block.output * static_cast<int64_t>(sizeof(T)) >= 16;
}

template <class T, PoolKind kKind>
void RunPairs(const PoolAlong<T>& along, const PoolRow<T>* rows, int64_t count, const Block<T>& block,
              BlockResults<T>& results) {
  const hn::ScalableTag<T> d;
  for (int64_t r = 0; r < count; ++r) {
    if (rows[r].row_count == 2) {
      CombinePairs<kKind, 2>(d, along, rows[r], block.first, results.PieceOf(rows[r], r));
    } else if (rows[r].row_count > 0) {
      CombinePairs<kKind, 0>(d, along, rows[r], block.first, results.PieceOf(rows[r], r));
    } else {
      CombineRows<T, kKind>(rows[r], 0, block.output, results.OfRow(r));
    }
  }
}

template <class T, PoolKind kKind>
void CombineColumnsOf(const PoolAlong<T>& along, const Piece<T>& piece) {
  switch (along.kernel) {
#if HWY_TARGET != HWY_SSE4  // old machines: not worth the build
    case 2: CombineColumns<T, kKind, 2>(along, piece); break;
#endif
    case 3: CombineColumns<T, kKind, 3>(along, piece); break;
#if HWY_TARGET != HWY_SSE4
    case 5: CombineColumns<T, kKind, 5>(along, piece); break;
#endif
    default: CombineColumns<T, kKind, 0>(along, piece); break;
  }
}

/// Rows are combined into `buffer` some ahead of their columns.
template <class T, PoolKind kKind>
void RunBlock(const PoolAlong<T>& along, const PoolRow<T>* rows, int64_t count, const Block<T>& block, T* buffer,
              int64_t buffer_row, BlockResults<T>& results, PacedCancellationPoint& look) {
  constexpr PoolKind kAlong = kKind == PoolKind::kMax ? PoolKind::kMax : PoolKind::kSum;
  const T identity = PoolOp<T, kKind>::Identity();
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  for (int64_t i = 0; i < std::min(count, kPoolDepth); ++i) {
    T* to = buffer + i * buffer_row;
    std::fill_n(to, block.left, identity);
    std::fill(to + block.left + block.width, to + block.span + 3 * lanes, identity);
  }
  // One row under the windows is read where it lies if vectors along it stay inside.
  const bool inside = kAlong == kKind && along.stride == 1 && block.width == block.span && block.output >= lanes;
  const auto alone = [inside](const PoolRow<T>& row) { return inside && row.row_count == 1; };
  const int64_t ahead = kPoolDepth - 1, work = block.output * along.kernel;
  for (int64_t r = 0; r < count + ahead; ++r) {
    look.Pass(work + (r < count ? rows[r].row_count * block.width : 0));
    if (r < count && block.width > 0 && !alone(rows[r]))
      CombineRows<T, kKind>(rows[r], block.first, block.width, buffer + r % kPoolDepth * buffer_row + block.left);
    if (r < ahead) continue;
    Piece<T> piece = results.PieceOf(rows[r - ahead], r - ahead);
    piece.from =
        alone(rows[r - ahead]) ? rows[r - ahead].rows[0] + block.first : buffer + (r - ahead) % kPoolDepth * buffer_row;
    CombineColumnsOf<T, kAlong>(along, piece);
  }
}

/// The same with only those taps that some of the `output` outputs from `begin` on has inside the row; one where none has
/// any.
template <class T>
PoolAlong<T> WithTapsInside(const PoolAlong<T>& along, int64_t begin, int64_t output) {
  const int64_t from = begin * along.stride - along.pad, to = from + (output - 1) * along.stride;
  const int64_t first = to < 0 ? CeilDiv(-to, along.dilation) : 0;
  const int64_t end = from < along.width ? std::min(along.kernel, (along.width - 1 - from) / along.dilation + 1) : 0;
  PoolAlong<T> inside = along;
  inside.kernel = std::max<int64_t>(end - first, 1);
  if (end > first) inside.pad -= first * along.dilation;
  return inside;
}

template <class T, PoolKind kKind>
void Run(const PoolAlong<T>& along, const PoolRow<T>* rows, int64_t count, T* buffer, T* out) {
  const int64_t buffer_row = PoolBufferRow(along), size = PoolBlock(along);
  PacedCancellationPoint look(0.1);
  for (int64_t o = 0; o < along.output; o += size) {
    const int64_t outputs = std::min(size, along.output - o);
    const PoolAlong<T> inside = WithTapsInside(along, o, outputs);
    const Block<T> block(inside, o, outputs);
    BlockResults<T> results(inside, block, buffer + kPoolDepth * buffer_row, buffer_row, out, out + count * along.output);
    if (IsPairs(inside, block)) {
      RunPairs<T, kKind>(inside, rows, count, block, results);
    } else {
      RunBlock<T, kKind>(inside, rows, count, block, buffer, buffer_row, results, look);
    }
  }
}

template <class T>
void Dispatch(const PoolAlong<T>& along, const PoolRow<T>* rows, int64_t count, T* buffer, T* out) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (along.kind) {
      case PoolKind::kMax: return Run<T, PoolKind::kMax>(along, rows, count, buffer, out);
      case PoolKind::kSum: return Run<T, PoolKind::kSum>(along, rows, count, buffer, out);
      case PoolKind::kSumOfAbs: return Run<T, PoolKind::kSumOfAbs>(along, rows, count, buffer, out);
      case PoolKind::kSumOfSquares: return Run<T, PoolKind::kSumOfSquares>(along, rows, count, buffer, out);
    }
  } else {
    Run<T, PoolKind::kMax>(along, rows, count, buffer, out);
  }
}

}  // namespace

void PoolRowsFloat(const PoolAlong<float>& along, const PoolRow<float>* rows, int64_t count, float* buffer, float* out) {
  Dispatch(along, rows, count, buffer, out);
}
void PoolRowsDouble(const PoolAlong<double>& along, const PoolRow<double>* rows, int64_t count, double* buffer,
                    double* out) {
  Dispatch(along, rows, count, buffer, out);
}
void PoolRowsUInt8(const PoolAlong<uint8_t>& along, const PoolRow<uint8_t>* rows, int64_t count, uint8_t* buffer,
                   uint8_t* out) {
  Dispatch(along, rows, count, buffer, out);
}
void PoolRowsInt8(const PoolAlong<int8_t>& along, const PoolRow<int8_t>* rows, int64_t count, int8_t* buffer, int8_t* out) {
  Dispatch(along, rows, count, buffer, out);
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(PoolRowsFloat);
HWY_EXPORT(PoolRowsDouble);
HWY_EXPORT(PoolRowsUInt8);
HWY_EXPORT(PoolRowsInt8);

template <class T>
void ComputePoolRows(const PoolAlong<T>& along, const PoolRow<T>* rows, int64_t count, T* buffer, T* out) {
  if constexpr (std::is_same_v<T, float>) {
    HWY_DYNAMIC_DISPATCH(PoolRowsFloat)(along, rows, count, buffer, out);
  } else if constexpr (std::is_same_v<T, double>) {
    HWY_DYNAMIC_DISPATCH(PoolRowsDouble)(along, rows, count, buffer, out);
  } else if constexpr (std::is_same_v<T, uint8_t>) {
    HWY_DYNAMIC_DISPATCH(PoolRowsUInt8)(along, rows, count, buffer, out);
  } else {
    HWY_DYNAMIC_DISPATCH(PoolRowsInt8)(along, rows, count, buffer, out);
  }
}
template void ComputePoolRows<float>(const PoolAlong<float>&, const PoolRow<float>*, int64_t, float*, float*);
template void ComputePoolRows<double>(const PoolAlong<double>&, const PoolRow<double>*, int64_t, double*, double*);
template void ComputePoolRows<uint8_t>(const PoolAlong<uint8_t>&, const PoolRow<uint8_t>*, int64_t, uint8_t*, uint8_t*);
template void ComputePoolRows<int8_t>(const PoolAlong<int8_t>&, const PoolRow<int8_t>*, int64_t, int8_t*, int8_t*);

}  // namespace tessera::cpu
#endif
