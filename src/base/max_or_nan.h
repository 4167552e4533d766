#pragma once

namespace tessera {

/// The larger one; NaN where either is.
template <class T>
constexpr T MaxOrNan(T a, T b) {
  return a > b || a != a ? a : b;
}

}  // namespace tessera
