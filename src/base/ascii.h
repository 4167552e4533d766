#pragma once

#include <string>
#include <string_view>

namespace tessera {

/// Whatever the locale: names of formats and options are ASCII, and Turkish has another small I.
inline char AsciiLower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string AsciiLower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = AsciiLower(c);
  return lower;
}

}  // namespace tessera
