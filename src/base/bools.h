#pragma once

// Bytes that stand for truth. Models and callers may bring others than 0 and 1, which C++ does not know as values of bool;
// kernels compare, count and store the bytes as they are. They become 0 and 1 where they come in.

#include <algorithm>
#include <cstddef>
#include <span>

namespace tessera {

/// None is another than 0 and 1.
inline bool ArePlainBools(std::span<const std::byte> bytes) noexcept {
  std::byte all{0};
  for (const std::byte byte : bytes) all |= byte;
  return (all & std::byte{0xfe}) == std::byte{0};
}

/// All but 0 is true.
inline void MakePlainBools(std::span<std::byte> bytes) noexcept {
  for (std::byte& byte : bytes) byte = byte != std::byte{0} ? std::byte{1} : std::byte{0};
}

}  // namespace tessera
