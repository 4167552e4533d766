#pragma once

// Elementwise maxima of rows of bytes.

#include <cstddef>
#include <cstdint>

namespace tessera::cpu {

/// to[i] = the maximum of rows[r][i] over `count` rows, at least one, of n bytes each. One of the rows may be `to`.
void MaxOfRows(const uint8_t* const* rows, size_t count, bool is_signed, int64_t n, uint8_t* to);

}  // namespace tessera::cpu
