#pragma once

// Options by name: of execution providers, and the entries of a session's configuration.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Options of a provider as the user wrote them.
using ProviderOptions = std::map<std::string, std::string, std::less<>>;

enum class OptionType : int8_t { kString, kBool, kInt, kBytes, kEnum };

/// One declared option: names and values are checked against it before who declared it sees them.
struct OptionSchema {
  std::string_view name;
  OptionType type = OptionType::kString;
  std::string_view default_value;
  std::string_view description;
  std::vector<std::string_view> allowed = {};  // for kEnum
  int64_t minimum = 0;                         // for kInt, kBytes
  int64_t maximum = std::numeric_limits<int64_t>::max();
};

}  // namespace tessera
