#pragma once

// What the sequence operators share.

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "base/value_type.h"
#include "cpu/engine/sequences.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// An element that outlives the run: tensors that look at planned memory are copied.
inline Value OwnedElement(const KernelContext& context, const Value& value) {
  const Tensor* tensor = value.tensor_if();
  return tensor == nullptr || tensor->owner() != nullptr ? value : Value(tensor->Clone(context.allocator()));
}

/// The declared element type of a sequence, else that of its first element.
inline TypeInfo ElementTypeOfSequence(const TypeInfo& sequence, const TypeInfo& element) {
  TypeInfo type = sequence.inner ? *sequence.inner : element;
  type.shape.reset();
  return type;
}

/// Whoever takes elements out relies on the type that the sequence states, and on one type of all.
inline void RequireFits(const Sequence& sequence, const Value& element) {
  const Value& model = sequence.elements.empty() ? element : sequence.elements.front();
  const Tensor* first = model.tensor_if();
  const Tensor* tensor = element.tensor_if();
  Require(first == nullptr || tensor == nullptr || first->type() == tensor->type(), "elements of a sequence are {} and {}",
          model.type(), element.type());
  if (!Fits(element, sequence.element_type)) [[unlikely]] {
    Fail(ErrorCode::kInvalidArgument, "an element is {}, the sequence is of {}", element.type(), sequence.element_type);
  }
}

inline void RequireOneType(const Sequence& sequence) {
  for (const Value& element : sequence.elements) RequireFits(sequence, element);
}

/// The one integer in an int32 or int64 tensor.
inline int64_t ScalarIndex(const Tensor& tensor) {
  Require(tensor.num_elements() == 1, "a position is {} numbers, expected one", tensor.num_elements());
  if (tensor.is(ElementType::kInt32)) return tensor.data<int32_t>()[0];
  Require(tensor.is(ElementType::kInt64), "a position is {}, expected int32 or int64", ElementTypeName(tensor.type()));
  return tensor.data<int64_t>()[0];
}

/// `position` counted from the end where it is negative; throws Error unless it is in [-size, size).
inline size_t ResolvePosition(int64_t position, size_t size) {
  const auto n = static_cast<int64_t>(size);
  Require(position >= -n && position < n, "position {} is outside a sequence of {} elements", position, size);
  return static_cast<size_t>(position < 0 ? position + n : position);
}

inline size_t ResolveAxis(int64_t axis, int64_t low, int64_t high) {
  Require(axis >= low && axis < high, "axis {} is outside [{}, {})", axis, low, high);
  return static_cast<size_t>(axis < 0 ? axis - low : axis);
}

/// Input 0, to be changed, with room for one more element; what another value still shares is copied.
inline Sequence EditableSequence(KernelContext& context) {
  Value taken = context.TakeInput(0);
  Sequence* own = taken.unshared_sequence();
  const Sequence& given = taken.sequence();
  const size_t size = given.elements.size();
  if (own != nullptr && own->charge != nullptr && own->elements.capacity() > size) return std::move(*own);
  // Twice as many: a chain of insertions moves each element a few times in all.
  Sequence larger = MakeSequence(context, given.element_type, std::max<size_t>(2 * size, 4));
  if (own != nullptr) {
    std::move(own->elements.begin(), own->elements.end(), std::back_inserter(larger.elements));
  } else {
    larger.elements.assign(given.elements.begin(), given.elements.end());
  }
  larger.num_owned = given.num_owned;
  size_t shapes = 0;
  for (const Value& element : larger.elements) shapes += ShapeBytes(element);
  ChargeMore(larger, shapes);
  return larger;
}

}  // namespace tessera::cpu
