#include "ops/nn/pool.h"

#include "base/check.h"
#include "tessera/provider/attributes.h"

namespace tessera {
namespace {

/// A float in version 1 and an integer since.
double PowerOf(const Node& node) {
  if (!node.op_type.ends_with("LpPool")) return 1;
  return node.since_version == 1 ? static_cast<double>(AttributeOr<float>(node, "p", 2.0f))
                                 : static_cast<double>(AttributeOr<int64_t>(node, "p", 2));
}

}  // namespace

PoolAttributes::PoolAttributes(const Node& node)
    : window(node),
      global(node.op_type.starts_with("Global")),
      count_include_pad(AttributeOr<int64_t>(node, "count_include_pad", 0) != 0),
      column_major(AttributeOr<int64_t>(node, "storage_order", 0) != 0),
      p(PowerOf(node)) {
  Require(p > 0, "attribute 'p' is {}, which must be positive", p);
}

Window PoolAttributes::Fit(const Shape& x) const {
  Require(x.rank() >= 3, "pooling needs batch, channels and at least one spatial axis, the input is {}", x);
  const auto image = x.dims().subspan(2);
  // Version 1 of LpPool lets kernel_shape be absent, too.
  if (!global) return window.Fit(image, window.has_kernel() ? window.kernel().dims() : image);
  const Shape ones(image.size(), 1), zeros(image.size());
  return {.input = Shape(image),
          .output = ones,
          .kernel = Shape(image),
          .strides = ones,
          .dilations = ones,
          .begin = zeros,
          .end = zeros};
}

Shape PoolAttributes::ResultShape(const Shape& x, const Window& window) {
  Shape shape{x[0], x[1]};
  for (const int64_t dim : window.output) shape.Append(dim);
  return shape;
}

}  // namespace tessera
