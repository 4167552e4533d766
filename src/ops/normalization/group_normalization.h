#pragma once

// GroupNormalization (18, 21), and InstanceNormalization (1, 6, 22), whose groups are single channels.

#include "base/check.h"
#include "tessera/provider/attributes.h"
#include "tessera/shape.h"

namespace tessera {

struct GroupNormalizationAttributes {
  explicit GroupNormalizationAttributes(const Node& node)
      : epsilon(AttributeOr<float>(node, "epsilon", 1e-5f)),
        instances(node.op_type == "InstanceNormalization"),
        scales_groups(!instances && node.since_version < 21),
        num_groups(AttributeOr<int64_t>(node, "num_groups", 0)) {
    Require(instances || num_groups > 0, "num_groups is {}, which must be positive", num_groups);
  }

  /// How many groups the channels of an input [N, C, ...] fall into. Throws Error where they do not.
  int64_t Groups(const Shape& x) const {
    Require(x.rank() >= 2, "the input has shape {}, batch and channels are expected", x);
    const int64_t channels = x[1];
    if (instances) return channels;
    Require(channels % num_groups == 0, "{} channels do not fall into {} groups", channels, num_groups);
    return num_groups;
  }

  float epsilon;
  bool instances;      // each channel is a group
  bool scales_groups;  // scale and bias have a number for each group, not for each channel
  int64_t num_groups;
};

}  // namespace tessera
