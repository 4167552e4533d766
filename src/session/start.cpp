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
#include "session/session_builder.h"
#include "tessera/provider/execution_provider.h"
#include "tessera/providers/names.h"

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

std::shared_ptr<SessionThreadPool> MakeOwnPool(int threads, const SessionOptions& options, const SessionConfig& config) {
  const std::string_view affinities = config.affinities.empty() ? "SessionOptions::threads.affinities" : kAffinitiesKey;
  return MakeWorkerPool(threads, ThreadsOf(options, config), affinities);
}

}  // namespace

void SessionBuilder::MakeThreads() {
  if (options_.use_global_threads) {
    resources_.threads = session_.environment->GlobalThreads(made_.openmp_threads);
  } else {
    const int threads = options_.intra_op_threads > 0 ? options_.intra_op_threads : UsableCores();
    resources_.threads = made_.openmp_threads ? MakeOpenMpPool(threads) : MakeOwnPool(threads, options_, config_);
  }
  resources_.load_pool = std::make_unique<LoadPool>(*resources_.threads, *resources_.limits);
  if (made_.openmp_threads)
    PrepareOpenMpTeam(resources_.threads->num_threads());  // oneDNN computes on it while the session loads, too
}

void SessionBuilder::Attach(ExecutionProvider& provider) const {
  provider.Attach({.threads = resources_.threads.get(),
                   .graph_optimization_level = static_cast<int>(options_.optimization_level),
                   .share_prepacked = resources_.share_prepacked,
                   .trace = session_.profiler.get(),
                   .memory = &resources_.load_memory()});
}

void SessionBuilder::StartResources() {
  std::vector<ActiveProvider> active = StartProviders(options_, *session_.environment, config_.precision, log_, started_);
  made_.openmp_threads =
      std::any_of(active.begin(), active.end(), [](const auto& one) { return one.factory->uses_openmp; });
  MakeThreads();
  resources_.parallel = options_.execution_mode == ExecutionMode::kParallel;
  resources_.share_prepacked = !config_.disable_prepacking;
  // Concurrent steps have no order in time that buffers could be reused by.
  resources_.memory_pattern = options_.enable_memory_pattern && !resources_.parallel;
  if (resources_.parallel) {
    const int threads = options_.inter_op_threads > 0 ? options_.inter_op_threads : UsableCores();
    resources_.inter_op_arena =
        options_.use_global_threads ? session_.environment->GlobalInterOp() : MakeInterOpArena(threads);
  }
  AddHostMemory(active.back().provider->options());
  for (ActiveProvider& one : active) {
    const std::string_view name = one.factory->name;
    try {
      StartProvider(std::move(one));
    } catch (const std::exception& error) {
      resources_.CheckLoad();
      SkipProvider(name, error, options_, log_, started_);
    }
  }
}

void SessionBuilder::StartProvider(ActiveProvider active) {
  ProviderEntry entry{.provider = std::move(active.provider), .of_program = active.factory->of_program};
  std::shared_ptr<Allocator> raw = entry.provider->CreateAllocator();
  const MemoryInfo info = entry.provider->memory();
  const int16_t known = raw == nullptr ? SessionResources::kHost : resources_.FindMemory(info);
  if (raw != nullptr) {
    entry.memory = known >= 0 ? known : static_cast<int16_t>(resources_.memories.size());
    entry.transfer = entry.provider->CreateDataTransfer();
    entry.sharing = dynamic_cast<MemorySharing*>(entry.transfer.get());
  }
  Attach(*entry.provider);
  if (known < 0) {
    const ArenaSettings settings =
        ArenaSettingsOf(entry.provider->options(), *active.factory, {.limit_name = "memory limit"});
    // Where a device shares the host's memory, what it takes is the host's.
    if (entry.sharing != nullptr) raw = MakeBudgetedAllocator(std::move(raw), made_.run_memory);
    std::shared_ptr<Allocator> allocator;
    if (options_.enable_arena) {
      allocator = Arena::Make(std::move(raw), settings);
    } else {
      allocator = CountedAllocator::Make(std::move(raw));
    }
    resources_.memories.push_back({info, std::move(allocator)});
  }
  resources_.has_streams |= entry.memory != SessionResources::kHost;
  resources_.providers.push_back(std::move(entry));
}

void SessionBuilder::AddHostMemory(const ProviderOptions& cpu) {
  const std::shared_ptr<Allocator> raw = MakeBudgetedAllocator(HostAllocator(), made_.run_memory);
  const ArenaSettings settings = ArenaSettingsOf(cpu, *FindProvider(kCpuProvider),
                                                 {.extend = static_cast<ArenaExtend>(options_.arena.extend),
                                                  .limit = options_.arena.limit,
                                                  .limit_name = "cpu_mem_limit"});
  if (config_.use_env_allocators) {
    resources_.memories.push_back({MemoryInfo{}, session_.environment->HostArena(settings, log_)});
  } else if (options_.enable_arena) {
    resources_.memories.push_back({MemoryInfo{}, Arena::Make(raw, settings)});
  } else {
    Require(settings.limit == 0, "{} is {}, but there is no arena to keep it: set enable_arena", settings.limit_name,
            settings.limit);
    resources_.memories.push_back({MemoryInfo{}, raw});
  }
}

}  // namespace tessera
