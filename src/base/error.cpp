#include "tessera/error.h"

#include <type_traits>

#include "base/check.h"
#include "base/shortened.h"
#include "tessera/printable.h"

namespace tessera {
namespace {

/// Lists of what is known take some KiB.
constexpr size_t kLongestMessage = 16384;

/// Empty for an argument that is no text.
std::string_view TextOf(const fmt::format_args::format_arg& argument) {
  const auto text = [](const auto& value) -> std::string_view {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, const char*>) return value;
    if constexpr (std::is_same_v<T, fmt::string_view>) return {value.data(), value.size()};
    return {};
  };
  return fmt::visit_format_arg(text, argument);
}

/// The text as a format that gives it.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped.append(c == '{' || c == '}' ? 2 : 1, c);
  return escaped;
}

/// The format, its fields numbered, with what is said of names that are too long in it: what stands in quotes is a name, a
/// key or a value, whose length others choose.
std::string WithShortNames(std::string_view format, fmt::format_args args) {
  constexpr std::string_view kQuoted = "'{}'";
  std::string text;
  int argument = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    text += format[i];
    if (format[i] != '{') continue;
    const char next = i + 1 < format.size() ? format[i + 1] : '\0';
    if (next == '{') text += format[++i];
    if (next != '}' && next != ':') continue;
    const std::string_view name = TextOf(args.get(argument));
    if (name.size() > kLongestName && i > 0 && format.substr(i - 1, kQuoted.size()) == kQuoted) {
      text.pop_back();
      text += Escaped(Shortened(name));
      ++i;
    } else {
      text += std::to_string(argument);
    }
    ++argument;
  }
  return text;
}

}  // namespace

Error::Error(ErrorCode code, const std::string& message)
    : std::runtime_error(Shortened(PrintableLines(message), kLongestMessage)), code_(code) {}

Error Error::At(std::string_view where) const {
  constexpr size_t kLongestPlace = 2 * kLongestName;  // an operator and a name
  return Error(code_, Shortened(where, kLongestPlace) + ": " + what());
}

void FailWith(ErrorCode code, fmt::string_view format, fmt::format_args args) {
  throw Error(code, fmt::vformat(WithShortNames({format.data(), format.size()}, args), args));
}

}  // namespace tessera
