#pragma once

#include "base/shortened.h"
#include "tessera/provider/execution_provider.h"

namespace tessera {

/// The options with defaults filled in; booleans are "1" or "0", numbers plain decimal. Throws Error naming the owner and
/// what is allowed for unknown names and bad values.
ProviderOptions CheckOptions(std::string_view owner, std::span<const OptionSchema> schemas, const ProviderOptions& given);

/// Throws Error for an option with a character 0 in it: who takes it as a C string would see a part.
void RequireWhole(std::string_view owner, std::string_view name, std::string_view value);

/// "512", "64k", "2M", "1G", "3T": bytes; nothing when it is no number.
std::optional<int64_t> ParseBytes(std::string_view text) noexcept;
std::optional<int64_t> ParseInt(std::string_view text) noexcept;
/// 1, true, on, yes and 0, false, off, no in any case.
std::optional<bool> ParseBool(std::string_view text) noexcept;

/// "unknown option 'x' (allowed: a, b)" needs the list.
template <class Range, class Name>
std::string JoinNames(const Range& range, Name name) {
  std::string text;
  for (const auto& item : range) {
    if (!text.empty()) text += ", ";
    text += Shortened(name(item));
  }
  return text.empty() ? "none" : text;
}

}  // namespace tessera
