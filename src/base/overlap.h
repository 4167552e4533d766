#pragma once

// Tensors are views of memory that programs give: two of them may share some of it.

#include <cstddef>
#include <cstring>
#include <functional>

namespace tessera {

/// Whether two pieces of memory of that size have a byte in common.
inline bool Overlap(const void* a, const void* b, size_t bytes) noexcept {
  const auto *first = static_cast<const std::byte*>(a), *second = static_cast<const std::byte*>(b);
  const std::less<> before;
  return before(first, second + bytes) && before(second, first + bytes);
}

}  // namespace tessera
