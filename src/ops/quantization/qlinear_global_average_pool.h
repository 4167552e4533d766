#pragma once

// QLinearGlobalAveragePool, com.microsoft, version 1: [batch, channels, spatial...], or channels last.

#include "base/check.h"
#include "tessera/provider/attributes.h"
#include "tessera/shape.h"

namespace tessera {

struct QLinearGlobalAveragePoolAttributes {
  explicit QLinearGlobalAveragePoolAttributes(const Node& node)
      : channels_last(AttributeOr<int64_t>(node, "channels_last", 0) != 0) {}

  struct Sizes {
    Shape result;
    int64_t channels, pixels;
  };
  Sizes Infer(const Shape& x) const {
    Require(x.rank() >= 2, "the input must have batch and channels, it is {}", x);
    Sizes sizes{x, channels_last ? x.back() : x[1], 1};
    const size_t first = channels_last ? 1 : 2;
    for (size_t i = first; i < first + x.rank() - 2; ++i) {
      sizes.pixels *= x[i];
      sizes.result[i] = 1;
    }
    return sizes;
  }

  bool channels_last;
};

}  // namespace tessera
