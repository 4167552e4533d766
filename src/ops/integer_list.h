#pragma once

// Integers that attributes and inputs give: shapes, axes, pads.

#include <cstdint>
#include <span>

#include "base/check.h"
#include "ops/axis.h"
#include "tessera/value.h"

namespace tessera {

/// A view of an attribute, or of an int32 or int64 tensor in host memory.
class IntegerList {
 public:
  explicit IntegerList(std::span<const int64_t> values) : data_(values.data()), size_(values.size()), wide_(true) {}
  /// `what` names the input in errors.
  IntegerList(const Tensor& tensor, const char* what)
      : data_(tensor.raw()), size_(static_cast<size_t>(tensor.num_elements())), wide_(tensor.is(ElementType::kInt64)) {
    Require(wide_ || tensor.is(ElementType::kInt32), "{} is {}, expected int32 or int64", what,
            ElementTypeName(tensor.type()));
    Require(tensor.shape().rank() <= 1, "{} has shape {}, expected a list", what, tensor.shape());
  }

  size_t size() const { return size_; }
  int64_t operator[](size_t i) const {
    return wide_ ? static_cast<const int64_t*>(data_)[i] : static_cast<const int32_t*>(data_)[i];
  }

 private:
  const void* data_;
  size_t size_;
  bool wide_;
};

/// The only element of an int32 or int64 tensor in host memory.
inline int64_t ScalarInteger(const Tensor& tensor, const char* what) {
  const bool wide = tensor.is(ElementType::kInt64);
  Require(wide || tensor.is(ElementType::kInt32), "{} is {}, expected int32 or int64", what,
          ElementTypeName(tensor.type()));
  Require(tensor.num_elements() == 1, "{} has shape {}, expected one element", what, tensor.shape());
  return wide ? *tensor.data<int64_t>() : *tensor.data<int32_t>();
}

/// Calls mark(i, axis) for the dimension that each of `axes` names; throws Error where one is outside or named twice.
template <class Mark>
void MarkAxes(const IntegerList& axes, size_t rank, Mark&& mark) {
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = NormalizeAxis(axes[i], rank);
    for (size_t k = 0; k < i; ++k) {
      Require(NormalizeAxis(axes[k], rank) != axis, "axis {} is named twice", axis);
    }
    mark(i, axis);
  }
}

}  // namespace tessera
