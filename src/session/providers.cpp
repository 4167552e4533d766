#include <algorithm>
#include <cctype>
#include <mutex>

#include "session/provider_selection.h"
#include "tessera/session.h"

namespace tessera {
namespace {

bool EqualIgnoringCase(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

struct Added {
  std::mutex mutex;
  std::vector<const ProviderFactory*> factories;
};

Added& AddedProviders() {
  static Added added;
  return added;
}

}  // namespace

std::vector<const ProviderFactory*> AllProviders() {
  Added& added = AddedProviders();
  const std::lock_guard lock(added.mutex);
  std::vector<const ProviderFactory*> all = added.factories;
  const auto compiled_in = RegisteredProviders();
  all.insert(all.end(), compiled_in.begin(), compiled_in.end());
  return all;
}

void AddProvider(const ProviderFactory& factory) {
  Added& added = AddedProviders();
  const std::lock_guard lock(added.mutex);
  if (std::find(added.factories.begin(), added.factories.end(), &factory) == added.factories.end()) {
    added.factories.push_back(&factory);
  }
}

const ProviderFactory* FindProvider(std::string_view name) noexcept {
  for (const ProviderFactory* factory : AllProviders()) {
    if (EqualIgnoringCase(factory->name, name) || EqualIgnoringCase(factory->cli_name, name)) return factory;
  }
  return nullptr;
}

std::vector<std::string> available_providers() {
  std::vector<std::string> names;
  for (const ProviderFactory* factory : AllProviders()) names.emplace_back(factory->name);
  return names;
}

}  // namespace tessera
