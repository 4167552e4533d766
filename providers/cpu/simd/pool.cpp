// Rows of a pooling's output.

#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/pool.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "simd/pool.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T, PoolKind kKind>
struct PoolOp {
  static T Identity() {
    if constexpr (kKind != PoolKind::kMax) return T{0};
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  }
  template <class V>
  static HWY_INLINE V Load(V v) {
    if constexpr (kKind == PoolKind::kSumOfAbs) return hn::Abs(v);
    if constexpr (kKind == PoolKind::kSumOfSquares) return hn::Mul(v, v);
    return v;
  }
  template <class V>
  static HWY_INLINE V Combine(V a, V b) {
    if constexpr (kKind == PoolKind::kMax) return hn::Max(a, b);
    else return hn::Add(a, b);
  }
  static HWY_INLINE T LoadOne(T v) {
    if constexpr (kKind == PoolKind::kSumOfAbs) return v < 0 ? -v : v;
    if constexpr (kKind == PoolKind::kSumOfSquares) return v * v;
    return v;
  }
  static HWY_INLINE T CombineOne(T a, T b) {
    if constexpr (kKind == PoolKind::kMax) return a > b ? a : b;
    else return a + b;
  }
};

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
    case 0:
      std::fill_n(to, width, PoolOp<T, kKind>::Identity());
      return;
    case 2: {
      const T* const rows[] = {row.rows[0], row.rows[1]};
      return CombineRows<kKind, 2>(d, rows, 2, first, width, to);
    }
    case 3: {
      const T* const rows[] = {row.rows[0], row.rows[1], row.rows[2]};
      return CombineRows<kKind, 3>(d, rows, 3, first, width, to);
    }
    default:
      return CombineRows<kKind, 0>(d, row.rows, row.row_count, first, width, to);
  }
}

/// A piece of one output row.
template <class T>
struct Piece {
  const T* from;  // combined rows, padding included
  T* out;
  const T* out_end;   // vectors may write up to there
  int64_t output;    // elements
  const T* factors;  // kDivide: one over the count of each
};

/// Stores the vectors of results finished(o) that start at o. Captures by value keep what the loop needs in registers.
template <class D, class T, class Finished>
HWY_INLINE void StoreVectors(D d, const Piece<T>& piece, const Finished finished) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t output = piece.output;
  T* const out = piece.out;
  int64_t o = 0;
  for (; o + lanes <= output; o += lanes) hn::StoreU(finished(o), d, out + o);
  if (o == output) return;
  if (o > 0) {
    hn::StoreU(finished(output - lanes), d, out + output - lanes);  // some once more
  } else if (piece.out_end - out >= lanes) {
    hn::StoreU(finished(o), d, out);
  } else {
    HWY_ALIGN T tail[HWY_LANES(T)];
    hn::StoreU(finished(o), d, tail);
    std::memcpy(out, tail, static_cast<size_t>(output) * sizeof(T));
  }
}

/// Calls compute(o) for vectors of results that start at o, finishes and stores them.
template <class D, class T, class Compute>
HWY_INLINE void ForEachVector(D d, PoolFinish finish, const Piece<T>& piece, const Compute compute) {
  if constexpr (std::is_floating_point_v<T>) {
    if (finish == PoolFinish::kDivide) {
      const T* const factors = piece.factors;
      StoreVectors(d, piece, [=](int64_t o) HWY_ATTR { return hn::Mul(compute(o), hn::LoadU(d, factors + o)); });
      return;
    }
    if (finish == PoolFinish::kSquareRoot) {
      StoreVectors(d, piece, [=](int64_t o) HWY_ATTR { return hn::Sqrt(compute(o)); });
      return;
    }
  }
  StoreVectors(d, piece, compute);
}

template <class T>
HWY_INLINE T FinishOne(PoolFinish finish, const Piece<T>& piece, int64_t o, T v) {
  if constexpr (std::is_floating_point_v<T>) {
    if (finish == PoolFinish::kDivide) return v * piece.factors[o];
    if (finish == PoolFinish::kSquareRoot) return std::sqrt(v);
  }
  return v;
}

/// K: the kernel's width, 0: any.
template <class T, PoolKind kKind, int K>
void CombineColumns(const PoolAlong<T>& along, const Piece<T>& piece) {
  using Op = PoolOp<T, kKind>;
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
    ForEachVector(d, along.finish, piece, [=](int64_t o) HWY_ATTR { return window(all + o); });
    return;
  }
  if (along.stride == 2) {
    ForEachVector(d, along.finish, piece, [=](int64_t o) HWY_ATTR {
      return hn::ConcatEven(d, window(all + 2 * o + lanes), window(all + 2 * o));
    });
    return;
  }
  if constexpr (K == 3) {
    if (along.stride == 3 && dilation == 1) {
      ForEachVector(d, along.finish, piece, [=](int64_t o) HWY_ATTR {
        hn::Vec<decltype(d)> a, b, c;
        hn::LoadInterleaved3(d, all + 3 * o, a, b, c);
        return Op::Combine(Op::Combine(a, b), c);
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

/// Windows of two side by side without padding: both passes in registers. D narrows until a vector fits.
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
  ForEachVector(d, along.finish, piece, [=](int64_t o) HWY_ATTR {
    const auto low = combined(2 * o), high = combined(2 * o + lanes);
    return Op::Combine(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low));
  });
}

template <class T, PoolKind kKind>
void Run(const PoolAlong<T>& along, const PoolRow<T>* rows, int64_t count, T* buffer, T* out) {
  const T identity = PoolOp<T, kKind>::Identity();
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t extent = (along.kernel - 1) * along.dilation + 1;
  const int64_t buffer_row = PoolBufferRow(along.output, extent, along.stride);
  T* factors = buffer + kPoolDepth * buffer_row;
  const T* out_end = out + count * along.output;
  for (int64_t o = 0; o < along.output; o += kPoolBlock) {
    const int64_t output = std::min(kPoolBlock, along.output - o);
    // The input columns under the block: padding, the row's, padding.
    const int64_t start = o * along.stride - along.pad;
    const int64_t span = (output - 1) * along.stride + extent;
    const int64_t left = std::clamp<int64_t>(-start, 0, span);
    const int64_t first = start + left;
    const int64_t width = std::clamp<int64_t>(along.width - first, 0, span - left);
    // Factors for the first count of rows met, usually of full windows, and for the latest other one.
    T counted[2] = {};
    int known = 0;
    const auto factors_for = [&](T rows_counted) HWY_ATTR -> const T* {
      if (along.finish != PoolFinish::kDivide) return nullptr;
      int slot = 0;
      while (slot < known && counted[slot] != rows_counted) ++slot;
      T* const into = factors + std::min(slot, 1) * buffer_row;
      if constexpr (std::is_floating_point_v<T>) {
        if (slot == known) {
          known = std::min(slot + 1, 2);
          counted[std::min(slot, 1)] = rows_counted;
          for (int64_t x = 0; x < output + lanes; ++x) into[x] = T{1} / std::max(along.counts[o + x] * rows_counted, T{1});
        }
      }
      return into;
    };
    const auto piece_of = [&](int64_t r) HWY_ATTR {
      T* to = out + r * along.output + o;
      const bool whole = output == along.output;  // what runs into the next row is overwritten when its turn comes
      return Piece<T>{nullptr, to, whole ? out_end : to + output, output, factors_for(rows[r].count)};
    };
    if (along.kernel == 2 && along.stride == 2 && along.dilation == 1 && left == 0 && width == span &&
        output * static_cast<int64_t>(sizeof(T)) >= 16) {
      for (int64_t r = 0; r < count; ++r) {
        if (rows[r].row_count == 2) {
          CombinePairs<kKind, 2>(d, along, rows[r], first, piece_of(r));
        } else if (rows[r].row_count > 0) {
          CombinePairs<kKind, 0>(d, along, rows[r], first, piece_of(r));
        } else {
          CombineRows<T, kKind>(rows[r], 0, output, out + r * along.output + o);
        }
      }
      continue;
    }
    for (int64_t i = 0; i < std::min(count, kPoolDepth); ++i) {
      T* to = buffer + i * buffer_row;
      std::fill_n(to, left, identity);
      std::fill(to + left + width, to + span + 3 * lanes, identity);
    }
    const int64_t ahead = kPoolDepth - 1;
    for (int64_t r = 0; r < count + ahead; ++r) {
      if (r < count && width > 0) CombineRows<T, kKind>(rows[r], first, width, buffer + r % kPoolDepth * buffer_row + left);
      if (r < ahead) continue;
      Piece<T> piece = piece_of(r - ahead);
      piece.from = buffer + (r - ahead) % kPoolDepth * buffer_row;
      switch (along.kernel) {
        case 2:
          CombineColumns<T, kKind, 2>(along, piece);
          break;
        case 3:
          CombineColumns<T, kKind, 3>(along, piece);
          break;
        default:
          CombineColumns<T, kKind, 0>(along, piece);
          break;
      }
    }
  }
}

/// One output row of a small plane. KH, KW: the kernel, 0: any.
template <PoolKind kKind, int KH, int KW, class T>
HWY_INLINE void SmallRow(const SmallPlanes<T>& planes, const T* from, const Piece<T>& piece) {
  using Op = PoolOp<T, kKind>;
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t rows = KH == 0 ? planes.kernel[0] : KH, columns = KW == 0 ? planes.kernel[1] : KW;
  const int64_t down = planes.dilations[0] * planes.padded[1], across = planes.dilations[1];
  const auto window = [=](const T* at) HWY_ATTR {
    auto v = Op::Load(hn::LoadU(d, at));
    for (int64_t k = 1; k < columns; ++k) v = Op::Combine(v, Op::Load(hn::LoadU(d, at + k * across)));
    for (int64_t r = 1; r < rows; ++r) {
      for (int64_t k = 0; k < columns; ++k) v = Op::Combine(v, Op::Load(hn::LoadU(d, at + r * down + k * across)));
    }
    return v;
  };
  if (planes.strides[1] == 1) {
    ForEachVector(d, planes.finish, piece, [=](int64_t o) HWY_ATTR { return window(from + o); });
  } else if (planes.strides[1] == 2 && (KW == 2 || KW == 3) && across == 1) {
    const auto column = [=](const T* at) HWY_ATTR {
      auto v = Op::Load(hn::LoadU(d, at));
      for (int64_t r = 1; r < rows; ++r) v = Op::Combine(v, Op::Load(hn::LoadU(d, at + r * down)));
      return v;
    };
    ForEachVector(d, planes.finish, piece, [=](int64_t o) HWY_ATTR {
      const T* at = from + 2 * o;
      const auto low = column(at), high = column(at + lanes);
      auto v = Op::Combine(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low));
      if constexpr (KW == 3) v = Op::Combine(v, hn::ConcatEven(d, column(at + lanes + 2), column(at + 2)));
      return v;
    });
  } else if (planes.strides[1] == 2) {
    ForEachVector(d, planes.finish, piece, [=](int64_t o) HWY_ATTR {
      return hn::ConcatEven(d, window(from + 2 * o + lanes), window(from + 2 * o));
    });
  } else {
    ForEachVector(d, planes.finish, piece, [=](int64_t o) HWY_ATTR {
      hn::Vec<decltype(d)> v = hn::Set(d, Op::Identity());
      for (int64_t r = 0; r < rows; ++r) {
        hn::Vec<decltype(d)> a, b, c;
        hn::LoadInterleaved3(d, from + 3 * o + r * down, a, b, c);
        v = Op::Combine(v, Op::Combine(Op::Combine(Op::Load(a), Op::Load(b)), Op::Load(c)));
      }
      return v;
    });
  }
}

/// Windows of three by three at every position: down a strip of columns, each input row is combined along once.
template <PoolKind kKind, class T>
HWY_INLINE void SmallStrips(const SmallPlanes<T>& planes, const T* from, T* out) {
  using Op = PoolOp<T, kKind>;
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t down = planes.padded[1], width = planes.output[1], rows = planes.output[0];
  const T* const factors = planes.factors;
  const bool root = planes.finish == PoolFinish::kSquareRoot;
  for (int64_t o = 0;; o = std::min(o + lanes, width - lanes)) {
    const auto along = [=](int64_t r) HWY_ATTR {
      const T* at = from + r * down + o;
      return Op::Combine(Op::Combine(Op::Load(hn::LoadU(d, at)), Op::Load(hn::LoadU(d, at + 1))), Op::Load(hn::LoadU(d, at + 2)));
    };
    auto top = along(0), middle = along(1);
    for (int64_t r = 0; r < rows; ++r) {
      const auto bottom = along(r + 2);
      auto v = Op::Combine(Op::Combine(top, middle), bottom);
      if constexpr (std::is_floating_point_v<T>) {
        if (factors != nullptr) v = hn::Mul(v, hn::LoadU(d, factors + r * width + o));
        if (root) v = hn::Sqrt(v);
      }
      hn::StoreU(v, d, out + r * width + o);
      top = middle;
      middle = bottom;
    }
    if (o + lanes >= width) return;
  }
}

/// Copies a plane to where its padding surrounds it. Unless `exact`, reads up to a vector past it.
template <class T>
HWY_INLINE void CopyPadded(const SmallPlanes<T>& planes, const T* in, bool exact, T identity, T* to) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  // What a stride leaves of the input is not under any window.
  const int64_t width = std::min(planes.input[1], planes.padded[1] - planes.pads[1]);
  const int64_t height = std::min(planes.input[0], planes.padded[0] - planes.pads[0]);
  const auto rest = hn::FirstN(d, static_cast<size_t>(width % lanes));
  const auto pad = hn::Set(d, identity);
  to += planes.pads[0] * planes.padded[1] + planes.pads[1];
  for (int64_t r = 0; r < height; ++r, in += planes.input[1], to += planes.padded[1]) {
    if (exact) {
      std::copy_n(in, width, to);
      continue;
    }
    int64_t x = 0;
    for (; x + lanes <= width; x += lanes) hn::StoreU(hn::LoadU(d, in + x), d, to + x);
    // Padding goes over padding, and over the next row, which is still to come.
    if (x < width) hn::StoreU(hn::IfThenElse(rest, hn::LoadU(d, in + x), pad), d, to + x);
  }
}

template <PoolKind kKind, int KH, int KW, class T>
void SmallPlanesOf(const SmallPlanes<T>& planes, int64_t count, const T* in, T* buffer, T* out) {
  const T identity = PoolOp<T, kKind>::Identity();
  const int64_t size = planes.input[0] * planes.input[1];
  const int64_t width = planes.output[1];
  const T* const in_end = in + count * size;
  const T* const out_end = out + count * planes.output[0] * width;
  const bool in_place = planes.pads[0] == 0 && planes.pads[1] == 0 && planes.padded[1] == planes.input[1] && planes.padded[0] <= planes.input[0];
  const bool strips = planes.strides[0] == 1 && planes.strides[1] == 1 && planes.dilations[0] == 1 && planes.dilations[1] == 1;
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  std::fill_n(buffer, planes.padded[0] * planes.padded[1] + kPoolSlack, identity);
  for (int64_t p = 0; p < count; ++p, in += size) {
    const bool exact = in_end - (in + size) < kPoolSlack;
    const T* from = in;
    if (!in_place || exact) {
      CopyPadded(planes, in, exact, identity, buffer);
      from = buffer;
    }
    if constexpr (KH == 3 && KW == 3) {
      // Narrow rows run into what comes after the plane, which must be there and be overwritten.
      if (strips && (width >= lanes || out_end - (out + planes.output[0] * width) >= lanes)) {
        SmallStrips<kKind>(planes, from, out);
        out += planes.output[0] * width;
        continue;
      }
    }
    const T* factors = planes.factors;
    for (int64_t r = 0; r < planes.output[0]; ++r, out += width) {
      SmallRow<kKind, KH, KW>(planes, from, Piece<T>{nullptr, out, out_end, width, factors});
      from += planes.strides[0] * planes.padded[1];
      if (factors != nullptr) factors += width;
    }
  }
}

template <PoolKind kKind, class T>
void RunSmall(const SmallPlanes<T>& planes, int64_t count, const T* in, T* buffer, T* out) {
  if (planes.kernel[0] == 2 && planes.kernel[1] == 2) return SmallPlanesOf<kKind, 2, 2>(planes, count, in, buffer, out);
  if (planes.kernel[0] == 3 && planes.kernel[1] == 3) return SmallPlanesOf<kKind, 3, 3>(planes, count, in, buffer, out);
  SmallPlanesOf<kKind, 0, 0>(planes, count, in, buffer, out);
}

template <class T>
void DispatchSmall(const SmallPlanes<T>& planes, int64_t count, const T* in, T* buffer, T* out) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (planes.kind) {
      case PoolKind::kMax:
        return RunSmall<PoolKind::kMax>(planes, count, in, buffer, out);
      case PoolKind::kSum:
        return RunSmall<PoolKind::kSum>(planes, count, in, buffer, out);
      case PoolKind::kSumOfAbs:
        return SmallPlanesOf<PoolKind::kSumOfAbs, 0, 0>(planes, count, in, buffer, out);
      case PoolKind::kSumOfSquares:
        return SmallPlanesOf<PoolKind::kSumOfSquares, 0, 0>(planes, count, in, buffer, out);
    }
  } else {
    RunSmall<PoolKind::kMax>(planes, count, in, buffer, out);
  }
}

template <class T>
void Dispatch(const PoolAlong<T>& along, const PoolRow<T>* rows, int64_t count, T* buffer, T* out) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (along.kind) {
      case PoolKind::kMax:
        return Run<T, PoolKind::kMax>(along, rows, count, buffer, out);
      case PoolKind::kSum:
        return Run<T, PoolKind::kSum>(along, rows, count, buffer, out);
      case PoolKind::kSumOfAbs:
        return Run<T, PoolKind::kSumOfAbs>(along, rows, count, buffer, out);
      case PoolKind::kSumOfSquares:
        return Run<T, PoolKind::kSumOfSquares>(along, rows, count, buffer, out);
    }
  } else {
    Run<T, PoolKind::kMax>(along, rows, count, buffer, out);
  }
}

template <class T, PoolKind kKind>
T Reduce(const T* in, int64_t count) {
  using Op = PoolOp<T, kKind>;
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto a = hn::Set(d, Op::Identity());
  auto b = a;
  auto c = a;
  auto e = a;
  int64_t x = 0;
  for (; x + 4 * lanes <= count; x += 4 * lanes) {
    a = Op::Combine(a, Op::Load(hn::LoadU(d, in + x)));
    b = Op::Combine(b, Op::Load(hn::LoadU(d, in + x + lanes)));
    c = Op::Combine(c, Op::Load(hn::LoadU(d, in + x + 2 * lanes)));
    e = Op::Combine(e, Op::Load(hn::LoadU(d, in + x + 3 * lanes)));
  }
  for (; x + lanes <= count; x += lanes) a = Op::Combine(a, Op::Load(hn::LoadU(d, in + x)));
  a = Op::Combine(Op::Combine(a, b), Op::Combine(c, e));
  T result = kKind == PoolKind::kMax ? hn::GetLane(hn::MaxOfLanes(d, a)) : hn::GetLane(hn::SumOfLanes(d, a));
  for (; x < count; ++x) result = Op::CombineOne(result, Op::LoadOne(in[x]));
  return result;
}

template <class T>
T DispatchReduce(PoolKind kind, const T* in, int64_t count) {
  switch (kind) {
    case PoolKind::kMax:
      return Reduce<T, PoolKind::kMax>(in, count);
    case PoolKind::kSum:
      return Reduce<T, PoolKind::kSum>(in, count);
    case PoolKind::kSumOfAbs:
      return Reduce<T, PoolKind::kSumOfAbs>(in, count);
    case PoolKind::kSumOfSquares:
      return Reduce<T, PoolKind::kSumOfSquares>(in, count);
  }
  return 0;
}

}  // namespace

float ReduceFloat(PoolKind kind, const float* in, int64_t count) { return DispatchReduce(kind, in, count); }
double ReduceDouble(PoolKind kind, const double* in, int64_t count) { return DispatchReduce(kind, in, count); }
void SmallPlanesFloat(const SmallPlanes<float>& planes, int64_t count, const float* in, float* buffer, float* out) {
  DispatchSmall(planes, count, in, buffer, out);
}
void SmallPlanesDouble(const SmallPlanes<double>& planes, int64_t count, const double* in, double* buffer, double* out) {
  DispatchSmall(planes, count, in, buffer, out);
}
void SmallPlanesUInt8(const SmallPlanes<uint8_t>& planes, int64_t count, const uint8_t* in, uint8_t* buffer, uint8_t* out) {
  DispatchSmall(planes, count, in, buffer, out);
}
void SmallPlanesInt8(const SmallPlanes<int8_t>& planes, int64_t count, const int8_t* in, int8_t* buffer, int8_t* out) {
  DispatchSmall(planes, count, in, buffer, out);
}
void PoolRowsFloat(const PoolAlong<float>& along, const PoolRow<float>* rows, int64_t count, float* buffer, float* out) {
  Dispatch(along, rows, count, buffer, out);
}
void PoolRowsDouble(const PoolAlong<double>& along, const PoolRow<double>* rows, int64_t count, double* buffer, double* out) {
  Dispatch(along, rows, count, buffer, out);
}
void PoolRowsUInt8(const PoolAlong<uint8_t>& along, const PoolRow<uint8_t>* rows, int64_t count, uint8_t* buffer, uint8_t* out) {
  Dispatch(along, rows, count, buffer, out);
}
void PoolRowsInt8(const PoolAlong<int8_t>& along, const PoolRow<int8_t>* rows, int64_t count, int8_t* buffer, int8_t* out) {
  Dispatch(along, rows, count, buffer, out);
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(SmallPlanesFloat);
HWY_EXPORT(SmallPlanesDouble);
HWY_EXPORT(SmallPlanesUInt8);
HWY_EXPORT(SmallPlanesInt8);
HWY_EXPORT(PoolRowsFloat);
HWY_EXPORT(PoolRowsDouble);
HWY_EXPORT(PoolRowsUInt8);
HWY_EXPORT(PoolRowsInt8);
HWY_EXPORT(ReduceFloat);
HWY_EXPORT(ReduceDouble);

template <>
float ReducePoolRow<float>(PoolKind kind, const float* in, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(ReduceFloat)(kind, in, count);
}
template <>
double ReducePoolRow<double>(PoolKind kind, const double* in, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(ReduceDouble)(kind, in, count);
}

template <class T>
void PoolSmallPlanes(const SmallPlanes<T>& planes, int64_t count, const T* in, T* buffer, T* out) {
  if constexpr (std::is_same_v<T, float>) {
    HWY_DYNAMIC_DISPATCH(SmallPlanesFloat)(planes, count, in, buffer, out);
  } else if constexpr (std::is_same_v<T, double>) {
    HWY_DYNAMIC_DISPATCH(SmallPlanesDouble)(planes, count, in, buffer, out);
  } else if constexpr (std::is_same_v<T, uint8_t>) {
    HWY_DYNAMIC_DISPATCH(SmallPlanesUInt8)(planes, count, in, buffer, out);
  } else {
    HWY_DYNAMIC_DISPATCH(SmallPlanesInt8)(planes, count, in, buffer, out);
  }
}
template void PoolSmallPlanes<float>(const SmallPlanes<float>&, int64_t, const float*, float*, float*);
template void PoolSmallPlanes<double>(const SmallPlanes<double>&, int64_t, const double*, double*, double*);
template void PoolSmallPlanes<uint8_t>(const SmallPlanes<uint8_t>&, int64_t, const uint8_t*, uint8_t*, uint8_t*);
template void PoolSmallPlanes<int8_t>(const SmallPlanes<int8_t>&, int64_t, const int8_t*, int8_t*, int8_t*);

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
