#pragma once

// ConstantOfShape (9, 20, 21, 23, 24, 25).

#include "base/check.h"
#include "ops/integer_list.h"
#include "tessera/provider/attributes.h"

namespace tessera {

struct ConstantOfShapeAttributes {
  explicit ConstantOfShapeAttributes(const Node& node) : value(AttributeOr<Tensor>(node, "value", Tensor())) {
    static constexpr float kZero = 0;
    if (!value.defined()) value = Tensor::Of<float>({1}, std::span(&kZero, 1));
    Require(value.num_elements() == 1, "value has {} elements, expected one", value.num_elements());
  }

  /// `sizes` is input 0, in host memory. Throws Error where one is negative.
  static Shape ResultShape(const Tensor& sizes) {
    const IntegerList dims(sizes, "shape");
    Shape result;
    for (size_t i = 0; i < dims.size(); ++i) {
      Require(dims[i] >= 0, "dimension {} is {}", i, dims[i]);
      result.Append(dims[i]);
    }
    return result;
  }

  Tensor value;  // one element
};

}  // namespace tessera
