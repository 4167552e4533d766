#pragma once

// What the programs print. Names come from models and files, which may hold anything that a terminal obeys.

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

#include "tessera/printable.h"

namespace tessera {

/// An argument as it may be printed: texts on one line, without what steers a terminal.
template <class T>
decltype(auto) Shown(const T& argument) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return Printable(argument);
  } else {
    return (argument);
  }
}

/// fmt::print with each text among the arguments made printable; the format itself is the program's own.
template <class... Args>
void Print(std::FILE* to, fmt::format_string<Args...> format, const Args&... args) {
  fmt::vprint(to, format, fmt::make_format_args(Shown(args)...));
}
template <class... Args>
void Print(fmt::format_string<Args...> format, const Args&... args) {
  fmt::vprint(stdout, format, fmt::make_format_args(Shown(args)...));
}

/// A text of several lines.
inline void PrintLines(std::string_view text) {
  const std::string printable = PrintableLines(text);
  std::fwrite(printable.data(), 1, printable.size(), stdout);
}

}  // namespace tessera
