#pragma once

// An axis that an attribute or input names, and a tensor seen around one.

#include <cstdint>
#include <optional>

#include "base/check.h"
#include "tessera/shape.h"

namespace tessera {

/// `axis` in [-rank, rank) as a dimension number; nothing where it is outside.
constexpr std::optional<size_t> AxisWithin(int64_t axis, size_t rank) noexcept {
  const auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

/// The same; throws Error where it is outside.
inline size_t NormalizeAxis(int64_t axis, size_t rank) {
  const auto within = AxisWithin(axis, rank);
  if (!within) [[unlikely]] {
    const auto r = static_cast<int64_t>(rank);
    Fail(ErrorCode::kInvalidArgument, "axis {} is outside [{}, {}] of a tensor of rank {}", axis, -r, r - 1, r);
  }
  return *within;
}

/// [outer, count, inner]: element (o, i, k) lies at (o * count + i) * inner + k.
struct AxisView {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t inner = 1;

  AxisView(const Shape& shape, size_t axis)
      : outer(shape.SizeOfRange(0, axis)), count(shape[axis]), inner(shape.SizeOfRange(axis + 1, shape.rank())) {}
  AxisView(int64_t outer_size, int64_t count_size, int64_t inner_size)
      : outer(outer_size), count(count_size), inner(inner_size) {}
};

}  // namespace tessera
