#pragma once

// Split (1, 2, 11, 13, 18): the inverse of Concat. Sizes of parts are an attribute, from version 13 on an input.

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/checked.h"
#include "tessera/provider/attributes.h"

namespace tessera {

struct SplitAttributes {
  explicit SplitAttributes(const Node& node)
      : axis(AttributeOr<int64_t>(node, "axis", 0)),
        sizes(AttributeOr<std::vector<int64_t>>(node, "split", {})),
        uneven(node.since_version >= 18) {
    const auto outputs = static_cast<int64_t>(node.outputs.size());
    const auto stated = AttributeOr<int64_t>(node, "num_outputs", outputs);
    if (stated != outputs)
      Fail(ErrorCode::kInvalidGraph, "num_outputs is {}, but the node has {} outputs", stated, outputs);
  }

  /// The parts of `dim` elements, one for each output; `given` are those of the input, where there is one. Throws Error
  /// where they are not all of it.
  void FindParts(int64_t dim, std::optional<std::span<const int64_t>> given, std::span<int64_t> parts) const {
    const auto count = static_cast<int64_t>(parts.size());
    if (!given && sizes.empty()) {
      Require(uneven || dim % count == 0, "{} elements cannot be split into {} equal parts", dim, count);
      const int64_t size = dim / count + (dim % count != 0 ? 1 : 0);
      for (int64_t& part : parts) {
        part = std::min(size, dim);
        dim -= part;
      }
      return;
    }
    const std::span<const int64_t> wanted = given ? *given : std::span(sizes);
    Require(wanted.size() == parts.size(), "split has {} sizes for {} outputs", wanted.size(), parts.size());
    int64_t sum = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i] = wanted[i];
      Require(parts[i] >= 0, "size {} of the split is {}", i, parts[i]);
      sum = CheckedAdd(sum, parts[i]);
    }
    Require(sum == dim, "the sizes of the split sum to {}, the dimension is {}", sum, dim);
  }

  int64_t axis;
  std::vector<int64_t> sizes;  // empty: as the input says, or equal ones
  bool uneven;                 // of equal ones, the last may be smaller
};

}  // namespace tessera
