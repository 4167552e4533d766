#include "cpu/engine/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <type_traits>

#include "base/check.h"
#include "kernels/elementwise/convert.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kTextBlock = 64;

/// `digits` is scientific notation ("-1.25e+03"); gives what Python's repr does.
std::string Spell(std::string_view scientific, double magnitude) {
  if (magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16)) {
    const size_t e = scientific.find('e');
    int exponent = 0;
    std::string_view exponent_text = scientific.substr(e + 1);
    if (exponent_text.front() == '+') exponent_text.remove_prefix(1);
    std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
    std::string text, digits;
    for (char c : scientific.substr(0, e)) {
      if (c == '-') text += c;
      else if (c != '.') digits += c;
    }
    if (exponent < 0) {
      text += "0.";
      text.append(static_cast<size_t>(-exponent - 1), '0');
      return text + digits;
    }
    const size_t whole = static_cast<size_t>(exponent) + 1;
    if (digits.size() < whole + 1) digits.append(whole + 1 - digits.size(), '0');
    return text + digits.substr(0, whole) + "." + digits.substr(whole);
  }
  return std::string(scientific);
}

template <class F>
std::string Special(F value) {
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

template <class F>
std::string Format(F value) {
  if (!std::isfinite(value)) return Special(value);
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  return Spell({buffer, static_cast<size_t>(end - buffer)}, std::abs(static_cast<double>(value)));
}

/// Of a float type narrower than float the shortest digits are few: tries them in turn.
std::string FormatNarrow(float value, const ElementCast& narrow, const ElementCast& widen) {
  if (!std::isfinite(value)) return Special(value);
  char buffer[64];
  for (int precision = 0;; ++precision) {
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific, precision).ptr;
    float read = 0;
    std::from_chars(buffer, end, read);
    uint16_t narrowed = 0;
    float back = 0;
    narrow.Run(&read, 0, &narrowed, 0, 1);
    widen.Run(&narrowed, 0, &back, 0, 1);
    if (back == value || precision == 8) {
      return Spell({buffer, static_cast<size_t>(end - buffer)}, std::abs(static_cast<double>(value)));
    }
  }
}

}  // namespace

locale_t NumberLocale() {
  static const locale_t locale = newlocale(LC_ALL_MASK, "C", locale_t{});
  return locale;
}

namespace {

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r\f\v";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// Takes the plus sign that from_chars refuses; false where another sign follows it.
bool SkipPlus(std::string_view& text) {
  if (text.empty() || text.front() != '+') return true;
  text.remove_prefix(1);
  return text.empty() || (text.front() != '-' && text.front() != '+');
}

/// Decimal, or a word that from_chars knows in any case ("inf", "infinity", "nan").
template <class F>
bool ParseFloat(std::string_view text, F& value) {
  if (!SkipPlus(text)) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return false;
  if (error == std::errc::result_out_of_range) {
    // Too large or too small; from_chars does not say which, a wider type does.
    const long double wide = strtold_l(std::string(text).c_str(), nullptr, NumberLocale());
    value = static_cast<F>(wide);
    return true;
  }
  return error == std::errc{};
}

template <class I>
bool ParseInteger(std::string_view text, I& value) {
  std::string_view digits = text;
  if (!SkipPlus(digits)) return false;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc{} && end == digits.data() + digits.size()) return true;
  double decimal;
  if (!ParseFloat(text, decimal)) return false;
  static const ElementCast truncate(ElementType::kDouble, ElementTypeOf<I>);
  truncate.Run(&decimal, 0, &value, 0, 1);
  return true;
}

bool ParseBool(std::string_view text, bool& value) {
  double number = 0;
  if (text == "True" || text == "true") return value = true;
  if (text == "False" || text == "false") return value = false, true;
  if (!ParseFloat(text, number)) return false;
  value = number != 0;
  return true;
}

template <class T>
bool Parse(std::string_view text, T& value) {
  if constexpr (std::is_same_v<T, bool>) return ParseBool(text, value);
  else if constexpr (std::is_floating_point_v<T>) return ParseFloat(text, value);
  else return ParseInteger(text, value);
}

/// Parses as T, which `type` is cast from.
template <class T>
void ParseBlocks(const std::string* text, int64_t count, ElementType type, const CastOptions& options, void* to,
                 int64_t begin) {
  const ElementCast cast(ElementTypeOf<T>, type, options);
  for (int64_t done = 0; done < count; done += kTextBlock) {
    const int64_t size = std::min(kTextBlock, count - done);
    T values[kTextBlock];
    for (int64_t i = 0; i < size; ++i) {
      const std::string& word = text[done + i];
      Require(Parse(Trim(word), values[i]), "string '{}' is not a number that tensor({}) takes", word.substr(0, 64),
              ElementTypeName(type));
    }
    cast.Run(values, 0, to, begin + done, size);
  }
}

/// Integers that int64_t holds.
constexpr TypeSet kFitInt64 = {ElementType::kInt8,  ElementType::kInt16,  ElementType::kInt32,  ElementType::kInt64,
                               ElementType::kUInt8, ElementType::kUInt16, ElementType::kUInt32, ElementType::kInt4,
                               ElementType::kUInt4, ElementType::kInt2,   ElementType::kUInt2};

/// Formats numbers of `type` that are cast to T first.
template <class T, class FormatOne>
void FormatBlocks(ElementType type, const void* from, int64_t begin, int64_t count, const FormatOne& format,
                  std::string* out) {
  const ElementCast widen(type, ElementTypeOf<T>);
  for (int64_t done = 0; done < count; done += kTextBlock) {
    const int64_t size = std::min(kTextBlock, count - done);
    T values[kTextBlock];
    widen.Run(from, begin + done, values, 0, size);
    for (int64_t i = 0; i < size; ++i) out[done + i] = format(values[i]);
  }
}

}  // namespace

void FormatNumbers(ElementType type, const void* from, int64_t begin, int64_t count, std::string* out) {
  switch (type) {
    case ElementType::kBool:
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<const bool*>(from)[begin + i] ? "True" : "False";
      return;
    case ElementType::kFloat:
      for (int64_t i = 0; i < count; ++i) out[i] = Format(static_cast<const float*>(from)[begin + i]);
      return;
    case ElementType::kDouble:
      for (int64_t i = 0; i < count; ++i) out[i] = Format(static_cast<const double*>(from)[begin + i]);
      return;
    case ElementType::kUInt64:
      for (int64_t i = 0; i < count; ++i) out[i] = std::to_string(static_cast<const uint64_t*>(from)[begin + i]);
      return;
    default: break;
  }
  if (kFitInt64.contains(type))
    return FormatBlocks<int64_t>(type, from, begin, count, [](int64_t value) { return std::to_string(value); }, out);
  const ElementCast widen(type, ElementType::kFloat), narrow(ElementType::kFloat, type);
  FormatBlocks<float>(type, from, begin, count, [&](float value) { return FormatNarrow(value, narrow, widen); }, out);
}

void ParseNumbers(const std::string* text, int64_t count, ElementType type, const CastOptions& options, void* to,
                  int64_t begin) {
  switch (type) {
    case ElementType::kBool: return ParseBlocks<bool>(text, count, type, options, to, begin);
    case ElementType::kUInt64: return ParseBlocks<uint64_t>(text, count, type, options, to, begin);
    case ElementType::kFloat: return ParseBlocks<float>(text, count, type, options, to, begin);
    default: break;
  }
  kFitInt64.contains(type) ? ParseBlocks<int64_t>(text, count, type, options, to, begin)
                           : ParseBlocks<double>(text, count, type, options, to, begin);
}

}  // namespace tessera::cpu
