#pragma once

#include <cstdint>

namespace tessera::cpu {

/// The sum of each of `planes` planes of `size` bytes, one after the other; signed bytes where `is_signed`.
void SumBytes(const uint8_t* bytes, bool is_signed, int64_t planes, int64_t size, int64_t* sums);

}  // namespace tessera::cpu
