#pragma once

// TopK (1, 10, 11, 24): k is an attribute, from version 10 on an input.

#include "base/check.h"
#include "ops/axis.h"
#include "tessera/provider/attributes.h"
#include "tessera/value.h"

namespace tessera {

struct TopKAttributes {
  explicit TopKAttributes(const Node& node)
      : axis(AttributeOr<int64_t>(node, "axis", -1)),
        largest(AttributeOr<int64_t>(node, "largest", 1) != 0),
        k_(node.since_version < 10 ? AttributeOr<int64_t>(node, "k", -1) : kFromInput) {
    Require(k_ >= 0 || node.since_version >= 10, "k is {}, a non-negative number is expected", k_);
  }

  /// How many of an axis of `count` elements; `given` is input 1, in host memory. Throws Error where it has fewer.
  int64_t Count(const Tensor* given, int64_t count) const {
    int64_t k = k_;
    if (k == kFromInput) {
      Require(given != nullptr && given->is(ElementType::kInt64) && given->num_elements() == 1,
              "K is {}, one int64 is expected", OptionalShape{given});
      k = *given->data<int64_t>();
    }
    Require(k >= 0 && k <= count, "k is {}, a number from 0 to the axis's {} is expected", k, count);
    return k;
  }

  int64_t axis;
  bool largest;

 private:
  static constexpr int64_t kFromInput = -2;
  int64_t k_;
};

}  // namespace tessera
