#pragma once

// Tile (1, 6, 13).

#include "base/check.h"
#include "base/checked.h"
#include "ops/integer_list.h"

namespace tessera {

/// How often each dimension of x is repeated, by Tile from version 6 on; `given`, in host memory, has a number for each.
/// Throws Error where it has not, or one is negative.
inline Shape RepeatsOf(const Shape& x, const Tensor& given) {
  const IntegerList counts(given, "repeats");
  Require(counts.size() == x.rank(), "repeats has {} numbers for shape {}", counts.size(), x);
  Shape repeats(x.rank());
  for (size_t i = 0; i < x.rank(); ++i) repeats[i] = counts[i];
  return repeats;
}

inline Shape TiledShape(const Shape& x, const Shape& repeats) {
  Shape result(x.rank());
  for (size_t i = 0; i < x.rank(); ++i) {
    Require(repeats[i] >= 0, "repeat {} of dimension {} is negative", repeats[i], i);
    result[i] = CheckedMul(x[i], repeats[i]);
  }
  return result;
}

}  // namespace tessera
