#pragma once

// Bytes that stand for truth. Models and callers may bring others than 0 and 1, which C++ does not know as values of bool;
// kernels compare, count and store the bytes as they are. They become 0 and 1 where they come in.

#include <cstddef>
#include <span>

namespace tessera {

/// None is another than 0 and 1. Each run asks this of its inputs: read at the memory's speed, with cancellation points.
bool ArePlainBools(std::span<const std::byte> bytes);

/// Copies, all but 0 becoming 1, with cancellation points. `to` has room for as many bytes and may be where they are.
void CopyAsPlainBools(std::span<const std::byte> bytes, std::byte* to);

}  // namespace tessera
