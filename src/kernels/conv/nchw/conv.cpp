// Inner loops of convolution.

#include "base/rounding.h"
#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/nchw/conv.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/conv/nchw/conv.h"
#include "kernels/elementwise/activate-inl.h"
#include "kernels/vector/load_first-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// What a row of a panel consists of: up to a vector of pixels each, and zeros from `end` on.
template <class T>
struct Pieces {
  static constexpr int kLanes = static_cast<int>(HWY_LANES(T)), kMost = 16;

  /// Of few segments.
  explicit Pieces(std::span<const ConvSegment> segments) : end(segments.back().to + segments.back().length) {
    for (const ConvSegment& segment : segments) {
      for (int64_t i = 0; i < segment.length; i += kLanes, ++count) {
        if (count == kMost) return;
        from[count] = segment.from + i;
        to[count] = segment.to + i;
        length[count] = std::min<int64_t>(segment.length - i, kLanes);
      }
    }
    few = true;
  }

  bool few = false;
  int count = 0;
  int64_t end;
  int64_t from[kMost], to[kMost], length[kMost];
};

/// Rows of N pieces: what is written behind one is overwritten by the next.
template <int N, class T>
void CopyPieces(const Pieces<T>& pieces, const T* base, const int64_t* offsets, int64_t rows, int64_t width, T* out) {
  const hn::ScalableTag<T> d;
  int64_t from[N], to[N];
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) from[i] = pieces.from[i], to[i] = pieces.to[i];
  const int64_t end = pieces.end;
  for (int64_t p = 0; p < rows; ++p, out += width) {
    const T* row = base + offsets[p];
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) hn::StoreU(hn::LoadU(d, row + from[i]), d, out + to[i]);
    StoreZeros(d, end, width, out);
  }
}

/// Of any number, and where less than a vector may follow in memory.
template <class T>
void CopyPieces(const Pieces<T>& pieces, const T* base, const int64_t* offsets, int64_t rows, int64_t width, bool exact,
                T* out) {
  const hn::ScalableTag<T> d;
  for (int64_t p = 0; p < rows; ++p, out += width) {
    const T* row = base + offsets[p];
    for (int i = 0; i < pieces.count; ++i)
      hn::StoreU(exact ? LoadFirst(d, row + pieces.from[i], pieces.length[i]) : hn::LoadU(d, row + pieces.from[i]), d,
                 out + pieces.to[i]);
    StoreZeros(d, pieces.end, width, out);
  }
}

template <class T>
void CopyFewPieces(const Pieces<T>& pieces, const T* base, const int64_t* offsets, int64_t rows, int64_t width, bool exact,
                   T* out) {
  if constexpr (std::is_same_v<T, float>) {  // loops of their own for doubles would double the code
    switch (exact ? 0 : pieces.count) {
      case 1: return CopyPieces<1>(pieces, base, offsets, rows, width, out);
      case 2: return CopyPieces<2>(pieces, base, offsets, rows, width, out);
      case 3: return CopyPieces<3>(pieces, base, offsets, rows, width, out);
      case 4: return CopyPieces<4>(pieces, base, offsets, rows, width, out);
      case 5: return CopyPieces<5>(pieces, base, offsets, rows, width, out);
      case 6: return CopyPieces<6>(pieces, base, offsets, rows, width, out);
      default: break;
    }
  }
  CopyPieces(pieces, base, offsets, rows, width, exact, out);
}

/// A row behind which nothing is written.
template <class T>
HWY_INLINE void CopyLastRow(const Pieces<T>& pieces, const T* base, const int64_t* offset, int64_t width, bool exact,
                            T* out) {
  constexpr int64_t kLanes = Pieces<T>::kLanes;
  const hn::ScalableTag<T> d;
  HWY_ALIGN T row[3 * kLanes];
  CopyPieces(pieces, base, offset, 1, width, exact, row);
  if (width != 2 * kLanes) return std::copy_n(row, width, out), void();
  hn::StoreU(hn::Load(d, row), d, out);
  hn::StoreU(hn::Load(d, row + kLanes), d, out + kLanes);
}

template <class T>
void CopyPanel(const T* base, const int64_t* offsets, int64_t kc, std::span<const ConvSegment> segments, int64_t width,
               bool exact, T* out) {
  constexpr int64_t kLanes = Pieces<T>::kLanes;
  const hn::ScalableTag<T> d;
  if (segments.size() == 1 && segments[0].length == width && width == 2 * kLanes) {
    for (int64_t p = 0; p < kc; ++p, out += width) {
      const T* from = base + offsets[p] + segments[0].from;
      const auto low = hn::LoadU(d, from), high = hn::LoadU(d, from + kLanes);
      hn::StoreU(low, d, out);
      hn::StoreU(high, d, out + kLanes);
    }
    return;
  }
  // A copy may run into the panel's next rows, which are written after it; the last ones have too few behind them.
  const int64_t last = std::min(kc, CeilDiv(kLanes - 1, width)), fast = kc - last;
  if (const Pieces<T> pieces(segments); pieces.few && width <= 2 * kLanes) {
    CopyFewPieces(pieces, base, offsets, fast, width, exact, out);
    for (int64_t p = fast; p < kc; ++p) CopyLastRow(pieces, base, offsets + p, width, exact, out + p * width);
    return;
  }
  if (segments.back().to + segments.back().length < width) std::fill_n(out, kc * width, T{0});
  int64_t p = 0;
  for (; p < (exact ? 0 : fast); ++p, out += width) {
    const T* from = base + offsets[p];
    for (const ConvSegment& segment : segments) {
      for (int64_t i = 0; i < segment.length; i += kLanes)
        hn::StoreU(hn::LoadU(d, from + segment.from + i), d, out + segment.to + i);
    }
  }
  for (; p < kc; ++p, out += width) {
    const T* from = base + offsets[p];
    for (const ConvSegment& segment : segments)
      std::memcpy(out + segment.to, from + segment.from, static_cast<size_t>(segment.length) * sizeof(T));
  }
}

/// Walks a plane's vectors of output pixels, a row's last one reaching past its end.
template <class T>
struct Cursor {
  const DepthwisePlane<T>& plane;
  int64_t lanes;
  int64_t row = 0;
  int64_t x = 0;

  void Next() {
    x += lanes;
    if (x >= plane.output_width) {
      x = 0;
      ++row;
    }
  }
  const T* from() const { return plane.channel + plane.rows[row] + x; }
  T* to() const { return plane.out + row * plane.output_width + x; }
};

/// N vectors of output pixels share each broadcast weight.
template <int N, class T>
HWY_INLINE void DepthwiseVectors(const DepthwisePlane<T>& plane, Cursor<T>& cursor) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const T* from[N];
  T* to[N];
  V acc[N];
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
    from[i] = cursor.from();
    to[i] = cursor.to();
    cursor.Next();
    acc[i] = hn::Set(d, plane.bias);
  }
  for (int64_t k = 0; k < plane.kernel_size; ++k) {
    const V w = hn::Set(d, plane.weights[k]);
    const int64_t offset = plane.kernel_offsets[k];
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) acc[i] = hn::MulAdd(w, hn::LoadU(d, from[i] + offset), acc[i]);
  }
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const T* end = plane.out + plane.row_count * plane.output_width;
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) {
    const V v = Activate(d, acc[i], plane.activation);
    if (end - to[i] >= lanes) {
      hn::StoreU(v, d, to[i]);  // what reaches past the row is overwritten by the next
    } else {
      HWY_ALIGN T tail[HWY_LANES(T)];
      hn::Store(v, d, tail);
      std::memcpy(to[i], tail, static_cast<size_t>(end - to[i]) * sizeof(T));
    }
  }
}

template <class T>
void Depthwise(const DepthwisePlane<T>& plane) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t left = CeilDiv(plane.output_width, lanes) * plane.row_count;
  Cursor<T> cursor{plane, lanes};
  for (; left >= 6; left -= 6) DepthwiseVectors<6>(plane, cursor);
  if (left >= 4) {
    DepthwiseVectors<4>(plane, cursor);
    left -= 4;
  }
  for (; left > 0; --left) DepthwiseVectors<1>(plane, cursor);
}

template <class T>
void Strided(const T* in, int64_t stride, int64_t count, T* out) {
  if (stride == 2) {
    for (int64_t i = 0; i < count; ++i) out[i] = in[2 * i];
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = in[stride * i];
  }
}

}  // namespace

#define TESSERA_DEFINE(T, Name)                                                                                  \
  void CopyPanel##Name(const T* base, const int64_t* offsets, int64_t kc, std::span<const ConvSegment> segments, \
                       int64_t width, bool exact, T* out) {                                                      \
    CopyPanel(base, offsets, kc, segments, width, exact, out);                                                   \
  }                                                                                                              \
  void Depthwise##Name(const DepthwisePlane<T>& plane) { Depthwise(plane); }                                     \
  void Strided##Name(const T* in, int64_t stride, int64_t count, T* out) { Strided(in, stride, count, out); }
TESSERA_DEFINE(float, Float)
TESSERA_DEFINE(double, Double)
#undef TESSERA_DEFINE

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

#define TESSERA_DISPATCH(T, Name)                                                                                 \
  HWY_EXPORT(CopyPanel##Name);                                                                                    \
  HWY_EXPORT(Depthwise##Name);                                                                                    \
  HWY_EXPORT(Strided##Name);                                                                                      \
  template <>                                                                                                     \
  void CopyConvPanel<T>(const T* base, const int64_t* offsets, int64_t kc, std::span<const ConvSegment> segments, \
                        int64_t width, bool exact, T* out) {                                                      \
    HWY_DYNAMIC_DISPATCH(CopyPanel##Name)(base, offsets, kc, segments, width, exact, out);                        \
  }                                                                                                               \
  template <>                                                                                                     \
  void ComputeDepthwisePlane<T>(const DepthwisePlane<T>& plane) {                                                 \
    HWY_DYNAMIC_DISPATCH(Depthwise##Name)(plane);                                                                 \
  }                                                                                                               \
  template <>                                                                                                     \
  void CopyStrided<T>(const T* in, int64_t stride, int64_t count, T* out) {                                       \
    HWY_DYNAMIC_DISPATCH(Strided##Name)(in, stride, count, out);                                                  \
  }
TESSERA_DISPATCH(float, Float)
TESSERA_DISPATCH(double, Double)
#undef TESSERA_DISPATCH

}  // namespace tessera::cpu
#endif
