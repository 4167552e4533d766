#pragma once

// Sequences that a run makes: what their elements take counts against its memory before it is taken.

#include <cstddef>
#include <memory>
#include <utility>

#include "base/checked.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// What a tensor of its own costs beside its bytes: the owner, and the allocator's books.
inline constexpr size_t kTensorOverhead = 192;

/// Room for `count` elements that take `beside` bytes each beside the Value and what tensors hold. Throws Error over the
/// limit.
inline Sequence MakeSequence(KernelContext& context, TypeInfo element_type, size_t count, size_t beside = 0) {
  Sequence sequence{std::move(element_type), {}};
  sequence.charge = std::make_shared<MemoryCharge>(context.allocator(), CheckedMul(count, sizeof(Value) + beside));
  sequence.elements.reserve(count);
  return sequence;
}

}  // namespace tessera::cpu
