#include "input_growth.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

namespace tessera::fuzz {
namespace {

Tensor Repeat(const Tensor& tensor, size_t axis, int64_t times) {
  Shape shape = tensor.shape();
  const int64_t outer = shape.SizeOfRange(0, axis), inner = shape.SizeOfRange(axis, shape.rank());
  shape[axis] *= times;
  Tensor grown(tensor.type(), shape);
  if (tensor.is(ElementType::kString)) {
    for (int64_t i = 0; i < outer * times; ++i) {
      const std::string* from = tensor.data<std::string>() + i / times * inner;
      std::copy_n(from, inner, grown.mutable_data<std::string>() + i * inner);
    }
    return grown;
  }
  const size_t row = tensor.byte_size() / static_cast<size_t>(std::max<int64_t>(outer, 1));
  for (int64_t i = 0; i < outer * times; ++i) {
    std::memcpy(static_cast<std::byte*>(grown.mutable_raw()) + static_cast<size_t>(i) * row,
                static_cast<const std::byte*>(tensor.raw()) + static_cast<size_t>(i / times) * row, row);
  }
  return grown;
}

template <class T>
Tensor Enlarge(const Tensor& tensor, int64_t element, int64_t times) {
  Tensor grown(tensor.type(), tensor.shape());
  std::copy_n(tensor.data<T>(), tensor.num_elements(), grown.mutable_data<T>());
  grown.mutable_data<T>()[element] = static_cast<T>(grown.mutable_data<T>()[element] * static_cast<T>(times));
  return grown;
}

}  // namespace

std::optional<std::vector<Value>> Grow(const std::vector<Value>& inputs, const Growth& way, int64_t times) {
  std::vector<Value> grown = inputs;
  bool changed = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor* tensor = inputs[i].tensor_if();
    if (tensor == nullptr || !tensor->defined() || BitWidth(tensor->type()) < 8) continue;
    if (way.element >= 0) {
      if (static_cast<int>(i) != way.input || way.element >= tensor->num_elements()) continue;
      if (tensor->is(ElementType::kInt64)) grown[i] = Enlarge<int64_t>(*tensor, way.element, times);
      else if (tensor->is(ElementType::kInt32)) grown[i] = Enlarge<int32_t>(*tensor, way.element, times);
      else if (tensor->is(ElementType::kFloat)) grown[i] = Enlarge<float>(*tensor, way.element, times);
      else continue;
      changed = true;
      continue;
    }
    for (size_t axis = 0; axis < tensor->shape().rank(); ++axis) {
      const bool here = way.size > 0 ? inputs[i].tensor().shape()[axis] == way.size
                                     : static_cast<int>(i) == way.input && static_cast<int>(axis) == way.axis;
      if (!here || inputs[i].tensor().shape()[axis] == 0) continue;
      grown[i] = Repeat(grown[i].tensor(), axis, times);
      changed = true;
    }
  }
  if (!changed) return std::nullopt;
  return grown;
}

double BytesOf(const std::vector<Value>& inputs) {
  double bytes = 0;
  for (const Value& input : inputs) {
    if (const Tensor* tensor = input.tensor_if(); tensor != nullptr && tensor->defined())
      bytes += static_cast<double>(tensor->byte_size());
  }
  return bytes;
}

std::vector<Growth> WaysOf(const std::vector<Value>& inputs) {
  std::set<int64_t> sizes;
  std::vector<Growth> ways;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor* tensor = inputs[i].tensor_if();
    if (tensor == nullptr || !tensor->defined()) continue;
    for (size_t axis = 0; axis < tensor->shape().rank(); ++axis) {
      const int64_t size = tensor->shape()[axis];
      if (size > 0 && sizes.insert(size).second) ways.push_back({.size = size});
      if (size > 0) ways.push_back({.input = static_cast<int>(i), .axis = static_cast<int>(axis)});
    }
    const bool number = tensor->is(ElementType::kInt64) || tensor->is(ElementType::kInt32) ||
                        (tensor->is(ElementType::kFloat) && tensor->num_elements() == 1);
    for (int64_t e = 0; number && tensor->num_elements() <= 4 && e < tensor->num_elements(); ++e) {
      ways.push_back({.input = static_cast<int>(i), .element = e});
    }
  }
  return ways;
}

}  // namespace tessera::fuzz
