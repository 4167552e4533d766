// The transforms of Winograd's convolutions along one axis, and of tiles of six by six pixels. Those of six points have 0,
// +-a, +-1/a and infinity, where a is the root of 1/2: the numbers stay near 1, and the result is about as exact as a
// direct convolution's. Included once per instruction set.

#if defined(TESSERA_WINOGRAD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_WINOGRAD_INL_H
#undef TESSERA_WINOGRAD_INL_H
#else
#define TESSERA_WINOGRAD_INL_H
#endif

#include <hwy/highway.h>

#include "kernels/conv/winograd/axis.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr float kA = 0.70710678118654752f;
constexpr float kB = 1.41421356237309505f;

/// Six rows or columns of a tile times the transform of the input.
template <class D, class V>
HWY_INLINE void InputTransform(D d, const V (&x)[6], V (&y)[6]) {
  const V two_and_half = hn::Set(d, 2.5f), two = hn::Set(d, 2.0f), half = hn::Set(d, 0.5f);
  const V even_a = hn::NegMulAdd(two, x[2], x[4]), odd_a = hn::NegMulAdd(two, x[1], x[3]);
  const V even_b = hn::NegMulAdd(half, x[2], x[4]), odd_b = hn::NegMulAdd(half, x[1], x[3]);
  y[0] = hn::NegMulAdd(two_and_half, x[2], hn::Add(x[0], x[4]));
  y[1] = hn::MulAdd(hn::Set(d, kA), odd_a, even_a);
  y[2] = hn::NegMulAdd(hn::Set(d, kA), odd_a, even_a);
  y[3] = hn::MulAdd(hn::Set(d, kB), odd_b, even_b);
  y[4] = hn::NegMulAdd(hn::Set(d, kB), odd_b, even_b);
  y[5] = hn::NegMulAdd(two_and_half, x[3], hn::Add(x[1], x[5]));
}

/// Transforms six by six pixels, of which load(i, j) gives row i, column j: each a vector, of channels or of tiles. The
/// i-th result goes to out[i * step].
template <class D, class Load>
HWY_INLINE void InputTile(D d, const Load& load, int64_t step, float* out) {
  using V = hn::Vec<D>;
  V rows[6][6];
#pragma GCC unroll 6
  for (int j = 0; j < 6; ++j) {
    V x[6], y[6];
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) x[i] = load(i, j);
    InputTransform(d, x, y);
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) rows[i][j] = y[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < 6; ++i) {
    V y[6];
    InputTransform(d, rows[i], y);
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) hn::StoreU(y[j], d, out + (i * 6 + j) * step);
  }
}

/// Six accumulators to two, three or four output pixels.
template <class D, class V, size_t kSide>
HWY_INLINE void OutputTransform(D d, const V (&x)[6], V (&y)[kSide]) {
  static_assert(kSide >= 2 && kSide <= 4);
  const V sum_a = hn::Add(x[1], x[2]), difference_a = hn::Sub(x[1], x[2]);
  const V sum_b = hn::Add(x[3], x[4]), difference_b = hn::Sub(x[3], x[4]);
  y[0] = hn::Add(x[0], hn::Add(sum_a, sum_b));
  const V first = hn::Mul(hn::Set(d, kB), difference_b);
  y[1] = hn::MulAdd(hn::Set(d, kA), difference_a, kSide == 2 ? hn::Add(first, x[5]) : first);
  if constexpr (kSide > 2) {
    const V second = hn::Add(sum_b, sum_b);
    y[2] = hn::MulAdd(hn::Set(d, 0.5f), sum_a, kSide == 3 ? hn::Add(second, x[5]) : second);
  }
  if constexpr (kSide > 3) {
    y[3] = hn::MulAdd(hn::Set(d, kA / 2), difference_a, hn::MulAdd(hn::Set(d, 2 * kB), difference_b, x[5]));
  }
}

/// An axis as the two-dimensional transforms want it: Input() makes the planes of its inputs, Output() the pixels of its
/// points. Those of six points differ in how many pixels they have.
template <WinogradAxisForm kForm>
struct WinogradTransform {
  template <class D, class V>
  static HWY_INLINE void Input(D d, const V (&x)[6], V (&y)[6]) {
    InputTransform(d, x, y);
  }
  template <class D, class V, size_t kSide>
  static HWY_INLINE void Output(D d, const V (&x)[6], V (&y)[kSide]) {
    OutputTransform(d, x, y);
  }
};

/// Planes are inputs, pixels are points.
struct UntransformedAxis {
  template <class D, class V, size_t kCount>
  static HWY_INLINE void Input(D /*d*/, const V (&x)[kCount], V (&y)[kCount]) {
#pragma GCC unroll 4
    for (size_t i = 0; i < kCount; ++i) y[i] = x[i];
  }
  template <class D, class V, size_t kCount>
  static HWY_INLINE void Output(D /*d*/, const V (&x)[kCount], V (&y)[kCount]) {
#pragma GCC unroll 4
    for (size_t i = 0; i < kCount; ++i) y[i] = x[i];
  }
};
template <>
struct WinogradTransform<WinogradAxisForm::kOne> : UntransformedAxis {};
template <>
struct WinogradTransform<WinogradAxisForm::kAlternatingFour> : UntransformedAxis {};
template <>
struct WinogradTransform<WinogradAxisForm::kAlternatingThree> : UntransformedAxis {};
template <>
struct WinogradTransform<WinogradAxisForm::kAlternatingThreeEven> : UntransformedAxis {};
template <>
struct WinogradTransform<WinogradAxisForm::kSpreadTwo> : UntransformedAxis {};
template <>
struct WinogradTransform<WinogradAxisForm::kSpreadFour> : UntransformedAxis {};

template <>
struct WinogradTransform<WinogradAxisForm::kTwo> {
  template <class D, class V>
  static HWY_INLINE void Input(D /*d*/, const V (&x)[4], V (&y)[4]) {
    y[0] = hn::Sub(x[0], x[2]);
    y[1] = hn::Add(x[1], x[2]);
    y[2] = hn::Sub(x[2], x[1]);
    y[3] = hn::Sub(x[1], x[3]);
  }
  template <class D, class V>
  static HWY_INLINE void Output(D /*d*/, const V (&x)[4], V (&y)[2]) {
    y[0] = hn::Add(x[0], hn::Add(x[1], x[2]));
    y[1] = hn::Sub(hn::Sub(x[1], x[2]), x[3]);
  }
};

template <>
struct WinogradTransform<WinogradAxisForm::kThreeOfSeven> {
  template <class D, class V>
  static HWY_INLINE void Input(D d, const V (&x)[9], V (&y)[11]) {
    const V early[6] = {x[0], x[1], x[2], x[3], x[4], x[5]}, late[6] = {x[4], x[5], x[6], x[7], x[8], x[8]};
    V of_early[6], of_late[6];  // the last of which no tap meets
    InputTransform(d, early, of_early);
    InputTransform(d, late, of_late);
#pragma GCC unroll 5
    for (int i = 0; i < 5; ++i) {
      y[2 * i] = of_early[i];
      y[2 * i + 1] = of_late[i];
    }
    y[10] = of_early[5];
  }
  template <class D, class V>
  static HWY_INLINE void Output(D d, const V (&x)[6], V (&y)[3]) {
    OutputTransform(d, x, y);
  }
};

template <>
struct WinogradTransform<WinogradAxisForm::kThreeOfEleven> {
  template <class D, class V>
  static HWY_INLINE void Input(D d, const V (&x)[13], V (&y)[17]) {
    const V early[6] = {x[0], x[1], x[2], x[3], x[4], x[5]}, middle[6] = {x[4], x[5], x[6], x[7], x[8], x[9]};
    const V late[6] = {x[8], x[9], x[10], x[11], x[12], x[12]};
    V of_early[6], of_middle[6], of_late[6];  // the last of which no tap meets
    InputTransform(d, early, of_early);
    InputTransform(d, middle, of_middle);
    InputTransform(d, late, of_late);
#pragma GCC unroll 5
    for (int i = 0; i < 5; ++i) {
      y[3 * i] = of_early[i];
      y[3 * i + 1] = of_middle[i];
      y[3 * i + 2] = of_late[i];
    }
    y[15] = of_early[5];
    y[16] = of_middle[5];
  }
  template <class D, class V>
  static HWY_INLINE void Output(D d, const V (&x)[6], V (&y)[3]) {
    OutputTransform(d, x, y);
  }
};

/// Three accumulators of F(2, 2) to two output pixels.
template <class V>
HWY_INLINE void OutputOfThree(const V (&x)[3], V (&y)[2]) {
  y[0] = hn::Add(x[0], x[1]);
  y[1] = hn::Add(x[1], x[2]);
}

template <>
struct WinogradTransform<WinogradAxisForm::kStrided> {
  template <class D, class V>
  static HWY_INLINE void Input(D /*d*/, const V (&x)[5], V (&y)[5]) {
    y[0] = hn::Sub(x[0], x[2]);
    y[1] = x[1];
    y[2] = x[2];
    y[3] = hn::Sub(x[4], x[2]);
    y[4] = x[3];
  }
  template <class D, class V>
  static HWY_INLINE void Output(D /*d*/, const V (&x)[3], V (&y)[2]) {
    OutputOfThree(x, y);
  }
};

template <>
struct WinogradTransform<WinogradAxisForm::kStridedFour> {
  template <class D, class V>
  static HWY_INLINE void Input(D /*d*/, const V (&x)[6], V (&y)[6]) {
    y[0] = hn::Sub(x[0], x[2]);
    y[1] = hn::Sub(x[1], x[3]);
    y[2] = x[2];
    y[3] = x[3];
    y[4] = hn::Sub(x[4], x[2]);
    y[5] = hn::Sub(x[5], x[3]);
  }
  template <class D, class V>
  static HWY_INLINE void Output(D /*d*/, const V (&x)[3], V (&y)[2]) {
    OutputOfThree(x, y);
  }
};

template <>
struct WinogradTransform<WinogradAxisForm::kTransposedFour> {
  template <class D, class V>
  static HWY_INLINE void Input(D /*d*/, const V (&x)[4], V (&y)[5]) {
    y[0] = hn::Sub(x[0], x[1]);
    y[1] = x[1];
    y[2] = hn::Sub(x[1], x[2]);
    y[3] = x[2];
    y[4] = hn::Sub(x[3], x[2]);
  }
  template <class D, class V>
  static HWY_INLINE void Output(D /*d*/, const V (&x)[6], V (&y)[4]) {
    y[0] = hn::Add(x[0], x[1]);
    y[1] = hn::Add(x[3], x[4]);
    y[2] = hn::Add(x[1], x[2]);
    y[3] = hn::Add(x[4], x[5]);
  }
};

template <>
struct WinogradTransform<WinogradAxisForm::kTransposedThree> {
  template <class D, class V>
  static HWY_INLINE void Input(D /*d*/, const V (&x)[3], V (&y)[4]) {
    y[0] = x[0];
    y[1] = hn::Sub(x[0], x[1]);
    y[2] = x[1];
    y[3] = hn::Sub(x[2], x[1]);
  }
  template <class D, class V>
  static HWY_INLINE void Output(D /*d*/, const V (&x)[5], V (&y)[4]) {
    y[0] = x[0];
    y[1] = hn::Add(x[1], x[3]);
    y[2] = x[2];
    y[3] = hn::Add(x[3], x[4]);
  }
};

template <>
struct WinogradTransform<WinogradAxisForm::kTransposedThreeEven> {
  template <class D, class V>
  static HWY_INLINE void Input(D /*d*/, const V (&x)[3], V (&y)[4]) {
    y[0] = hn::Sub(x[0], x[1]);
    y[1] = x[1];
    y[2] = hn::Sub(x[2], x[1]);
    y[3] = x[2];
  }
  template <class D, class V>
  static HWY_INLINE void Output(D /*d*/, const V (&x)[5], V (&y)[4]) {
    y[0] = hn::Add(x[0], x[1]);
    y[1] = x[2];
    y[2] = hn::Add(x[1], x[3]);
    y[3] = x[4];
  }
};

/// The planes of F(2, 3), of which F(2, 2) shares one.
template <class V>
HWY_INLINE void InputOfThreeTaps(const V (&x)[4], V (&y)[6]) {
  y[0] = hn::Sub(x[0], x[2]);
  y[1] = hn::Add(x[1], x[2]);
  y[2] = hn::Sub(x[2], x[1]);
  y[3] = hn::Sub(x[1], x[3]);
}
/// Every other pixel, from the points of F(2, 3).
template <class V>
HWY_INLINE void OutputOfThreeTaps(const V (&x)[7], V& first, V& second) {
  first = hn::Add(x[0], hn::Add(x[1], x[2]));
  second = hn::Sub(hn::Sub(x[1], x[2]), x[4]);
}

template <>
struct WinogradTransform<WinogradAxisForm::kTransposedFive> {
  template <class D, class V>
  static HWY_INLINE void Input(D /*d*/, const V (&x)[4], V (&y)[6]) {
    InputOfThreeTaps(x, y);
    y[4] = hn::Sub(x[0], x[1]);
    y[5] = x[1];
  }
  template <class D, class V>
  static HWY_INLINE void Output(D /*d*/, const V (&x)[7], V (&y)[4]) {
    y[0] = hn::Add(x[5], x[6]);
    y[2] = hn::Add(x[6], x[3]);
    OutputOfThreeTaps(x, y[1], y[3]);
  }
};

template <>
struct WinogradTransform<WinogradAxisForm::kTransposedFiveEven> {
  template <class D, class V>
  static HWY_INLINE void Input(D /*d*/, const V (&x)[4], V (&y)[6]) {
    InputOfThreeTaps(x, y);
    y[4] = x[2];
    y[5] = hn::Sub(x[3], x[2]);
  }
  template <class D, class V>
  static HWY_INLINE void Output(D /*d*/, const V (&x)[7], V (&y)[4]) {
    OutputOfThreeTaps(x, y[0], y[2]);
    y[1] = hn::Add(x[3], x[5]);
    y[3] = hn::Add(x[5], x[6]);
  }
};

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
