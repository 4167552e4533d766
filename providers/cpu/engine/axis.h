#pragma once

// A tensor seen around one axis.

#include <cstdint>

#include "base/checked.h"
#include "cpu/engine/indices.h"
#include "tessera/provider/kernel.h"
#include "tessera/shape.h"

namespace tessera::cpu {

/// [outer, count, inner]: element (o, i, k) lies at (o * count + i) * inner + k.
struct AxisView {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t inner = 1;

  AxisView(const Shape& shape, size_t axis)
      : outer(shape.SizeOfRange(0, axis)), count(shape[axis]), inner(shape.SizeOfRange(axis + 1, shape.rank())) {}
  AxisView(int64_t outer_size, int64_t count_size, int64_t inner_size)
      : outer(outer_size), count(count_size), inner(inner_size) {}
};

/// The attribute 'axis' of Softmax and its like: before version 13 the input is seen as a matrix from that axis on.
class SoftmaxAxis {
 public:
  explicit SoftmaxAxis(const KernelInfo& info)
      : flatten_(info.since_version() < 13), axis_(info.attribute<int64_t>("axis", flatten_ ? 1 : -1)) {}

  AxisView View(const Shape& shape) const {
    const size_t axis = NormalizeAxis(axis_, shape.rank());
    if (!flatten_) return AxisView(shape, axis);
    return AxisView(shape.SizeOfRange(0, axis), shape.SizeOfRange(axis, shape.rank()), 1);
  }

 private:
  bool flatten_;
  int64_t axis_;
};

}  // namespace tessera::cpu
