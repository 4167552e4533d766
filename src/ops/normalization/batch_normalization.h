#pragma once

// BatchNormalization (1, 6, 7, 9, 14, 15).

#include <algorithm>

#include "base/check.h"
#include "tessera/provider/attributes.h"
#include "tessera/shape.h"

namespace tessera {

struct BatchNormalizationAttributes {
  explicit BatchNormalizationAttributes(const Node& node)
      : epsilon(AttributeOr<float>(node, "epsilon", 1e-5f)),
        momentum(AttributeOr<float>(node, "momentum", 0.9f)),
        spatial(node.since_version >= 9 || AttributeOr<int64_t>(node, "spatial", 1) != 0),
        training(Trains(node)) {}

  /// Of an input [N, C, ...]; a vector has one channel.
  static int64_t Channels(const Shape& x) {
    Require(x.rank() >= 1, "the input has rank 0, at least the batch dimension is expected");
    return x.rank() == 1 ? 1 : x[1];
  }

  float epsilon;
  float momentum;
  bool spatial;   // one mean and variance for each channel; else for each element of a sample
  bool training;  // by the batch's own statistics

 private:
  /// Before version 14 by outputs beyond the first that are asked for, before version 7 unless is_test is set.
  static bool Trains(const Node& node) {
    if (node.since_version >= 14) return AttributeOr<int64_t>(node, "training_mode", 0) != 0;
    const bool asks = std::any_of(node.outputs.begin() + (node.outputs.empty() ? 0 : 1), node.outputs.end(),
                                  [](ValueIndex output) { return output != kNone; });
    return asks && AttributeOr<int64_t>(node, "is_test", 0) == 0;
  }
};

}  // namespace tessera
