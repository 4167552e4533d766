#pragma once

// The application's API: Environment, Session, options, IoBinding.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/execution_provider.h"
#include "tessera/export.h"
#include "tessera/log.h"
#include "tessera/value.h"

namespace tessera {

enum class ExecutionMode : int { kSequential = 0, kParallel = 1 };
/// Values equal GraphOptimizationLevel of the C ABI.
enum class OptimizationLevel : int { kNone = 0, kBasic = 1, kExtended = 2, kLayout = 3, kAll = 99 };
enum class ArenaExtendStrategy : int { kNextPowerOfTwo = 0, kSameAsRequested = 1 };

struct ProviderRequest {
  std::string name;  // name or cli name
  ProviderOptions options;
};

struct ArenaOptions {
  ArenaExtendStrategy extend = ArenaExtendStrategy::kNextPowerOfTwo;
  int64_t limit = 0;  // bytes, 0: none
};

struct EnvironmentOptions {
  std::string log_id = "tessera";
  LogLevel log_level = LogLevel::kWarning;
  /// 0: every session has its own pools; otherwise sessions that say so share pools of these sizes (-1: all cores).
  int global_intra_op_threads = 0;
  int global_inter_op_threads = 0;
  /// Providers that every session gets after its own and before CPU. A session that names one of them puts it where it
  /// says; options that it leaves out are taken from here.
  std::vector<ProviderRequest> default_providers;
};

/// Process-wide state: logging, shared pools, shared allocators, shared weights. Sessions keep it alive.
class TESSERA_API Environment {
 public:
  explicit Environment(EnvironmentOptions options = {});
  /// The environment that sessions made without one share.
  static Environment& Default();
  const EnvironmentOptions& options() const noexcept;

  struct State;
  const std::shared_ptr<State>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<State> state_;
};

struct SessionOptions {
  /// In priority order; the environment's defaults follow, CPU is always last.
  std::vector<ProviderRequest> providers;
  /// A provider of `providers` that can't start, or can't make the kernel of a node that it claims, is an error instead of a log line
  /// (the next provider then runs the node).
  bool error_on_failure = false;
  /// A node that no named provider takes is an error instead of going to CPU.
  bool disable_cpu_fallback = false;

  int intra_op_threads = 0;  // 0: one per core
  int inter_op_threads = 0;
  bool use_global_threads = false;
  ExecutionMode execution_mode = ExecutionMode::kSequential;
  OptimizationLevel optimization_level = OptimizationLevel::kAll;
  ArenaOptions arena;
  bool enable_memory_pattern = true;
  bool enable_arena = true;

  /// Fixes symbolic dimensions by name ("batch") before inference.
  std::map<std::string, int64_t> free_dimensions;
  /// Writes the optimized graph here.
  std::filesystem::path optimized_model_path;
  /// Chrome trace JSON of load and runs goes to "<prefix>_<time>.json" when set.
  std::filesystem::path profile_prefix;
  std::optional<LogLevel> log_level;
  std::string log_id;
  /// Key-value extras ("session.*", "ep.*"), as in the C ABI, of session_config_schema(). Others are errors that list what is allowed.
  std::map<std::string, std::string, std::less<>> config;
};

/// Options of one Run; the caller may Cancel it from another thread, then every Run that uses it stops with an Error.
class TESSERA_API RunOptions {
 public:
  RunOptions() = default;
  RunOptions(RunOptions&& other) noexcept;
  void Cancel() noexcept;
  void ResetCancel() noexcept;
  bool cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }
  const std::atomic<bool>* cancel_flag() const noexcept { return &cancelled_; }
  /// Names the run in the log; at kVerbose a line says how long it took.
  std::string tag;
  LogLevel log_level = LogLevel::kWarning;
  /// Gives unused arena memory back after the run.
  bool shrink_arenas = false;

 private:
  std::atomic<bool> cancelled_{false};
};

struct NamedType {
  std::string name;
  TypeInfo type;
};

struct ModelMetadata {
  std::string producer_name, producer_version, domain, description, graph_name, graph_description;
  int64_t version = 0;
  int64_t ir_version = 0;
  std::map<std::string, std::string> custom;
  std::map<std::string, int64_t> opsets;
};

/// Which provider runs what, and why others refused.
struct PlacementReport {
  struct NodeEntry {
    std::string graph;  // path of nested graphs, "" for the main one
    std::string name, op_type, domain;
    int since_version = 0;
    std::string provider;
    std::string fused_into;                                     // name of the fused node, empty when it runs by itself
    std::vector<std::pair<std::string, std::string>> refusals;  // provider, reason
    std::vector<std::string> inputs, outputs;                   // names of values; "" when omitted
    std::string precision;                                      // where the session allows less than the model's types: what it runs at
  };
  struct CopyEntry {
    std::string graph, value, from, to;  // memories
  };
  struct ProviderEntry {
    std::string name;
    std::string status;  // "active", or why it was skipped
    size_t nodes = 0;
  };
  std::vector<ProviderEntry> providers;
  std::vector<NodeEntry> nodes;
  std::vector<CopyEntry> copies;

  TESSERA_API std::string ToText() const;
  TESSERA_API std::string ToJson() const;
  /// Graphviz: nodes coloured by provider, fused ones in a box, copies on their edges.
  TESSERA_API std::string ToDot() const;
};

/// What the optimizer did to the graph, nested graphs included.
struct OptimizationReport {
  struct Pass {
    std::string name;
    size_t changes = 0;
    double milliseconds = 0;
  };
  size_t nodes_before = 0;
  size_t nodes_after = 0;
  size_t rounds = 0;
  std::vector<Pass> passes;  // in their order, those that found nothing too; none at level kNone

  TESSERA_API std::string ToText() const;
  TESSERA_API std::string ToJson() const;
};

/// What became of the session's context file (configuration entry "ep.context_enable").
struct ContextReport {
  bool enabled = false;
  bool used = false;     // the session was made from it
  bool written = false;  // the next one can be
  std::filesystem::path path;
  std::string detail;      // "used", or why it was not and what was done then
  size_t packed = 0;       // packed weights that came from it
  size_t packed_anew = 0;  // that it did not hold
};

struct MemoryUse {
  std::string memory;  // "Cpu", "OpenCL"
  AllocatorStats stats;
};

class IoBinding;

/// A loaded model, ready to run. Any number of threads may call Run at once.
class TESSERA_API Session {
 public:
  /// Loads, partitions and compiles. Throws Error; nothing leaks then.
  Session(const std::filesystem::path& model, const SessionOptions& options = {},
          const Environment& environment = Environment::Default());
  /// From bytes, which are copied unless `keep_alive` is given: then it keeps them alive and weights point into them.
  /// `folder`: where external data lies; empty: external data is an error.
  Session(std::span<const std::byte> model, const SessionOptions& options = {},
          const Environment& environment = Environment::Default(), std::shared_ptr<const void> keep_alive = nullptr,
          const std::filesystem::path& folder = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  const std::vector<NamedType>& inputs() const noexcept;
  const std::vector<NamedType>& outputs() const noexcept;
  const std::vector<NamedType>& overridable_initializers() const noexcept;
  const ModelMetadata& metadata() const noexcept;

  /// Runs the model. `inputs` are matched by name with `input_names`. Returns the named outputs, all when none is named.
  std::vector<Value> Run(std::span<const std::string> input_names, std::span<const Value> inputs,
                         std::span<const std::string> output_names = {}, const RunOptions& options = {}) const;

  /// The same without allocation in the steady state: inputs in the order of inputs(), `results` in the order of outputs().
  /// Defined tensors in `results` are the caller's buffers and are written in place; their shapes must fit.
  void Run(std::span<const Value> inputs, std::span<Value> results, const RunOptions& options = {}) const;

  /// The same with everything bound.
  void Run(IoBinding& binding, const RunOptions& options = {}) const;

  const PlacementReport& placement() const noexcept;
  const OptimizationReport& optimization() const noexcept;
  const ContextReport& context() const noexcept;
  std::vector<MemoryUse> memory_use() const;
  /// Providers in priority order, as active.
  std::vector<std::string> providers() const;
  /// Allocator of a provider's memory, for tensors that stay on a device.
  Allocator& allocator(const MemoryInfo& memory) const;
  /// Copies between any two memories of the session.
  void Copy(const Tensor& from, Tensor& to) const;
  /// Ends profiling and returns the trace's path.
  std::filesystem::path EndProfiling();

  struct State;
  const std::shared_ptr<State>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<State> state_;
};

/// Inputs and outputs bound once and reused by many runs; values stay in the memory where they are bound.
class TESSERA_API IoBinding {
 public:
  explicit IoBinding(const Session& session);
  ~IoBinding();
  IoBinding(IoBinding&&) noexcept;

  /// The value is copied to the memory that consumes it now, once, if it is elsewhere.
  void BindInput(std::string_view name, Value value);
  /// Results are written to this buffer.
  void BindOutput(std::string_view name, Tensor buffer);
  /// Results are allocated in this memory.
  void BindOutput(std::string_view name, const MemoryInfo& memory = {});
  void ClearInputs() noexcept;
  void ClearOutputs() noexcept;

  std::span<const std::string> output_names() const noexcept;
  /// Results of the last Run, in the order of output_names().
  std::span<const Value> outputs() const noexcept;
  void SynchronizeInputs();
  void SynchronizeOutputs();

  struct State;
  State& state() const noexcept { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// Names of the compiled-in providers, in priority order.
TESSERA_API std::vector<std::string> available_providers();

/// Entries that SessionOptions::config takes.
TESSERA_API std::span<const OptionSchema> session_config_schema();

/// "1.0.0"
TESSERA_API std::string_view version() noexcept;

}  // namespace tessera
