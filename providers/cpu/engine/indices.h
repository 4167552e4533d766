#pragma once

// Indices and other integers that come from attributes and inputs.

#include <cstdint>

#include "base/check.h"
#include "ops/axis.h"
#include "tessera/value.h"

namespace tessera::cpu {

[[noreturn]] inline void ThrowIndexOutside(int64_t index, int64_t size) {
  Fail(ErrorCode::kInvalidArgument, "index {} is outside [{}, {}]", index, -size, size - 1);
}

/// `index` in [-size, size) counted from the front; throws Error otherwise.
inline int64_t NormalizeIndex(int64_t index, int64_t size) {
  const int64_t result = index < 0 ? index + size : index;
  if (static_cast<uint64_t>(result) >= static_cast<uint64_t>(size)) [[unlikely]]
    ThrowIndexOutside(index, size);
  return result;
}

/// An int32 or int64 tensor of few elements: shapes, axes, pads.
class Integers {
 public:
  /// `what` names the input in errors; it must outlive this.
  Integers(const Tensor& tensor, const char* what)
      : data_(tensor.raw()), size_(static_cast<size_t>(tensor.num_elements())), wide_(tensor.is(ElementType::kInt64)) {
    Require(wide_ || tensor.is(ElementType::kInt32), "{} is {}, expected int32 or int64", what,
            ElementTypeName(tensor.type()));
    Require(tensor.shape().rank() <= 1, "{} has shape {}, expected a list", what, tensor.shape());
  }
  explicit Integers(const std::vector<int64_t>& values) : data_(values.data()), size_(values.size()), wide_(true) {}

  size_t size() const { return size_; }
  int64_t operator[](size_t i) const {
    return wide_ ? static_cast<const int64_t*>(data_)[i] : static_cast<const int32_t*>(data_)[i];
  }

 private:
  const void* data_;
  size_t size_;
  bool wide_;
};

/// The only element of an int32 or int64 tensor.
inline int64_t ScalarInteger(const Tensor& tensor, const char* what) {
  const bool wide = tensor.is(ElementType::kInt64);
  Require(wide || tensor.is(ElementType::kInt32), "{} is {}, expected int32 or int64", what,
          ElementTypeName(tensor.type()));
  Require(tensor.num_elements() == 1, "{} has {} elements, expected one", what, tensor.num_elements());
  return wide ? *tensor.data<int64_t>() : *tensor.data<int32_t>();
}

/// Calls visitor(const Index* indices) with the tensor's elements as int32_t or int64_t.
template <class Visitor>
void VisitIndices(const Tensor& tensor, Visitor&& visitor) {
  if (tensor.is(ElementType::kInt64)) return visitor(tensor.data<int64_t>());
  if (tensor.is(ElementType::kInt32)) return visitor(tensor.data<int32_t>());
  Fail(ErrorCode::kInvalidArgument, "indices are {}, expected int32 or int64", ElementTypeName(tensor.type()));
}

/// Marks the dimensions that `axes` names, each at most once; throws Error for others.
template <class Mark>
void MarkAxes(const Integers& axes, size_t rank, Mark&& mark) {
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = NormalizeAxis(axes[i], rank);
    for (size_t k = 0; k < i; ++k) {
      Require(NormalizeAxis(axes[k], rank) != axis, "axis {} is named twice", axis);
    }
    mark(i, axis);
  }
}

inline std::byte* Bytes(Tensor& tensor) { return static_cast<std::byte*>(tensor.mutable_raw()); }
inline const std::byte* Bytes(const Tensor& tensor) { return static_cast<const std::byte*>(tensor.raw()); }

}  // namespace tessera::cpu
