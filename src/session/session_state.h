#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "model/model.h"
#include "runtime/executor.h"
#include "runtime/profiler.h"
#include "runtime/resources.h"
#include "session/config.h"
#include "session/environment.h"
#include "tessera/session.h"

namespace tessera {

class ContextCache;
class FailedKernels;
class Trial;
struct ActiveProvider;
struct Tuning;

/// Providers that a session does without, and why.
using LeftOutProviders = std::vector<std::pair<std::string, std::string>>;

struct Session::State {
  std::shared_ptr<Environment::State> environment;
  SessionOptions options;
  SessionConfig config;
  Logger log;
  std::unique_ptr<Profiler> profiler;
  std::shared_ptr<MemoryBudget> run_memory;  // before what is counted against it
  Model model;
  SessionResources resources;
  OptimizationReport optimization;
  ContextReport context;
  PlacementReport placement;
  bool openmp_threads = false;         // the pool is libgomp's team
  std::unique_ptr<Trial> trial;        // the session is made to be timed; else null
  std::unique_ptr<Executor> executor;  // destroyed first

  std::vector<NamedType> inputs;
  std::vector<NamedType> outputs;
  std::vector<NamedType> overridable;
  std::vector<size_t> required;     // positions of `inputs` among the graph's inputs
  std::vector<size_t> all_outputs;  // 0, 1, ...
  std::unordered_map<std::string, size_t> input_position;  // among the graph's inputs
  std::unordered_map<std::string, size_t> output_position;

  State(const SessionOptions& session_options, std::shared_ptr<Environment::State> session_environment);
  ~State();

  /// Where a model comes from: a file, or bytes and the folder of their external data.
  struct Origin {
    std::filesystem::path file;
    std::span<const std::byte> bytes;
    std::filesystem::path folder;
  };

  using LoadFunction = std::function<Model(const LoadOptions&)>;
  /// Starts providers, pools and arenas; `load` then reads the model, which is optimized, partitioned and planned. With a
  /// context that fits, the optimized model comes from there. `load` may be called several times.
  void Load(const Origin& origin, const LoadFunction& load);

  /// One run: inputs by graph input position (null: not given), wanted outputs by position, results beside them.
  struct Request {
    std::span<const Value* const> inputs;
    std::span<const size_t> wanted;
    std::span<Value> results;
    /// By wanted output: the memory that an allocated result shall be in; empty: the host.
    std::span<const int16_t> memories;
  };
  void Run(const Request& request, const RunOptions& options);
  /// Gives idle memory back.
  void Shrink() noexcept;
  /// Where the limit of runs' memory follows what they are given: times their bytes.
  static constexpr int64_t kRunTimesGiven = 256;

  /// The only memory that reads input `position`, the host when there are several.
  int16_t MemoryOfInput(size_t position) const noexcept;
  size_t InputPosition(std::string_view name) const;   // throws Error listing the names there are
  size_t OutputPosition(std::string_view name) const;
  void CheckInput(size_t position, const Value& value) const;
  const GraphValue& graph_input(size_t position) const noexcept {
    return model.graph->value(model.graph->inputs()[position]);
  }

 private:
  std::unique_ptr<ContextCache> MakeContext(const Origin& origin) const;
  bool LoadFromContext(ContextCache& cache);
  Tuning ChooseTuning(const Origin& origin, const LoadFunction& load) const;
  void LeaveOut(const LeftOutProviders& names);
  void LoadAndOptimize(const LoadFunction& load);
  void MakePlan();
  /// Null where kernels could not be made, which `failed` then says of more nodes than before.
  std::unique_ptr<Plan> TryPlan(FailedKernels& failed);
  void StartLimits();
  /// Limits that follow the model's size hear of that much of it.
  void AllowFor(size_t model_bytes);
  void StartResources();
  void MakeThreads();
  void Attach(ExecutionProvider& provider) const;
  void ChooseThreads();
  void AddHostMemory(const ProviderOptions& cpu);
  /// The provider and its memory, or, when that throws, neither.
  void StartProvider(ActiveProvider active);
  void Describe();
};

}  // namespace tessera
