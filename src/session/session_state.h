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
#include "base/seeded_hash.h"
#include "model/model.h"
#include "optimizer/optimizer.h"
#include "partition/early_claims.h"
#include "partition/partition.h"
#include "runtime/executor.h"
#include "runtime/profile/profiler.h"
#include "runtime/resources.h"
#include "session/config.h"
#include "session/environment.h"
#include "tessera/session.h"

namespace tessera {

class RecordedRuns;
class Trial;

/// Providers that a session does without, and why.
using LeftOutProviders = std::vector<std::pair<std::string, std::string>>;

/// A session: what SessionBuilder made of a model, and its runs.
struct Session::State {
  std::shared_ptr<Environment::State> environment;
  SessionOptions options;
  SessionConfig config;
  Logger log;
  std::unique_ptr<Profiler> profiler;
  std::shared_ptr<MemoryBudget> run_memory;  // before what is counted against it
  Model model;
  SessionResources resources;
  ModelSizes sizes;
  OptimizationReport optimization;
  EarlyParts early;  // what opaque nodes of the graph stand for
  ContextReport context;
  PlacementReport placement;
  bool openmp_threads = false;                 // the pool is libgomp's team
  std::unique_ptr<Executor> executor;          // destroyed first
  std::vector<ExecutionProvider*> watch_runs;  // providers that want to know of each
  std::unique_ptr<std::mutex> one_at_a_time;   // null: runs may overlap
  std::unique_ptr<RecordedRuns> recorded;      // null: no provider records

  std::vector<NamedType> inputs;
  std::vector<NamedType> outputs;
  std::vector<NamedType> overridable;
  std::vector<size_t> required;      // positions of `inputs` among the graph's inputs
  std::vector<size_t> all_outputs;   // 0, 1, ...
  StringMap<size_t> input_position;  // among the graph's inputs
  StringMap<size_t> output_position;

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
  /// Gives idle memory back.
  void Shrink() noexcept;
  /// The providers' parts in a profile.
  void StartProviders(Profiler& profile) const;
  /// In a process that was forked since the session was made: throws Error where the session cannot be used there.
  void RequireUsableAfterFork() {
    if (generation_.load(std::memory_order_acquire) != ForkGeneration()) [[unlikely]]
      ComeFromParent();
  }
  /// Where the limit of runs' memory follows what they are given: times their bytes.
  static constexpr int64_t kRunTimesGiven = 256;

  /// The only memory that reads input `position`, the host when there are several.
  int16_t MemoryOfInput(size_t position) const noexcept;
  size_t InputPosition(std::string_view name) const;  // throws Error listing the names there are
  size_t OutputPosition(std::string_view name) const;
  void CheckInput(size_t position, const Value& value) const;
  const GraphValue& graph_input(size_t position) const noexcept {
    return model.graph->value(model.graph->inputs()[position]);
  }

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
