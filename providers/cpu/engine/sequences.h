#pragma once

// Sequences that a run makes: what their elements take counts against its memory before it is taken.

#include <cstddef>
#include <memory>
#include <utility>

#include "base/checked.h"
#include "base/held_bytes.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// What a tensor of its own costs beside its bytes: the owner, and the allocator's books.
inline constexpr size_t kTensorOverhead = 192;

/// What a value's shape takes outside of the value.
inline size_t ShapeBytes(const Value& value) {
  const Tensor* tensor = value.tensor_if();
  return tensor == nullptr ? 0 : HeldBytes(tensor->shape());
}

/// Room for `count` elements that take `beside` bytes each beside the Value and what tensors hold; shapes of many
/// dimensions count when they come (Append). Throws Error over the limit.
inline Sequence MakeSequence(KernelContext& context, TypeInfo element_type, size_t count, size_t beside = 0) {
  Sequence sequence{std::move(element_type), {}};
  sequence.charge = std::make_shared<MemoryCharge>(context.allocator(), CheckedMul(count, sizeof(Value) + beside));
  sequence.elements.reserve(count);
  return sequence;
}

/// Counts more for a sequence of MakeSequence that nobody else has yet.
inline void ChargeMore(Sequence& sequence, size_t bytes) {
  if (bytes > 0) std::const_pointer_cast<MemoryCharge>(sequence.charge)->Add(bytes);
}

/// Gives back what ChargeMore counted.
inline void ChargeLess(Sequence& sequence, size_t bytes) {
  std::const_pointer_cast<MemoryCharge>(sequence.charge)->GiveBack(bytes);
}

/// Appends an element, and counts its shape. Throws Error over the limit.
inline void Append(Sequence& sequence, Value element) {
  ChargeMore(sequence, ShapeBytes(element));
  sequence.elements.push_back(std::move(element));
}

}  // namespace tessera::cpu
