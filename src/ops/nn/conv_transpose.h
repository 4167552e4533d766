#pragma once

// ConvTranspose (1, 11, 22): groups, the window, and the shapes that they fit.

#include <span>

#include "ops/nn/window.h"
#include "tessera/value.h"

namespace tessera {

struct ConvTransposeAttributes {
  explicit ConvTransposeAttributes(const Node& node);

  /// The output as a sliding window's input: its columns are the operator's input pixels. Throws Error unless images x
  /// [N, C, ...] fit weights [C, M / group, ...] and a bias of M numbers, which may be null.
  Window Fit(const Shape& x, const Shape& weights, const Tensor* bias) const;
  /// The same from spatial dimensions alone.
  Window FitImage(std::span<const int64_t> input, std::span<const int64_t> kernel) const;

  /// M, of weights that fit.
  int64_t Outputs(const Shape& weights) const;
  /// The result's shape.
  Shape ResultShape(const Shape& x, const Shape& weights, const Window& window) const;

  WindowAttributes window;
  int64_t group;
  Shape output_padding;
  Shape output_shape;
};

}  // namespace tessera
