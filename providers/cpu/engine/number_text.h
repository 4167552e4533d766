#pragma once

// Numbers as strings and back, as Cast means them.

#include <locale.h>

#include <cstdint>
#include <string>

#include "cpu/engine/cast.h"

namespace tessera::cpu {

/// For functions of the C library that would follow the process's locale: a point is a point.
locale_t NumberLocale();

/// The shortest decimal that reads back as the same number of its type; floats keep a point ("3.0"), and an exponent only
/// below 1e-4 and from 1e16 on; "nan", "inf", "-inf". Booleans are "True" and "False".
void FormatNumbers(ElementType type, const void* from, int64_t begin, int64_t count, std::string* out);

/// Reads decimals with surrounding spaces, and "INF" and "NaN" in any case. Integers may be written as such or as a
/// decimal, which truncates. Throws Error for anything else. Writes the elements from `begin` on of the tensor at `to`.
void ParseNumbers(const std::string* text, int64_t count, ElementType type, const CastOptions& options, void* to,
                  int64_t begin);

}  // namespace tessera::cpu
