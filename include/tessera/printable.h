#pragma once

// Text from models and files, made fit for terminals and logs.

#include <string>
#include <string_view>

#include "tessera/export.h"

namespace tessera {

/// The text on one line, with nothing in it that a terminal would obey or that would hide what it says: control characters
/// (line ends and escape sequences among them), bytes that are not UTF-8 and code points that only steer the display
/// (direction overrides, invisible and separating ones) become \xNN, \uNNNN or \UNNNNNNNN. Everything else stays as it is.
/// Texts of Errors and of the log have been through this, but for their line ends.
TESSERA_API std::string Printable(std::string_view text);

/// The same, but line ends and tabs stay: for texts of several lines.
TESSERA_API std::string PrintableLines(std::string_view text);

/// Valid JSON in which strings have escapes of JSON's own where Printable() would show one: who parses it gets the same
/// strings.
TESSERA_API std::string PrintableJson(std::string_view json);

}  // namespace tessera
