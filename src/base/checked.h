#pragma once

#include <concepts>

#include "base/check.h"

namespace tessera {

/// a * b and a + b that throw Error instead of overflowing: sizes and offsets that come from models or inputs.
template <std::integral T>
T CheckedMul(T a, T b) {
  T result;
  if (__builtin_mul_overflow(a, b, &result)) Fail(ErrorCode::kInvalidArgument, "size overflows: {} * {}", a, b);
  return result;
}
template <std::integral T>
T CheckedAdd(T a, T b) {
  T result;
  if (__builtin_add_overflow(a, b, &result)) Fail(ErrorCode::kInvalidArgument, "size overflows: {} + {}", a, b);
  return result;
}

}  // namespace tessera
