#pragma once

// LayerNormalization (17, ONNX Runtime's 1), RMSNormalization (23), ONNX Runtime's SimplifiedLayerNormalization (1).

#include <algorithm>

#include "tessera/provider/attributes.h"
#include "tessera/shape.h"

namespace tessera {

/// The dimensions from `axis` on are a row.
struct LayerNormalizationAttributes {
  explicit LayerNormalizationAttributes(const Node& node)
      : axis(AttributeOr<int64_t>(node, "axis", -1)),
        epsilon(AttributeOr<float>(node, "epsilon", 1e-5f)),
        centers(node.op_type == "LayerNormalization") {}

  /// Of the outputs for mean and inverse deviation, one for each row.
  static Shape StatisticsShape(const Shape& x, size_t first) {
    Shape reduced = x;
    std::fill(reduced.begin() + first, reduced.end(), 1);
    return reduced;
  }
  /// Where the inverse deviation is given out, after the mean where there is one.
  size_t inverse_output() const noexcept { return centers ? 2 : 1; }

  int64_t axis;
  float epsilon;
  bool centers;  // the mean is taken off
};

}  // namespace tessera
