#include "ops/reduction/reduce.h"

#include "ops/axis.h"

namespace tessera {

Shape ReducedDimensions(const Shape& shape, std::span<const int64_t> axes) {
  Shape reduced(shape.rank(), axes.empty() ? 1 : 0);
  for (const int64_t axis : axes) reduced[NormalizeAxis(axis, shape.rank())] = 1;
  return reduced;
}

Shape ReducedShape(const Shape& shape, const Shape& reduced, bool keepdims) {
  Shape result;
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (reduced[i] == 0) {
      result.Append(shape[i]);
    } else if (keepdims) {
      result.Append(1);
    }
  }
  return result;
}

}  // namespace tessera
