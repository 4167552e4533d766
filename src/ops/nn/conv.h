#pragma once

// Conv (1, 11, 22), ConvInteger (10), QLinearConv (10), DeformConv (19, 22): groups, windows and the shapes that they fit.

#include "ops/nn/window.h"
#include "tessera/provider/attributes.h"
#include "tessera/value.h"

namespace tessera {

/// The groups of a convolution of any kind, as passes read them; kernels refuse less than one.
inline int64_t GroupOf(const Node& node) { return AttributeOr<int64_t>(node, "group", 1); }

struct ConvAttributes {
  explicit ConvAttributes(const Node& node);

  /// Whether input channels and outputs fall into groups, as weights of this shape have them.
  bool FitsGroups(const Shape& weights) const { return weights[0] % group == 0; }

  /// Throws Error unless images x [N, C, ...] fit weights [M, C / group, ...] and a bias [M], which may be null.
  void Check(const Shape& x, const Shape& weights, const Tensor* bias) const;
  /// The same, and the window over the images.
  Window Fit(const Shape& x, const Shape& weights, const Tensor* bias) const;
  /// The result's shape.
  static Shape ResultShape(const Shape& x, const Shape& weights, const Window& window);

  WindowAttributes window;
  int64_t group;
};

struct DeformConvAttributes {
  explicit DeformConvAttributes(const Node& node);

  /// The same of images of two dimensions; `offset` and `mask` say where it reads them, `bias` and `mask` may be null.
  Window Fit(const Shape& x, const Shape& weights, const Shape& offset, const Tensor* bias, const Tensor* mask) const;

  ConvAttributes conv;
  int64_t offset_group;
};

}  // namespace tessera
