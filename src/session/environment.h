#pragma once

#include <tbb/task_arena.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/fork.h"
#include "base/log.h"
#include "base/memory_budget.h"
#include "runtime/memory/arena.h"
#include "runtime/threads/thread_pools.h"
#include "tessera/session.h"

namespace tessera {

/// The libraries of providers that an environment has registered.
class ProviderLibraries {
 public:
  virtual ~ProviderLibraries() = default;
  /// The provider of that name on all devices that its library offers; null: none has one.
  virtual std::shared_ptr<ProviderSource> Find(std::string_view provider) = 0;
};

struct Environment::State {
  EnvironmentOptions options;
  Logger log;
  std::shared_ptr<MemoryBudget> load_memory, run_memory;  // null: no limit

  /// The pools that sessions with use_global_threads share; made when the first one asks.
  std::shared_ptr<SessionThreadPool> GlobalThreads(bool openmp);
  /// The inter-op threads that they share.
  std::shared_ptr<tbb::task_arena> GlobalInterOp();
  /// The host arena that sessions with session.use_env_allocators share; the first one's settings make it. Throws Error for
  /// a limit that it would not keep, and warns of other settings that it has not.
  std::shared_ptr<Allocator> HostArena(const ArenaSettings& settings, const Logger& session_log);
  /// The allocator in that arena's place, for sessions that are made from now on. Throws Error where one was given before.
  void ShareHostAllocator(std::shared_ptr<Allocator> allocator);
  /// They share an arena again; false where they did.
  bool StopSharing() noexcept;
  /// Null until one is registered.
  std::shared_ptr<ProviderLibraries> libraries() const;
  /// What `make` makes where there are none yet.
  std::shared_ptr<ProviderLibraries> libraries(const std::function<std::shared_ptr<ProviderLibraries>()>& make);

 private:
  mutable ForkMutex mutex_;
  std::shared_ptr<SessionThreadPool> workers_;
  std::shared_ptr<SessionThreadPool> openmp_;
  std::shared_ptr<tbb::task_arena> inter_op_;
  std::shared_ptr<Allocator> host_arena_;
  std::shared_ptr<Allocator> given_allocator_;
  ArenaSettings host_settings_;
  std::shared_ptr<ProviderLibraries> libraries_;
};

}  // namespace tessera
