#include "base/shortened.h"

#include <fmt/format.h>

namespace tessera {
namespace {

constexpr size_t kLongestCodePoint = 4;

bool ContinuesCodePoint(char c) noexcept { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// The place, or that of the code point that it lies in; bytes that are not UTF-8 are cut anywhere.
size_t CodePointAt(std::string_view text, size_t place) noexcept {
  for (size_t i = 0; i < kLongestCodePoint && i < place; ++i) {
    if (!ContinuesCodePoint(text[place - i])) return place - i;
  }
  return place;
}

}  // namespace

std::string Shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  const size_t begin = CodePointAt(text, most / 2), end = CodePointAt(text, text.size() - most / 2);
  return fmt::format("{}...({} bytes)...{}", text.substr(0, begin), text.size(), text.substr(end));
}

}  // namespace tessera
