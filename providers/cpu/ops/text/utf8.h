#pragma once

// Characters of UTF-8 text.

#include <utf8proc.h>

#include <string_view>

#include "base/check.h"

namespace tessera::cpu {

struct Utf8Character {
  int32_t code;
  size_t bytes;
};

/// The first character of `rest`, which is not empty; ill-formed UTF-8 is an error, which names `text`.
inline Utf8Character FirstCharacter(std::string_view rest, std::string_view text) {
  utf8proc_int32_t code = 0;
  const utf8proc_ssize_t bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(rest.data()),
                                                  static_cast<utf8proc_ssize_t>(rest.size()), &code);
  Require(bytes > 0, "'{}' is not valid UTF-8", text);
  return {code, static_cast<size_t>(bytes)};
}

inline int64_t CountCharacters(std::string_view text) {
  int64_t count = 0;
  for (std::string_view rest = text; !rest.empty(); ++count) rest.remove_prefix(FirstCharacter(rest, text).bytes);
  return count;
}

}  // namespace tessera::cpu
