#pragma once

namespace tessera {

/// a / b rounded up, for a > -b and b > 0; any such numbers, as models declare what they like.
template <class A, class B>
constexpr auto CeilDiv(A a, B b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

/// The least multiple of `to` that is at least `value`. Does not check for overflow.
template <class A, class B>
constexpr auto RoundUp(A value, B to) {
  return CeilDiv(value, to) * to;
}

}  // namespace tessera
