// The one-dimensional transforms of F(4x4, 3x3) with the points 0, +-a, +-1/a and infinity, where a is the root of 1/2: the
// numbers stay near 1, and the result is about as exact as a direct convolution's. Included once per instruction set.

#if defined(TESSERA_WINOGRAD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_WINOGRAD_INL_H
#undef TESSERA_WINOGRAD_INL_H
#else
#define TESSERA_WINOGRAD_INL_H
#endif

#include <hwy/highway.h>

#include "simd/winograd_axis.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr float kA = 0.70710678118654752f;
constexpr float kB = 1.41421356237309505f;

/// Three taps to the factors of the six products.
constexpr double kRootHalf = 0.70710678118654752440, kRootTwo = 1.41421356237309504880;
constexpr double kWeightTransform[6][3] = {{1, 0, 0},
                                           {-2.0 / 3, -2 * kRootHalf / 3, -1.0 / 3},
                                           {-2.0 / 3, 2 * kRootHalf / 3, -1.0 / 3},
                                           {1.0 / 6, kRootTwo / 6, 1.0 / 3},
                                           {1.0 / 6, -kRootTwo / 6, 1.0 / 3},
                                           {0, 0, 1}};

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

/// Six products to four output pixels.
template <class D, class V>
HWY_INLINE void OutputTransform(D d, const V (&x)[6], V (&y)[4]) {
  const V sum_a = hn::Add(x[1], x[2]), difference_a = hn::Sub(x[1], x[2]);
  const V sum_b = hn::Add(x[3], x[4]), difference_b = hn::Sub(x[3], x[4]);
  y[0] = hn::Add(x[0], hn::Add(sum_a, sum_b));
  y[1] = hn::MulAdd(hn::Set(d, kA), difference_a, hn::Mul(hn::Set(d, kB), difference_b));
  y[2] = hn::MulAdd(hn::Set(d, 0.5f), sum_a, hn::Add(sum_b, sum_b));
  y[3] = hn::MulAdd(hn::Set(d, kA / 2), difference_a, hn::MulAdd(hn::Set(d, 2 * kB), difference_b, x[5]));
}

/// Forms as the two-dimensional transforms want them.
struct FourTiles {
  static constexpr WinogradPlanes kPlanes = PlanesOf(WinogradForm::kFour);
  template <class D, class V>
  static HWY_INLINE void Input(D d, const V (&x)[6], V (&y)[6]) {
    InputTransform(d, x, y);
  }
  template <class D, class V>
  static HWY_INLINE void Output(D d, const V (&x)[6], V (&y)[4]) {
    OutputTransform(d, x, y);
  }
};

struct TwoTiles {
  static constexpr WinogradPlanes kPlanes = PlanesOf(WinogradForm::kTwo);
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

struct StridedTiles {
  static constexpr WinogradPlanes kPlanes = PlanesOf(WinogradForm::kStrided);
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
    y[0] = hn::Add(x[0], x[1]);
    y[1] = hn::Add(x[1], x[2]);
  }
};

}  // namespace
}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
