#include "provider_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include "command_line/closest.h"
#include "tessera/error.h"
#include "tessera/provider/execution_provider.h"

namespace tessera {
namespace {

std::vector<std::string> CliNames() {
  std::vector<std::string> names;
  for (const ProviderFactory* factory : RegisteredProviders()) names.emplace_back(factory->cli_name);
  std::ranges::sort(names);
  return names;
}

/// Names of registered libraries' providers.
std::vector<std::string> PluginNames() {
  std::vector<std::string> names;
  for (const ProviderDevice& device : Environment::Default().provider_devices()) names.push_back(device.provider);
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

bool IsPlugin(const std::string& name) {
  return std::ranges::any_of(PluginNames(), [&](const std::string& known) {
    return std::ranges::equal(known, name,
                              [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
  });
}

}  // namespace

void RegisterPlugins(const std::vector<std::string>& plugins) {
  for (const std::string& plugin : plugins) {
    const size_t equals = plugin.find('=');
    const std::filesystem::path file = equals == std::string::npos ? plugin : plugin.substr(equals + 1);
    const std::string name = equals == std::string::npos ? file.stem().string() : plugin.substr(0, equals);
    try {
      Environment::Default().RegisterProviderLibrary(name, std::filesystem::absolute(file));
    } catch (const Error& error) {
      throw UsageError("--plugin", error.what());
    }
  }
}

void AddOperatorLibraries(SessionOptions& options, const std::vector<std::string>& libraries) {
  if (libraries.empty()) return;
  std::vector<std::filesystem::path> files;
  files.reserve(libraries.size());
  for (const std::string& library : libraries) files.push_back(std::filesystem::absolute(library));
  try {
    options.providers.push_back(OperatorLibraries(files));
  } catch (const Error& error) {
    throw UsageError("--operator-library", error.what());
  }
}

std::string ProviderNames() {
  std::vector<std::string> names = CliNames();
  const std::string last = names.back();
  names.pop_back();
  return names.empty() ? last : fmt::format("{} or {}", fmt::join(names, ", "), last);
}

void CheckProvider(const std::string& name) {
  if (FindProvider(name) != nullptr || IsPlugin(name)) return;
  std::vector<std::string> known = CliNames();
  const std::vector<std::string> plugins = PluginNames();
  known.insert(known.end(), plugins.begin(), plugins.end());
  for (const ProviderFactory* factory : RegisteredProviders()) known.emplace_back(factory->name);
  throw UsageError("-e",
                   fmt::format("no provider '{}' in this build, which has {}{}{}{}", name, ProviderNames(),
                               plugins.empty() ? "" : "; libraries: ", fmt::join(plugins, ", "), DidYouMean(name, known)));
}

ProviderOptions ParseProviderOptions(const std::string& provider, const std::vector<std::string>& words) {
  CheckProvider(provider);
  const ProviderFactory* factory = FindProvider(provider);  // null: a library's, which checks its options itself
  std::vector<std::string> known;
  if (factory != nullptr) {
    for (const OptionSchema& option : factory->options) known.emplace_back(option.name);
  }
  ProviderOptions options;
  for (const std::string& text : words) {
    std::istringstream stream(text);
    for (std::string word; stream >> word;) {
      const size_t bar = word.find('|');
      if (bar == std::string::npos) throw UsageError("-i", word + " is not KEY|VALUE");
      const std::string key = word.substr(0, bar);
      if (factory != nullptr && std::ranges::find(known, key) == known.end()) {
        throw UsageError("-i", fmt::format("{} has no option '{}'{} (tessera_inspect --providers shows them)",
                                           factory->name, key, DidYouMean(key, known)));
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
