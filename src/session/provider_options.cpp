#include "session/provider_options.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.h"
#include "base/check.h"

namespace tessera {
namespace {

std::string Normalize(std::string_view owner, const OptionSchema& schema, const std::string& value) {
  const auto reject = [&](const std::string& expected) {
    Fail(ErrorCode::kInvalidArgument, "{}: option '{}' is '{}', expected {}", owner, schema.name, value, expected);
  };
  if (value == schema.default_value) return value;  // empty for what has no value of its own
  switch (schema.type) {
    case OptionType::kString: return value;
    case OptionType::kBool: {
      const auto parsed = ParseBool(value);
      if (!parsed) reject("true or false");
      return *parsed ? "1" : "0";
    }
    case OptionType::kInt:
    case OptionType::kBytes: {
      const auto parsed = schema.type == OptionType::kInt ? ParseInt(value) : ParseBytes(value);
      if (!parsed || *parsed < schema.minimum || *parsed > schema.maximum) {
        reject(fmt::format("a number{} from {} to {}", schema.type == OptionType::kBytes ? " of bytes" : "", schema.minimum,
                           schema.maximum));
      }
      return std::to_string(*parsed);
    }
    case OptionType::kEnum: {
      const auto found = std::find_if(schema.allowed.begin(), schema.allowed.end(),
                                      [&](std::string_view allowed) { return AsciiLower(allowed) == AsciiLower(value); });
      if (found == schema.allowed.end()) {
        reject("one of " + JoinNames(schema.allowed, [](std::string_view name) { return std::string(name); }));
      }
      return std::string(*found);
    }
  }
  return value;
}

}  // namespace

void RequireWhole(std::string_view owner, std::string_view name, std::string_view value) {
  const auto is_whole = [](std::string_view text) { return text.find('\0') == std::string_view::npos; };
  Require(is_whole(name) && is_whole(value), "{}: option '{}' is '{}', expected texts without the character 0", owner, name,
          value);
}

std::optional<int64_t> ParseInt(std::string_view text) noexcept {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> ParseBytes(std::string_view text) noexcept {
  constexpr std::string_view kUnits = "kmgt";
  int64_t factor = 1;
  if (!text.empty()) {
    const size_t unit = kUnits.find(AsciiLower(text.back()));
    if (unit != std::string_view::npos) {
      factor = int64_t{1} << (10 * (unit + 1));
      text.remove_suffix(1);
    }
  }
  const auto value = ParseInt(text);
  int64_t bytes = 0;
  if (!value || __builtin_mul_overflow(*value, factor, &bytes)) return std::nullopt;
  return bytes;
}

std::optional<bool> ParseBool(std::string_view text) noexcept {
  constexpr std::array<std::string_view, 4> kTrue = {"1", "true", "on", "yes"};
  constexpr std::array<std::string_view, 4> kFalse = {"0", "false", "off", "no"};
  const std::string lower = AsciiLower(text);
  if (std::find(kTrue.begin(), kTrue.end(), lower) != kTrue.end()) return true;
  if (std::find(kFalse.begin(), kFalse.end(), lower) != kFalse.end()) return false;
  return std::nullopt;
}

ProviderOptions CheckOptions(std::string_view owner, std::span<const OptionSchema> schemas, const ProviderOptions& given) {
  ProviderOptions checked;
  for (const OptionSchema& schema : schemas) checked.emplace(schema.name, schema.default_value);
  for (const auto& [name, value] : given) {
    RequireWhole(owner, name, value);
    const auto schema = std::ranges::find(schemas, name, &OptionSchema::name);
    if (schema == schemas.end()) {
      Fail(ErrorCode::kInvalidArgument, "{} has no option '{}' (allowed: {})", owner, name,
           JoinNames(schemas, [](const OptionSchema& known) { return std::string(known.name); }));
    }
    checked[name] = Normalize(owner, *schema, value);
  }
  return checked;
}

}  // namespace tessera
