// Memory that the sessions of the process share.

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "bindings/python/device.h"
#include "bindings/python/interpreter.h"
#include "bindings/python/runtime.h"
#include "bindings/python/strings.h"

namespace tessera::python {
namespace {

/// Settings; -1, and 0 of the most memory: the default.
struct ArenaConfig {
  size_t max_mem = 0;
  int arena_extend_strategy = -1;
  int initial_chunk_size_bytes = -1;
  int max_dead_bytes_per_chunk = -1;
  int initial_growth_chunk_size_bytes = -1;
  int64_t max_power_of_two_extend_bytes = -1;
};

using Setting = std::pair<const char*, int ArenaConfig::*>;
constexpr std::array<Setting, 4> kSettings = {
    {{"arena_extend_strategy", &ArenaConfig::arena_extend_strategy},
     {"initial_chunk_size_bytes", &ArenaConfig::initial_chunk_size_bytes},
     {"max_dead_bytes_per_chunk", &ArenaConfig::max_dead_bytes_per_chunk},
     {"initial_growth_chunk_size_bytes", &ArenaConfig::initial_growth_chunk_size_bytes}}};
constexpr const char* kMost = "max_mem";
constexpr const char* kMostExtended = "max_power_of_two_extend_bytes";

template <class T>
T NumberOf(nb::handle value, const std::string& name) {
  T number = 0;
  if (!nb::try_cast(value, number)) throw std::runtime_error("the arena's setting '" + name + "' is a whole number");
  return number;
}

ArenaConfig ConfigOf(const nb::dict& given) {
  ArenaConfig config;
  for (const auto& [key, value] : given) {
    const std::string name = TextOf(key.ptr());
    const auto* setting = std::ranges::find(kSettings, name, [](const Setting& known) { return known.first; });
    if (setting != kSettings.end()) {
      config.*setting->second = NumberOf<int>(value, name);
    } else if (name == kMost) {
      config.max_mem = NumberOf<size_t>(value, name);
    } else if (name == kMostExtended) {
      config.max_power_of_two_extend_bytes = NumberOf<int64_t>(value, name);
    } else {
      throw std::runtime_error("arenas have no setting '" + name + "'");
    }
  }
  return config;
}

using Owned = std::unique_ptr<OrtArenaCfg, void (*)(OrtArenaCfg*)>;

/// Null where the program gives no settings.
Owned Made(const ArenaConfig* config) {
  Owned owned(nullptr, Api().ReleaseArenaCfg);
  if (config == nullptr) return owned;
  std::array<const char*, kSettings.size() + 2> keys = {kMost, kMostExtended};
  std::array<size_t, keys.size()> values = {config->max_mem, static_cast<size_t>(config->max_power_of_two_extend_bytes)};
  for (size_t i = 0; i < kSettings.size(); ++i) {
    keys[i + 2] = kSettings[i].first;
    values[i + 2] = static_cast<size_t>(config->*kSettings[i].second);
  }
  OrtArenaCfg* made = nullptr;
  CheckCall(Api().CreateArenaCfgV2(keys.data(), values.data(), keys.size(), &made));
  owned.reset(made);
  return owned;
}

void Register(const NamedMemory& memory, const ArenaConfig* config) {
  CheckCall(Api().CreateAndRegisterAllocator(&Env(), &memory.info, Made(config).get()));
}

void RegisterOf(const std::string& provider, const NamedMemory& memory, const std::map<std::string, std::string>& options,
                const ArenaConfig* config) {
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : options) {
    keys.push_back(CharactersOf(key));
    values.push_back(CharactersOf(value));
  }
  CheckCall(Api().CreateAndRegisterAllocatorV2(&Env(), CharactersOf(provider), &memory.info, Made(config).get(),
                                               keys.data(), values.data(), keys.size()));
}

}  // namespace

void BindArenas(nb::module_& module) {
  Locked<ArenaConfig> config(module, "OrtArenaCfg", "Settings of memory that is kept for the next who needs some.");
  config.def(
      "__init__",
      [](ArenaConfig* self, size_t most, int strategy, int first, int dead) {
        new (self) ArenaConfig{most, strategy, first, dead};
      },
      nb::arg("max_mem"), nb::arg("arena_extend_strategy"), nb::arg("initial_chunk_size_bytes"),
      nb::arg("max_dead_bytes_per_chunk"));
  config.def(
      "__init__", [](ArenaConfig* self, const nb::dict& settings) { new (self) ArenaConfig(ConfigOf(settings)); },
      nb::arg("settings"));
  config.def_rw(kMost, &ArenaConfig::max_mem, "The most bytes; 0: no limit.");
  config.def_rw(kMostExtended, &ArenaConfig::max_power_of_two_extend_bytes, "Accepted without effect.");
  for (const auto& [name, member] : kSettings)
    config.def_rw(
        name, member,
        member == &ArenaConfig::arena_extend_strategy ? "ArenaExtendStrategy's number." : "Accepted without effect.");
  module.def("create_and_register_allocator", &Register, nb::arg("mem_info"), nb::arg("arena_cfg").none(),
             "Makes the memory that sessions with the entry \"session.use_env_allocators\" = \"1\" share.");
  module.def("create_and_register_allocator_v2", &RegisterOf, nb::arg("provider_type"), nb::arg("mem_info"),
             nb::arg("options"), nb::arg("arena_cfg").none(), "The same of a provider: of CPUExecutionProvider.");
}

}  // namespace tessera::python
