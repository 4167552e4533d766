#pragma once

// MaxUnpool: the shape that the pooling had seen, and where its indices lie in a result of another.

#include "base/check.h"
#include "tessera/provider/graph.h"
#include "tessera/shape.h"

namespace tessera {

/// The attributes of MaxUnpool. All throw Error where something does not fit.
class Unpooling {
 public:
  explicit Unpooling(const Node& node);

  /// What the pooling had seen, by these attributes.
  Shape Pooled(const Shape& input) const;

 private:
  Shape kernel_;
  Shape strides_;
  Shape pads_;
};

/// `wanted`, which output_shape asks for.
Shape CheckUnpooled(const Shape& wanted, const Shape& pooled);

/// Where values go whose indices count in `pooled`; another result keeps their coordinates.
class UnpooledIndices {
 public:
  UnpooledIndices(const Shape& pooled, const Shape& result)
      : pooled_(pooled), result_(result), same_(pooled == result), limit_(pooled.num_elements()) {}

  /// -1: the coordinates lie outside.
  int64_t Find(int64_t index) const {
    Require(index >= 0 && index < limit_, "index {} is outside the unpooled tensor of {} elements", index, limit_);
    return same_ ? index : Translate(index);
  }

 private:
  int64_t Translate(int64_t index) const;

  const Shape& pooled_;
  const Shape& result_;
  bool same_;
  int64_t limit_;
};

}  // namespace tessera
