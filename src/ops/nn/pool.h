#pragma once

// MaxPool (1, 8, 10, 11, 12, 22), AveragePool (1, 7, 10, 11, 19, 22), LpPool (1, 2, 11, 18, 22), and GlobalMaxPool,
// GlobalAveragePool (1, 22), GlobalLpPool (1, 2, 22), whose window is the image.

#include "ops/nn/window.h"

namespace tessera {

struct PoolAttributes {
  explicit PoolAttributes(const Node& node);

  /// The window over images x [N, C, ...]. Throws Error where it does not fit.
  Window Fit(const Shape& x) const;
  /// The result's shape.
  static Shape ResultShape(const Shape& x, const Window& window);

  WindowAttributes window;
  bool global;
  bool count_include_pad;  // averages divide by the padding's elements too
  bool column_major;       // storage_order: what the indices of maxima count in
  double p;                // of LpPool: the norm
};

}  // namespace tessera
