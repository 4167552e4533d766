#pragma once

// LRN (1, 13).

#include <algorithm>

#include "base/check.h"
#include "tessera/provider/attributes.h"

namespace tessera {

struct LrnAttributes {
  explicit LrnAttributes(const Node& node)
      : size(AttributeOr<int64_t>(node, "size", 0)),
        alpha(AttributeOr<float>(node, "alpha", 1e-4f)),
        beta(AttributeOr<float>(node, "beta", 0.75f)),
        bias(AttributeOr<float>(node, "bias", 1.0f)) {
    Require(size > 0, "size is {}, a positive number is expected", size);
  }

  /// The window of channel c is [c - before, c + after].
  int64_t Before(int64_t channels) const { return std::min((size - 1) / 2, channels); }
  int64_t After(int64_t channels) const { return std::min(size / 2, channels); }

  int64_t size;
  float alpha, beta, bias;
};

}  // namespace tessera
