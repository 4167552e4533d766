#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tessera/value.h"

namespace tessera {

/// Characters outside the string object itself.
inline size_t HeldBytes(const std::string& text) noexcept {
  return text.capacity() > sizeof(std::string) / 2 ? text.capacity() + 1 : 0;
}

/// What a shape takes outside of its object: of few dimensions nothing.
inline size_t HeldBytes(const Shape& shape) noexcept {
  constexpr size_t kHeapBlock = 16;
  return shape.rank() <= Shape::kInlineRank ? 0 : std::bit_ceil(shape.rank()) * sizeof(int64_t) + kHeapBlock;
}

/// What a value takes: elements, the characters of strings, what is inside sequences and maps.
size_t HeldBytes(const Value& value) noexcept;

/// What a type takes outside of its object: dimensions and their names, the types inside it.
size_t HeldBytes(const TypeInfo& type) noexcept;

}  // namespace tessera
