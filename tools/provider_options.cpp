#include "provider_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "command_line/closest.h"
#include "tessera/provider/execution_provider.h"

namespace tessera {
namespace {

std::vector<std::string> CliNames() {
  std::vector<std::string> names;
  for (const ProviderFactory* factory : RegisteredProviders()) names.emplace_back(factory->cli_name);
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::string ProviderNames() {
  std::vector<std::string> names = CliNames();
  const std::string last = names.back();
  names.pop_back();
  return names.empty() ? last : fmt::format("{} or {}", fmt::join(names, ", "), last);
}

void CheckProvider(const std::string& name) {
  if (FindProvider(name) != nullptr) return;
  std::vector<std::string> known = CliNames();
  for (const ProviderFactory* factory : RegisteredProviders()) known.emplace_back(factory->name);
  throw UsageError(
      "-e", fmt::format("no provider '{}' in this build, which has {}{}", name, ProviderNames(), DidYouMean(name, known)));
}

ProviderOptions ParseProviderOptions(const std::string& provider, const std::vector<std::string>& words) {
  CheckProvider(provider);
  const ProviderFactory& factory = *FindProvider(provider);
  std::vector<std::string> known;
  for (const OptionSchema& option : factory.options) known.emplace_back(option.name);
  ProviderOptions options;
  for (const std::string& text : words) {
    std::istringstream stream(text);
    for (std::string word; stream >> word;) {
      const size_t bar = word.find('|');
      if (bar == std::string::npos) throw UsageError("-i", word + " is not KEY|VALUE");
      const std::string key = word.substr(0, bar);
      if (std::ranges::find(known, key) == known.end()) {
        throw UsageError("-i", fmt::format("{} has no option '{}'{} (tessera_inspect --providers shows them)", factory.name,
                                           key, DidYouMean(key, known)));
      }
      options[key] = word.substr(bar + 1);
    }
  }
  return options;
}

void SetProviders(SessionOptions& options, const std::vector<std::string>& names, const std::vector<std::string>& words) {
  for (const std::string& name : names) {
    CheckProvider(name);
    options.providers.push_back({name, {}});
  }
  if (words.empty()) return;
  if (names.empty()) throw UsageError("-i", "say with -e whose options they are");
  options.providers[0].options = ParseProviderOptions(names[0], words);
}

}  // namespace tessera
