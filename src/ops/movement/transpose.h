#pragma once

// Transpose (1, 13, 21, 23, 24, 25).

#include <vector>

#include "base/check.h"
#include "ops/axis.h"
#include "tessera/provider/attributes.h"

namespace tessera {

struct TransposeAttributes {
  explicit TransposeAttributes(const Node& node) {
    const auto* given = FindTyped<std::vector<int64_t>>(node, "perm");
    reverses = given == nullptr;
    if (reverses) return;
    std::vector<bool> seen(given->size());
    for (const int64_t axis : *given) {
      const size_t from = NormalizeAxis(axis, given->size());
      Require(!seen[from], "perm names dimension {} twice", from);
      seen[from] = true;
      perm.push_back(from);
    }
  }

  void Check(size_t rank) const {
    Require(reverses || perm.size() == rank, "perm has {} dimensions, the data {}", perm.size(), rank);
  }
  /// The dimension of the data, which has so many, that becomes dimension `i`.
  size_t From(size_t i, size_t rank) const { return reverses ? rank - 1 - i : perm[i]; }

  bool reverses;
  std::vector<size_t> perm;  // unless it reverses
};

}  // namespace tessera
