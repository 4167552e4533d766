// Arenas that the sessions of the environment share.

#include <algorithm>
#include <limits>

#include "bindings/c/entry.h"
#include "bindings/c/env.h"
#include "runtime/memory/arena.h"
#include "session/environment.h"
#include "tessera/providers/names.h"

struct OrtArenaCfg {
  tessera::c_abi::Mark<OrtArenaCfg> mark;
  tessera::ArenaSettings settings;
};

namespace tessera::c_abi {
namespace {

/// -1 and 0: what is the default.
ArenaExtend ExtendOf(int64_t strategy) {
  Require(strategy >= -1 && strategy <= 1,
          "the arena's extend strategy is {}, expected 0 (next power of two) or 1 (as requested)", strategy);
  return strategy == 1 ? ArenaExtend::kSameAsRequested : ArenaExtend::kNextPowerOfTwo;
}

int64_t LimitOf(size_t bytes) {
  return bytes >= static_cast<size_t>(std::numeric_limits<int64_t>::max()) ? 0 : static_cast<int64_t>(bytes);
}

/// What says how an arena of ONNX Runtime's grows; Tessera's has no need of it.
constexpr std::string_view kGrowth[] = {"initial_chunk_size_bytes", "max_dead_bytes_per_chunk",
                                        "initial_growth_chunk_size_bytes", "max_power_of_two_extend_bytes"};

void ShareArena(OrtEnv* env, const OrtMemoryInfo* mem_info, const OrtArenaCfg* config) {
  const OrtMemoryInfo& info = Given(mem_info, "the memory info");
  Require(MemoryOf(info) == MemoryInfo(), "the environment has no arena for {} memory, only for the processor's",
          info.name);
  const ArenaSettings settings = config == nullptr ? ArenaSettings{} : config->settings;
  std::shared_ptr<Allocator> host(&HostAllocator(), [](Allocator*) {});
  std::shared_ptr<Allocator> shared = host;
  if (info.allocator == OrtArenaAllocator) shared = Arena::Make(std::move(host), settings);
  Given(env, "the environment").environment.state()->ShareHostAllocator(std::move(shared));
}

}  // namespace

OrtStatusPtr CreateArenaCfg(size_t max_mem, int arena_extend_strategy, int /*initial_chunk_size_bytes*/,
                            int /*max_dead_bytes_per_chunk*/, OrtArenaCfg** out) noexcept {
  return Guarded([&] {
    const ArenaSettings settings{.extend = ExtendOf(arena_extend_strategy), .limit = LimitOf(max_mem)};
    Give(out, [&] { return new OrtArenaCfg{{}, settings}; });
  });
}

OrtStatusPtr CreateArenaCfgV2(const char* const* arena_config_keys, const size_t* arena_config_values, size_t num_keys,
                              OrtArenaCfg** out) noexcept {
  return Guarded([&] {
    ArenaSettings settings;
    for (size_t i = 0; i < num_keys; ++i) {
      const std::string_view key = &Given((&Given(arena_config_keys, "the keys"))[i], "a key");
      const size_t value = (&Given(arena_config_values, "the values"))[i];
      if (key == "max_mem") {
        settings.limit = LimitOf(value);
      } else if (key == "arena_extend_strategy") {
        settings.extend = ExtendOf(static_cast<int64_t>(value));
      } else {
        Require(std::ranges::find(kGrowth, key) != std::end(kGrowth),
                "arenas have no setting '{}' (max_mem, arena_extend_strategy, {})", key, fmt::join(kGrowth, ", "));
      }
    }
    Give(out, [&] { return new OrtArenaCfg{{}, settings}; });
  });
}

void ReleaseArenaCfg(OrtArenaCfg* input) { Release(input); }

OrtStatusPtr CreateAndRegisterAllocator(OrtEnv* env, const OrtMemoryInfo* mem_info, const OrtArenaCfg* arena_cfg) noexcept {
  return Guarded([&] { ShareArena(env, mem_info, arena_cfg); });
}

OrtStatusPtr CreateAndRegisterAllocatorV2(OrtEnv* env, const char* provider_type, const OrtMemoryInfo* mem_info,
                                          const OrtArenaCfg* arena_cfg, const char* const* /*provider_options_keys*/,
                                          const char* const* /*provider_options_values*/, size_t /*num_keys*/) noexcept {
  return Guarded([&] {
    const std::string_view provider = &Given(provider_type, "the provider");
    Require(provider == kCpuProvider, "the environment has no arena of {}'s, only {}'s", provider, kCpuProvider);
    ShareArena(env, mem_info, arena_cfg);
  });
}

}  // namespace tessera::c_abi
