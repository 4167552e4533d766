#pragma once

#include <tbb/task_arena.h>

#include <memory>
#include <mutex>

#include "base/fork.h"
#include "base/log.h"
#include "base/memory_budget.h"
#include "runtime/memory/arena.h"
#include "runtime/threads/thread_pools.h"
#include "tessera/session.h"

namespace tessera {

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

 private:
  ForkMutex mutex_;
  std::shared_ptr<SessionThreadPool> workers_;
  std::shared_ptr<SessionThreadPool> openmp_;
  std::shared_ptr<tbb::task_arena> inter_op_;
  std::shared_ptr<Allocator> host_arena_;
  std::shared_ptr<Allocator> given_allocator_;
  ArenaSettings host_settings_;
};

}  // namespace tessera
