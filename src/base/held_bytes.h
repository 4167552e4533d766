#pragma once

#include <cstddef>
#include <string>

#include "tessera/value.h"

namespace tessera {

/// Characters outside the string object itself.
inline size_t HeldBytes(const std::string& text) noexcept {
  return text.capacity() > sizeof(std::string) / 2 ? text.capacity() + 1 : 0;
}

/// What a value takes: elements, the characters of strings, what is inside sequences and maps.
size_t HeldBytes(const Value& value) noexcept;

/// What a type takes outside of its object: dimensions and their names, the types inside it.
size_t HeldBytes(const TypeInfo& type) noexcept;

}  // namespace tessera
