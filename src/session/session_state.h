#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "base/log.h"
#include "runtime/profile/profiler.h"
#include "session/config.h"
#include "session/environment.h"
#include "session/loaded_model.h"
#include "tessera/session.h"

namespace tessera {

class RecordedRuns;
class Trial;

/// Providers that a session does without, and why.
using LeftOutProviders = std::vector<std::pair<std::string, std::string>>;

/// A session: what it was asked for, the model that SessionBuilder made by that, and its runs.
struct Session::State {
  std::shared_ptr<Environment::State> environment;
  SessionOptions options;
  SessionConfig config;
  Logger log;
  std::unique_ptr<Profiler> profiler;
  std::unique_ptr<const LoadedModel> model;         // null until it is loaded
  std::unique_ptr<std::timed_mutex> one_at_a_time;  // null: runs may overlap
  std::unique_ptr<RecordedRuns> recorded;           // null: no provider records

  State(const SessionOptions& session_options, std::shared_ptr<Environment::State> session_environment);
  ~State();
  /// The same, kept by those who use it. In a process that was forked, what cannot be destroyed there stays.
  static std::shared_ptr<State> Make(const SessionOptions& session_options,
                                     std::shared_ptr<Environment::State> session_environment);

  /// Where a model comes from: a file, or bytes and the folder of their external data.
  struct Origin {
    std::filesystem::path file;
    std::span<const std::byte> bytes;
    std::filesystem::path folder;
  };

  using LoadFunction = std::function<Model(const LoadOptions&)>;
  /// Starts providers, pools and arenas; `load` then reads the model, which is optimized, partitioned and planned. With a
  /// context that fits, the optimized model comes from there. `load` may be called several times.
  /// `trial`: of a session that is made to be timed, which it outlives; else null.
  void Load(const Origin& origin, const LoadFunction& load, Trial* trial = nullptr);

  /// One run: inputs by graph input position (null: not given), wanted outputs by position, results beside them.
  struct Request {
    std::span<const Value* const> inputs;
    std::span<const size_t> wanted;
    std::span<Value> results;
    /// By wanted output: the memory that an allocated result shall be in; empty: the host.
    std::span<const int16_t> memories;
  };
  void Run(const Request& request, const RunOptions& options);
  void Run(const Request& request, const RunOptions& options, const StopSignal& stop);
  std::vector<Value> RunByName(std::span<const std::string> input_names, std::span<const Value> inputs,
                               std::span<const std::string> output_names, const RunOptions& options);
  /// In a process that was forked since the session was made: throws Error where the session cannot be used there.
  void RequireUsableAfterFork() {
    if (generation_.load(std::memory_order_acquire) != ForkGeneration()) [[unlikely]]
      ComeFromParent();
  }
  /// Where the limit of runs' memory follows what they are given: times their bytes.
  static constexpr int64_t kRunTimesGiven = 256;

 private:
  void RunHere(const Request& request, const RunOptions& options, const StopSignal& stop);
  void RunOnce(const Request& request, const RunOptions& options, const StopSignal& stop);
  /// Of one run that asks for it, instead of the session's.
  std::unique_ptr<Profiler> ProfilerOfRun(const RunOptions& options) const;
  void ComeFromParent();
  bool LostAtFork() const noexcept;

  std::atomic<uint32_t> generation_{ForkGeneration()};
  ForkMutex coming_from_parent_;
};

}  // namespace tessera
