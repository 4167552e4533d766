#pragma once

namespace tessera {

/// a / b rounded up, for a > -b and b > 0. Does not check for overflow: sizes of models and inputs are checked before.
template <class A, class B>
constexpr auto CeilDiv(A a, B b) {
  return (a + b - 1) / b;
}

/// The least multiple of `to` that is at least `value`.
template <class A, class B>
constexpr auto RoundUp(A value, B to) {
  return CeilDiv(value, to) * to;
}

}  // namespace tessera
