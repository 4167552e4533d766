#pragma once

// The numbers that activations are made with: Celu (12), Elu (1, 6, 22), HardSigmoid (1, 6, 22), LeakyRelu (1, 6, 16),
// Selu (1, 6, 22), Shrink (9), SwiGLU (28), Swish (24), ThresholdedRelu (10, 22); com.microsoft: QLinearLeakyRelu,
// QuickGelu (1).

#include "tessera/provider/graph.h"

namespace tessera {

/// Both are 0 for operators that have none.
struct ActivationAttributes {
  explicit ActivationAttributes(const Node& node);

  float alpha = 0;  // of Shrink, lambd
  float beta = 0;   // of Selu, gamma; of Shrink, bias
};

}  // namespace tessera
