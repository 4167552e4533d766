#pragma once

// Tables of bytes.

#include <cstdint>

namespace tessera::cpu {

/// to[i] = table[from[i]] for `count` bytes; the table has 256. `to` may be `from`.
void LookUpBytes(const uint8_t* table, const uint8_t* from, int64_t count, uint8_t* to);

}  // namespace tessera::cpu
