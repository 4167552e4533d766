#include <algorithm>
#include <cctype>

#include "tessera/session.h"

namespace tessera {
namespace {

bool EqualIgnoringCase(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace

const ProviderFactory* FindProvider(std::string_view name) noexcept {
  for (const ProviderFactory* factory : RegisteredProviders()) {
    if (EqualIgnoringCase(factory->name, name) || EqualIgnoringCase(factory->cli_name, name)) return factory;
  }
  return nullptr;
}

std::vector<std::string> available_providers() {
  std::vector<std::string> names;
  for (const ProviderFactory* factory : RegisteredProviders()) names.emplace_back(factory->name);
  return names;
}

}  // namespace tessera
