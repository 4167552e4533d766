// What a session has before it loads a model: threads, memories, providers.

#include <algorithm>

#include "base/check.h"
#include "runtime/memory/arena.h"
#include "runtime/memory/counted_allocator.h"
#include "runtime/threads/inter_op_arena.h"
#include "runtime/threads/load_pool.h"
#include "runtime/threads/openmp_team.h"
#include "session/precision.h"
#include "session/provider_options.h"
#include "session/provider_selection.h"
#include "session/session_state.h"
#include "tessera/provider/execution_provider.h"

namespace tessera {
namespace {

/// `fallback` with what a provider's options say about its arena.
ArenaSettings ArenaSettingsOf(const ProviderOptions& options, const ProviderFactory& factory, ArenaSettings fallback) {
  for (const auto& [name, value] : options) {
    if (value.empty()) continue;
    if (name.ends_with("_mem_limit")) {
      fallback.limit = ParseBytes(value).value_or(0);
      // The factory's own copy of the name lives as long as the process.
      for (const OptionSchema& schema : factory.options) {
        if (schema.name == name) fallback.limit_name = schema.name;
      }
    } else if (name == "arena_extend_strategy") {
      fallback.extend = value == "kSameAsRequested" ? ArenaExtend::kSameAsRequested : ArenaExtend::kNextPowerOfTwo;
    }
  }
  return fallback;
}

/// The session's own, with what its configuration says of them.
ThreadOptions ThreadsOf(const SessionOptions& options, const SessionConfig& config) {
  ThreadOptions threads = options.threads;
  threads.spin &= config.allow_spinning;
  threads.spin_between_runs &= !config.force_spinning_stop;
  if (config.spin_duration_us >= 0) threads.spin_duration = std::chrono::microseconds(config.spin_duration_us);
  if (!config.affinities.empty()) threads.affinities = config.affinities;
  return threads;
}

}  // namespace

void Session::State::MakeThreads() {
  if (options.use_global_threads) {
    resources.threads = environment->GlobalThreads(openmp_threads);
  } else {
    const int threads = options.intra_op_threads > 0 ? options.intra_op_threads : UsableCores();
    resources.threads = openmp_threads ? MakeOpenMpPool(threads) : MakeWorkerPool(threads, ThreadsOf(options, config));
  }
  resources.load_pool = std::make_unique<LoadPool>(*resources.threads, *resources.limits);
  if (openmp_threads)
    PrepareOpenMpTeam(resources.threads->num_threads());  // oneDNN computes on it while the session loads, too
}

void Session::State::Attach(ExecutionProvider& provider) const {
  provider.Attach({.threads = resources.threads.get(),
                   .graph_optimization_level = static_cast<int>(options.optimization_level),
                   .share_prepacked = resources.share_prepacked,
                   .trace = profiler.get(),
                   .memory = &resources.load_memory()});
}

void Session::State::StartResources() {
  std::vector<ActiveProvider> active = StartProviders(options, environment->options, config.precision, log, placement);
  openmp_threads = std::any_of(active.begin(), active.end(), [](const auto& one) { return one.factory->uses_openmp; });
  MakeThreads();
  resources.parallel = options.execution_mode == ExecutionMode::kParallel;
  resources.share_prepacked = !config.disable_prepacking;
  // Concurrent steps have no order in time that buffers could be reused by.
  resources.memory_pattern = options.enable_memory_pattern && !resources.parallel;
  if (resources.parallel) {
    const int threads = options.inter_op_threads > 0 ? options.inter_op_threads : UsableCores();
    resources.inter_op_arena = options.use_global_threads ? environment->GlobalInterOp() : MakeInterOpArena(threads);
  }
  AddHostMemory(active.back().provider->options());
  for (ActiveProvider& one : active) {
    const std::string_view name = one.factory->name;
    try {
      StartProvider(std::move(one));
    } catch (const std::exception& error) {
      resources.CheckLoad();
      SkipProvider(name, error, options, log, placement);
    }
  }
}

void Session::State::StartProvider(ActiveProvider active) {
  ProviderEntry entry{std::move(active.provider), nullptr, nullptr, SessionResources::kHost};
  std::shared_ptr<Allocator> raw = entry.provider->CreateAllocator();
  const MemoryInfo info = entry.provider->memory();
  const int16_t known = raw == nullptr ? SessionResources::kHost : resources.FindMemory(info);
  if (raw != nullptr) {
    entry.memory = known >= 0 ? known : static_cast<int16_t>(resources.memories.size());
    entry.transfer = entry.provider->CreateDataTransfer();
    entry.sharing = dynamic_cast<MemorySharing*>(entry.transfer.get());
  }
  Attach(*entry.provider);
  if (known < 0) {
    const ArenaSettings settings =
        ArenaSettingsOf(entry.provider->options(), *active.factory, {.limit_name = "memory limit"});
    std::shared_ptr<Allocator> allocator;
    if (options.enable_arena) {
      allocator = Arena::Make(std::move(raw), settings);
    } else {
      allocator = CountedAllocator::Make(std::move(raw));
    }
    resources.memories.push_back({info, std::move(allocator)});
  }
  resources.has_streams |= entry.memory != SessionResources::kHost;
  resources.providers.push_back(std::move(entry));
}

void Session::State::AddHostMemory(const ProviderOptions& cpu) {
  const std::shared_ptr<Allocator> raw = MakeBudgetedAllocator(HostAllocator(), run_memory);
  const ArenaSettings settings = ArenaSettingsOf(cpu, *FindProvider("CPUExecutionProvider"),
                                                 {.extend = static_cast<ArenaExtend>(options.arena.extend),
                                                  .limit = options.arena.limit,
                                                  .limit_name = "cpu_mem_limit"});
  if (config.use_env_allocators) {
    resources.memories.push_back({MemoryInfo{}, environment->HostArena(settings, log)});
  } else if (options.enable_arena) {
    resources.memories.push_back({MemoryInfo{}, Arena::Make(raw, settings)});
  } else {
    Require(settings.limit == 0, "{} is {}, but there is no arena to keep it: set enable_arena", settings.limit_name,
            settings.limit);
    resources.memories.push_back({MemoryInfo{}, raw});
  }
}

}  // namespace tessera
