#pragma once

// Names of folders that packages share, by the hash of what is in them: "sha256:" and 64 digits.

#include <algorithm>
#include <string_view>
#include <utility>

namespace tessera::c_abi {

inline constexpr std::string_view kAssetPrefix = "sha256:", kAssetFolderPrefix = "sha256-";

inline bool IsHash(std::string_view text) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 64 && std::ranges::all_of(text, digit);
}

inline bool IsAsset(std::string_view text) {
  return text.starts_with(kAssetPrefix) && IsHash(text.substr(kAssetPrefix.size()));
}

/// The folder's name and what comes behind it and a slash; the name is empty where the text begins with none.
inline std::pair<std::string_view, std::string_view> SplitAsset(std::string_view text) {
  constexpr size_t kLength = kAssetPrefix.size() + 64;
  const std::string_view name = text.substr(0, kLength), rest = text.substr(name.size());
  if (!IsAsset(name) || (!rest.empty() && rest.front() != '/')) return {};
  return {name, rest.empty() ? rest : rest.substr(1)};
}

}  // namespace tessera::c_abi
