#pragma once

// Indices that may count from the end, many at a time.

#include <cstdint>

namespace tessera::cpu {

/// Writes each of `count` indices in [-size, size) counted from the front; false where some index is outside. Index is
/// int32_t or int64_t.
template <class Index>
bool PositionsOf(const Index* indices, int64_t count, int64_t size, int64_t* positions);

}  // namespace tessera::cpu
