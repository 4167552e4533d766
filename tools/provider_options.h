#pragma once

// The -i flag that the tools share, in the form of ONNX Runtime's.

#include <sstream>
#include <string>
#include <vector>

#include "command_line/command_line.h"
#include "tessera/session.h"

namespace tessera {

inline constexpr char kProviderOptionsHelp[] = "Options of the first provider: \"KEY|VALUE KEY|VALUE\"; may be repeated";

/// "key|value key|value", in one word or several. Throws UsageError.
inline ProviderOptions ParseProviderOptions(const std::vector<std::string>& words) {
  ProviderOptions options;
  for (const std::string& text : words) {
    std::istringstream stream(text);
    for (std::string word; stream >> word;) {
      const size_t bar = word.find('|');
      if (bar == std::string::npos) throw UsageError("-i", word + " is not KEY|VALUE");
      options[word.substr(0, bar)] = word.substr(bar + 1);
    }
  }
  return options;
}

/// `-i` after `-e`.
inline void SetFirstProvidersOptions(SessionOptions& options, const std::vector<std::string>& words) {
  if (words.empty()) return;
  if (options.providers.empty()) throw UsageError("-i", "say with -e whose options they are");
  options.providers[0].options = ParseProviderOptions(words);
}

}  // namespace tessera
