#include "session/session_state.h"

#include "base/check.h"
#include "runtime/plan/stand_in.h"
#include "runtime/threads/float_mode.h"
#include "runtime/threads/openmp_team.h"
#include "session/precision.h"
#include "session/recorded_runs.h"
#include "session/session_builder.h"

namespace tessera {
namespace {

/// Says that a session's own number of threads is not what it runs on.
void WarnOfOwnThreads(std::string_view option, int own, int global, const Logger& log) {
  const int shared = global > 0 ? global : UsableCores();
  if (own == 0 || own == shared) return;
  log(LogLevel::kWarning,
      "{} is {}, but the session shares its environment's threads, which are {} (global_{}): that holds", option, own,
      shared, option);
}

/// Programs make these of numbers that they read somewhere.
void RequireKnownChoices(const SessionOptions& options) {
  const auto mode = static_cast<int>(options.execution_mode);
  Require(mode == 0 || mode == 1, "the execution mode is {}, expected 0 (sequential) or 1 (parallel)", mode);
  const auto level = static_cast<int>(options.optimization_level);
  Require((level >= static_cast<int>(OptimizationLevel::kNone) && level <= static_cast<int>(OptimizationLevel::kLayout)) ||
              options.optimization_level == OptimizationLevel::kAll,
          "the optimization level is {}, expected 0, 1, 2, 3 or 99", level);
  const auto log_level = static_cast<int>(options.log_level.value_or(LogLevel::kWarning));
  Require(log_level >= static_cast<int>(LogLevel::kVerbose) && log_level <= static_cast<int>(LogLevel::kFatal),
          "the log level is {}, expected 0 (verbose) to 4 (fatal)", log_level);
  const auto extend = static_cast<int>(options.arena.extend);
  Require(extend == 0 || extend == 1,
          "the arena's extend strategy is {}, expected 0 (next power of two) or 1 (as requested)", extend);
}

}  // namespace

Session::State::~State() = default;

Session::State::State(const SessionOptions& session_options, std::shared_ptr<Environment::State> session_environment)
    : environment(std::move(session_environment)), options(session_options), config(ParseConfig(session_options)) {
  const EnvironmentOptions& defaults = environment->options;
  log = Logger(options.log_id.empty() ? defaults.log_id : options.log_id, options.log_level.value_or(defaults.log_level));
  Require(options.intra_op_threads >= 0 && options.inter_op_threads >= 0,
          "thread counts are {} and {}, expected 0 (one a core) or a number", options.intra_op_threads,
          options.inter_op_threads);
  RequireKnownChoices(options);
  Require(options.arena.limit >= 0, "the arena's limit is {}, expected 0 (none) or a number of bytes", options.arena.limit);
  if (options.use_global_threads) {
    WarnOfOwnThreads("intra_op_threads", options.intra_op_threads, defaults.global_intra_op_threads, log);
    if (options.execution_mode == ExecutionMode::kParallel) {
      WarnOfOwnThreads("inter_op_threads", options.inter_op_threads, defaults.global_inter_op_threads, log);
    }
  }
  if (!options.profile_prefix.empty()) profiler = std::make_unique<Profiler>(options.profile_prefix);
  config.precision = UsablePrecision(config.precision, "session.precision", log);
  for (const std::string& name : config.without_effect)
    log(LogLevel::kWarning, "session configuration entry '{}' has no effect here", name);
}

std::shared_ptr<Session::State> Session::State::Make(const SessionOptions& session_options,
                                                     std::shared_ptr<Environment::State> session_environment) {
  const CallersFloatMode float_mode;
  return {new State(session_options, std::move(session_environment)), [](State* state) {
            const CallersFloatMode float_mode;  // drivers of devices compute where they let go, too
            if (!state->LostAtFork()) delete state;
          }};
}

void Session::State::Load(const Origin& origin, const LoadFunction& load, Trial* trial) {
  RunOffForkedThread([&] { model = SessionBuilder(*this, origin, load, trial).Build(); });
  if (model->one_run_at_a_time) one_at_a_time = std::make_unique<std::timed_mutex>();
  if (model->recorder != nullptr) recorded = std::make_unique<RecordedRuns>(*model->recorder);
}

/// What another thread was running when this process was forked never ends here, and drivers of devices do not survive that
/// at all.
bool Session::State::LostAtFork() const noexcept {
  if (generation_.load(std::memory_order_acquire) == ForkGeneration()) return false;
  return model == nullptr || model->executor->leased() > 0 || model->resources.has_streams;
}

void Session::State::ComeFromParent() {
  const std::lock_guard lock(coming_from_parent_);
  if (generation_.load(std::memory_order_acquire) == ForkGeneration()) return;
  constexpr std::string_view kRemedy = "make a session in this process, or fork before the session is made";
  if (model->resources.has_streams) {
    Fail(ErrorCode::kEpFail,
         "the session computes on a device ({}), whose driver does not work in a process that was forked since; {}",
         model->resources.memories.back().info.name, kRemedy);
  }
  if (model->openmp_threads && LostInFork(ForeignThreads::kOneDnn)) {
    Fail(ErrorCode::kEpFail, "another thread was in oneDNN when this process was forked, whose locks it holds for ever; {}",
         "start a process of its own (exec)");
  }
  if (LostAtFork()) Fail(ErrorCode::kFail, "another thread ran the session when this process was forked; {}", kRemedy);
  generation_.store(ForkGeneration(), std::memory_order_release);
}

}  // namespace tessera
