#include <algorithm>
#include <map>
#include <mutex>

#include "base/ascii.h"
#include "base/check.h"
#include "base/fork.h"
#include "session/provider_options.h"
#include "session/provider_selection.h"
#include "tessera/provider/execution_provider.h"
#include "tessera/session.h"

namespace tessera {
namespace {

bool EqualIgnoringCase(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return AsciiLower(x) == AsciiLower(y); });
}

struct Added {
  ForkMutex mutex;
  std::vector<const ProviderFactory*> factories;

  /// With the mutex held.
  const ProviderFactory* Find(std::string_view name) const noexcept {
    const auto is_it = [&](const ProviderFactory* factory) {
      return EqualIgnoringCase(factory->name, name) || EqualIgnoringCase(factory->cli_name, name);
    };
    const auto added = std::ranges::find_if(factories, is_it);
    if (added != factories.end()) return *added;
    const auto compiled_in = RegisteredProviders();
    const auto found = std::ranges::find_if(compiled_in, is_it);
    return found == compiled_in.end() ? nullptr : *found;
  }
};

Added& AddedProviders() {
  static Added added;
  return added;
}

/// Whether sessions could use what a stranger adds.
void CheckComplete(const ProviderFactory& factory) {
  Require(!factory.name.empty() && !factory.cli_name.empty(), "an execution provider has no {}: both are needed",
          factory.name.empty() ? "name" : "cli name");
  Require(factory.create != nullptr, "execution provider '{}' cannot be added: its factory has no `create`", factory.name);
  for (size_t i = 0; i < factory.options.size(); ++i) {
    const OptionSchema& option = factory.options[i];
    const bool twice =
        std::ranges::any_of(factory.options.first(i), [&](const OptionSchema& other) { return other.name == option.name; });
    Require(!twice, "execution provider '{}' cannot be added: it has two options '{}'", factory.name, option.name);
  }
  ProviderOptions defaults;
  for (const OptionSchema& option : factory.options) {
    if (!option.default_value.empty()) defaults.emplace(option.name, option.default_value);  // empty: not given
  }
  CheckOptions(factory.name, factory.options, defaults);
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
  CheckComplete(factory);
  Added& added = AddedProviders();
  const std::lock_guard lock(added.mutex);
  if (std::ranges::find(added.factories, &factory) != added.factories.end()) return;
  for (const std::string_view name : {factory.name, factory.cli_name}) {
    const ProviderFactory* known = added.Find(name);
    Require(known == nullptr, "execution provider '{}' cannot be added: '{}' is a name of {} (cli name '{}') already",
            factory.name, name, known == nullptr ? "" : known->name, known == nullptr ? "" : known->cli_name);
  }
  added.factories.push_back(&factory);
}

const ProviderFactory* FindProvider(std::string_view name) noexcept {
  Added& added = AddedProviders();
  const std::lock_guard lock(added.mutex);
  return added.Find(name);
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
