#pragma once

// Conversions between bool, the integers, float and double: one loop for each pair that differs in its bits.

#include <cstdint>

#include "tessera/element_type.h"

namespace tessera::cpu {

/// Converts `count` elements. Input and output may be the same buffer where both types have one size.
using CastLoop = void (*)(const void* from, void* to, int64_t count);

/// The loop for two of the types above; null for a pair whose elements have the same bits (int32 and uint32). Floating
/// point to integers truncates. What does not fit goes through int32 (to integers of up to 32 bits, uint32 excepted) or
/// int64, whose smallest value stands for all that does not fit either, and loses its high bits.
CastLoop FindCastLoop(ElementType from, ElementType to);

/// double to float with RoundToOdd, for a second conversion to a type narrower than float.
void RoundDoublesToOdd(const void* from, void* to, int64_t count);

}  // namespace tessera::cpu
