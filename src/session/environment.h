#pragma once

#include <memory>
#include <mutex>

#include "base/log.h"
#include "runtime/thread_pools.h"
#include "tessera/session.h"

namespace tessera {

struct Environment::State {
  EnvironmentOptions options;
  Logger log;

  /// The pools that sessions with use_global_threads share; made when the first one asks.
  std::shared_ptr<SessionThreadPool> GlobalThreads(bool openmp);
  /// The host arena that sessions with session.use_env_allocators share.
  std::shared_ptr<Allocator> HostArena(const ArenaOptions& options);

 private:
  std::mutex mutex_;
  std::shared_ptr<SessionThreadPool> workers_;
  std::shared_ptr<SessionThreadPool> openmp_;
  std::shared_ptr<Allocator> host_arena_;
};

}  // namespace tessera
