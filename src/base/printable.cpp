#include "tessera/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace tessera {
namespace {

struct CodeRange {
  uint32_t first, last;
};

/// Code points that only steer the display, of the Unicode categories Cc, Cf, Zl and Zp, and surrogates and private tags.
/// Sorted.
constexpr CodeRange kUnfit[] = {
    {0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},
    {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},     {0x180e, 0x180e},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f},   {0xd800, 0xdfff},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
    {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool IsFit(uint32_t code) noexcept {
  if (code >= 0x20 && code < 0x7f) return true;
  const auto* range = std::lower_bound(std::begin(kUnfit), std::end(kUnfit), code,
                                       [](const CodeRange& r, uint32_t c) { return r.last < c; });
  return range == std::end(kUnfit) || code < range->first;
}

struct CodePoint {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: there is none
};

/// The code point that the text begins with, in the shortest form of UTF-8.
CodePoint Decode(std::string_view text) noexcept {
  const auto at = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t lead = at(0);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xf0 && lead < 0xf8   ? 4
                       : lead >= 0xe0 && lead < 0xf0 ? 3
                       : lead >= 0xc2 && lead < 0xe0 ? 2
                                                     : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  uint32_t code = lead & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((at(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (at(i) & 0x3f);
  }
  const bool shortest = bytes == 2 || code >= (bytes == 3 ? 0x800u : 0x10000u);
  if (!shortest || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, bytes};
}

template <class Keep>
std::string EscapedText(std::string_view text, const Keep& keep) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = Decode(text);
    const size_t bytes = std::max<size_t>(point.bytes, 1);
    if (point.bytes != 0 && (IsFit(point.code) || keep(point.code))) {
      escaped += text.substr(0, bytes);
    } else if (point.code < 0x80) {
      fmt::format_to(std::back_inserter(escaped), "\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (point.code < 0x10000) {
      fmt::format_to(std::back_inserter(escaped), "\\u{:04x}", point.code);
    } else {
      fmt::format_to(std::back_inserter(escaped), "\\U{:08x}", point.code);
    }
    text.remove_prefix(bytes);
  }
  return escaped;
}

}  // namespace

std::string Printable(std::string_view text) {
  return EscapedText(text, [](uint32_t) { return false; });
}

std::string PrintableLines(std::string_view text) {
  return EscapedText(text, [](uint32_t code) { return code == '\n' || code == '\t'; });
}

std::string PrintableJson(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size());
  while (!json.empty()) {
    const CodePoint point = Decode(json);
    const size_t bytes = std::max<size_t>(point.bytes, 1);
    if (point.code < 0x7f ||
        IsFit(point.code)) {  // control characters of strings are escaped already, others are JSON's own
      escaped += json.substr(0, bytes);
    } else if (point.code < 0x10000) {
      fmt::format_to(std::back_inserter(escaped), "\\u{:04x}", point.code);
    } else {
      const uint32_t rest = point.code - 0x10000;
      fmt::format_to(std::back_inserter(escaped), "\\u{:04x}\\u{:04x}", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
    }
    json.remove_prefix(bytes);
  }
  return escaped;
}

}  // namespace tessera
