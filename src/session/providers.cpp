#include <algorithm>
#include <map>
#include <mutex>

#include "base/ascii.h"
#include "base/fork.h"
#include "session/provider_selection.h"
#include "tessera/session.h"

namespace tessera {
namespace {

bool EqualIgnoringCase(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return AsciiLower(x) == AsciiLower(y); });
}

struct Added {
  ForkMutex mutex;
  std::vector<const ProviderFactory*> factories;
};

Added& AddedProviders() {
  static Added added;
  return added;
}

/// What available_providers() left out, and why. Drivers are asked there only: to start them takes longer than to load a
/// small model.
struct LeftOut {
  ForkMutex mutex;
  std::map<const ProviderFactory*, std::string> reasons;
};

LeftOut& LeftOutByDefault() {
  static LeftOut left_out;
  return left_out;
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
  const auto is_it = [&](const ProviderFactory* factory) {
    return EqualIgnoringCase(factory->name, name) || EqualIgnoringCase(factory->cli_name, name);
  };
  Added& added = AddedProviders();
  const std::lock_guard lock(added.mutex);
  for (const ProviderFactory* factory : added.factories) {
    if (is_it(factory)) return factory;
  }
  for (const ProviderFactory* factory : RegisteredProviders()) {
    if (is_it(factory)) return factory;
  }
  return nullptr;
}

std::vector<std::string> available_providers() {
  std::vector<std::string> names;
  for (const ProviderFactory* factory : AllProviders()) {
    const std::string why = factory->why_not_by_default == nullptr ? "" : factory->why_not_by_default();
    if (why.empty()) names.emplace_back(factory->name);
    LeftOut& left_out = LeftOutByDefault();
    const std::lock_guard lock(left_out.mutex);
    left_out.reasons[factory] = why;
  }
  return names;
}

std::string WhyLeftOut(const ProviderFactory& factory) {
  LeftOut& left_out = LeftOutByDefault();
  const std::lock_guard lock(left_out.mutex);
  const auto found = left_out.reasons.find(&factory);
  return found == left_out.reasons.end() ? "" : found->second;
}

}  // namespace tessera
