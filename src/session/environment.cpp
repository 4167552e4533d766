#include "session/environment.h"

#include <utility>

#include "base/check.h"
#include "runtime/memory/arena.h"
#include "runtime/threads/inter_op_arena.h"
#include "session/provider_options.h"
#include "session/provider_selection.h"
#include "tessera/provider/execution_provider.h"

namespace tessera {

Environment::Environment(EnvironmentOptions options) : state_(std::make_shared<State>()) {
  Require(options.global_intra_op_threads >= -1 && options.global_inter_op_threads >= -1,
          "global thread counts are {} and {}, expected -1 (all cores), 0 (none) or a number",
          options.global_intra_op_threads, options.global_inter_op_threads);
  for (const ProviderRequest& request : options.default_providers) {
    const ProviderFactory& factory = FactoryNamed(request.name);
    CheckOptions(factory.name, factory.options, request.options);
  }
  Require(options.load_memory_limit >= 0 && options.run_memory_limit >= 0,
          "the environment's memory limits are {} and {}, expected 0 (none) or a number of bytes",
          options.load_memory_limit, options.run_memory_limit);
  const auto budget = [](std::string_view name, int64_t limit) {
    return limit == 0 ? nullptr : std::make_shared<MemoryBudget>(fmt::format("EnvironmentOptions::{}", name), limit);
  };
  state_->load_memory = budget("load_memory_limit", options.load_memory_limit);
  state_->run_memory = budget("run_memory_limit", options.run_memory_limit);
  state_->log = Logger(options.log_id, options.log_level);
  state_->options = std::move(options);
}

Environment& Environment::Default() {
  static Environment environment;
  return environment;
}

const EnvironmentOptions& Environment::options() const noexcept { return state_->options; }

std::shared_ptr<SessionThreadPool> Environment::State::GlobalThreads(bool openmp) {
  Require(options.global_intra_op_threads != 0,
          "the session asks for global threads, but its environment has none: set global_intra_op_threads, or unset "
          "use_global_threads");
  const int threads = options.global_intra_op_threads > 0 ? options.global_intra_op_threads : UsableCores();
  const std::lock_guard lock(mutex_);
  std::shared_ptr<SessionThreadPool>& pool = openmp ? openmp_ : workers_;
  if (pool == nullptr)
    pool = openmp ? MakeOpenMpPool(threads)
                  : MakeWorkerPool(threads, options.global_threads, "EnvironmentOptions::global_threads.affinities");
  return pool;
}

std::shared_ptr<tbb::task_arena> Environment::State::GlobalInterOp() {
  Require(options.global_inter_op_threads != 0,
          "the session runs in parallel on global threads, but its environment has none between operators: set "
          "global_inter_op_threads, "
          "or unset use_global_threads");
  const int threads = options.global_inter_op_threads > 0 ? options.global_inter_op_threads : UsableCores();
  const std::lock_guard lock(mutex_);
  if (inter_op_ == nullptr) inter_op_ = MakeInterOpArena(threads);
  return inter_op_;
}

std::shared_ptr<Allocator> Environment::State::HostArena(const ArenaSettings& settings, const Logger& session_log) {
  const std::lock_guard lock(mutex_);
  if (given_allocator_ != nullptr) return given_allocator_;
  if (host_arena_ == nullptr) {
    host_arena_ = Arena::Make(std::shared_ptr<Allocator>(&HostAllocator(), [](Allocator*) {}), settings);
    host_settings_ = settings;
    return host_arena_;
  }
  const ArenaSettings& shared = host_settings_;
  Require(settings.limit == 0 || (shared.limit != 0 && shared.limit <= settings.limit),
          "{} is {}, but the host arena that sessions share was made with {}: give the first of them that limit, or unset "
          "session.use_env_allocators",
          settings.limit_name, settings.limit, shared.limit == 0 ? "none" : std::to_string(shared.limit));
  if (settings.limit > shared.limit) {
    session_log(LogLevel::kWarning, "{} is {}, but the host arena that sessions share was made with {}: that one holds",
                settings.limit_name, settings.limit, shared.limit);
  }
  if (settings.extend != shared.extend && settings.extend != ArenaSettings().extend) {
    session_log(LogLevel::kWarning,
                "the arena's extend strategy has no effect: the host arena that sessions share was made with another");
  }
  return host_arena_;
}

void Environment::State::ShareHostAllocator(std::shared_ptr<Allocator> allocator) {
  const std::lock_guard lock(mutex_);
  Require(given_allocator_ == nullptr,
          "the environment has an allocator for its sessions' host memory already; take that one back first");
  given_allocator_ = std::move(allocator);
}

bool Environment::State::StopSharing() noexcept {
  const std::lock_guard lock(mutex_);
  return std::exchange(given_allocator_, nullptr) != nullptr;
}

std::string_view version() noexcept { return TESSERA_VERSION; }

std::shared_ptr<ProviderLibraries> Environment::State::libraries() const {
  const std::lock_guard lock(mutex_);
  return libraries_;
}

std::shared_ptr<ProviderLibraries> Environment::State::libraries(
    const std::function<std::shared_ptr<ProviderLibraries>()>& make) {
  const std::lock_guard lock(mutex_);
  if (libraries_ == nullptr) libraries_ = make();
  return libraries_;
}

}  // namespace tessera
