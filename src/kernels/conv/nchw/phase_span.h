#pragma once

// What every stride-th element of a padded axis is: those of one phase of the stride lie side by side where convolutions
// read them.

#include <algorithm>
#include <cstdint>

#include "base/rounding.h"

namespace tessera::cpu {

/// Elements [first, end) of a phase lie inside the image: those from `from` on, a stride apart.
struct PhaseSpan {
  int64_t first, end, from;
};

/// Of an axis with `input` elements, which padding of `before` goes before; the phase has `size` elements, padding
/// included. Its element i is input element i * stride + phase - before.
inline PhaseSpan InsideOfPhase(int64_t input, int64_t before, int64_t stride, int64_t phase, int64_t size) {
  const int64_t first = std::clamp<int64_t>(CeilDiv(before - phase, stride), 0, size);
  const int64_t rest = input + before - phase;
  const int64_t end = std::clamp<int64_t>(rest <= 0 ? 0 : CeilDiv(rest, stride), first, size);
  return {first, end, end > first ? first * stride + phase - before : 0};
}

}  // namespace tessera::cpu
