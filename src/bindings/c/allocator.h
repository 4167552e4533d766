#pragma once

// Allocators of Tessera's as clients see them, and clients' as Tessera uses them.

#include <memory>

#include "bindings/c/memory_info.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/value.h"

namespace tessera::c_abi {

/// What the heap writes over when memory is given back.
struct HeapLinks {
  void* links[2] = {};
};

/// An allocator of Tessera's behind the functions of the C ABI. The client releases it, or it lives as long as the process.
struct OfferedAllocator : HeapLinks, OrtAllocator {
  /// `owner` keeps the allocator alive.
  OfferedAllocator(Allocator& offered, OrtMemoryInfo its_info, std::shared_ptr<const void> its_owner);
  /// Leaves functions behind that give nothing, for clients that ask once more.
  ~OfferedAllocator();

  Allocator& allocator;
  const OrtMemoryInfo info;
  const std::shared_ptr<const void> owner;
};

/// The processor's, which lives as long as the process.
OrtAllocator& DefaultAllocator() noexcept;

/// A tensor whose buffer, strings included, comes from the client's allocator and goes back to it.
Tensor AllocatedTensor(ElementType type, const Shape& shape, OrtAllocator& allocator);

/// The client's allocator for all that Tessera allocates; it outlives what this gives out.
std::shared_ptr<Allocator> ClientAllocator(OrtAllocator& allocator);

}  // namespace tessera::c_abi
