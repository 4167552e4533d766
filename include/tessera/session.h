#pragma once

// The application's API: Environment, Session, options, IoBinding.
//
// What fails throws Error, and changes nothing that the caller could see but what its comment says. Objects that were moved
// from may be destroyed or assigned to; other calls of them throw.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/export.h"
#include "tessera/log.h"
#include "tessera/options.h"
#include "tessera/thread_options.h"
#include "tessera/value.h"

namespace tessera {

/// Whether branches of a graph run one after the other, or on the inter-op threads at once.
enum class ExecutionMode : int { kSequential = 0, kParallel = 1 };
/// Values equal GraphOptimizationLevel of the C ABI.
enum class OptimizationLevel : int { kNone = 0, kBasic = 1, kExtended = 2, kLayout = 3, kAll = 99 };
/// How much an arena that runs out asks for: twice what it has, or what is needed.
enum class ArenaExtendStrategy : int { kNextPowerOfTwo = 0, kSameAsRequested = 1 };

class ProviderSource;

/// A provider that a session is to use. Names that are unknown and options that it does not have are errors of what takes
/// the request.
struct ProviderRequest {
  std::string name;  // "OpenCLExecutionProvider" or "opencl", in any case; of a registered library's provider as it says
  ProviderOptions options;
  /// Of a registered library's provider: the devices that it shall use; null: the provider is found by its name.
  std::shared_ptr<ProviderSource> source = nullptr;
};

/// Of host memory; those of devices are options of their providers.
struct ArenaOptions {
  ArenaExtendStrategy extend = ArenaExtendStrategy::kNextPowerOfTwo;
  int64_t limit = 0;  // bytes, 0: none
};

/// What sessions of one environment share: log, threads, providers and limits.
struct EnvironmentOptions {
  /// Who writes, in the log, and from which level on: for sessions that do not say it themselves.
  std::string log_id = "tessera";
  LogLevel log_level = LogLevel::kWarning;
  /// 0: every session has its own pools; otherwise sessions that say so share pools of these sizes (-1: all cores).
  int global_intra_op_threads = 0;
  int global_inter_op_threads = 0;
  ThreadOptions global_threads;
  /// Providers that every session gets after its own and before CPU. A session that names one of them puts it where it
  /// says; options that it leaves out are taken from here.
  std::vector<ProviderRequest> default_providers;
  /// Bytes of host memory that the loads of all its sessions may take together, and their runs, beside each session's own
  /// limits ("session.load_memory_limit", "session.run_memory_limit"); 0: no limit.
  int64_t load_memory_limit = 0;
  int64_t run_memory_limit = 0;
  /// Entries of any name, which registered libraries of providers are shown. "tessera.hardware_devices" stands for the
  /// machine's devices, or, with "+" first, adds to them: "cpu:0x8086;gpu:0x10de:0x2330".
  std::map<std::string, std::string, std::less<>> config;
};

/// A device of a registered library's provider.
struct ProviderDevice {
  std::string provider, vendor;  // as the library says; `provider` is its name in requests and reports
  std::string library;           // the name that it was registered under
  std::map<std::string, std::string, std::less<>> metadata;
  std::map<std::string, std::string, std::less<>> options;  // defaults of the provider's options
  DeviceType type = DeviceType::kCpu;
  uint32_t vendor_id = 0, device_id = 0;  // of PCI, but for processors
  std::string hardware_vendor;
  std::shared_ptr<ProviderSource> source;  // of a provider on this device alone
};

/// What sessions share: log settings, thread pools, the host arena, default providers. Copies stand for the same state,
/// which lives until the last copy and the last session made with it are gone. Any number of threads may use it at once.
class TESSERA_API Environment {
 public:
  /// Throws Error for providers and options that do not exist, and for thread counts below -1.
  explicit Environment(EnvironmentOptions options = {});
  /// The environment that sessions made without one share.
  static Environment& Default();
  Environment(const Environment&) = default;
  Environment& operator=(const Environment&) = default;
  const EnvironmentOptions& options() const noexcept;

  /// Loads a library of providers (docs/plugin_providers.md), whose providers sessions of this environment may name from
  /// then on. It runs with the rights of this process, and can do in it what it likes. Throws Error(kFail) for a name that
  /// is registered already, and for a file that is no such library.
  void RegisterProviderLibrary(const std::string& name, const std::filesystem::path& file);
  /// Throws Error(kFail) for a name that is not registered, and while a session uses the library.
  void UnregisterProviderLibrary(std::string_view name);
  /// What the providers of registered libraries can use on this machine.
  std::vector<ProviderDevice> provider_devices() const;
  /// The provider on these devices, which are of one provider. Throws Error for others.
  ProviderRequest RequestFor(std::span<const ProviderDevice> devices, ProviderOptions provider_options = {}) const;

  struct State;
  const std::shared_ptr<State>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<State> state_;
};

/// What runs the operators of libraries that are written for ONNX Runtime, which export RegisterCustomOps: sessions with
/// this request know them. The libraries run with the rights of this process, and stay loaded while the request, a copy of
/// it or such a session lives. Throws Error for a file that is no such library, and with what a library answers.
TESSERA_API ProviderRequest OperatorLibraries(std::span<const std::filesystem::path> files);

/// Where a weight of a written model lies: in a file beside the model, or wherever its reader finds one of that name.
struct WeightPlace {
  std::string file;
  int64_t offset = 0;
  size_t bytes = 0;
};

/// Where a model is written to.
struct ModelOutput {
  std::filesystem::path path;
  /// Takes the model's bytes, in order, in the file's place.
  std::function<void(std::span<const std::byte>)> write;
  /// A file beside it for its weights; empty: they lie in the model.
  std::string weights_file;
  size_t least_weight = 0;  // bytes of the smallest weight that goes there
  /// Weights of `least_aligned` bytes and more start at multiples of `weight_alignment`, a power of two; others at any
  /// byte.
  size_t weight_alignment = 4096;
  size_t least_aligned = 0;
  /// Takes the bytes of `weights_file`, in order, in the file's place.
  std::function<void(std::span<const std::byte>)> write_weights;
  /// Asked for each weight of the main graph, in place of `weights_file`: where the written model shall say that it lies,
  /// which the program sees to; nothing: inside.
  std::function<std::optional<WeightPlace>(const std::string& name, const Tensor& weight)> place_weight;
};

/// A model to write in which what providers have compiled stands as nodes (EPContext of com.microsoft, which hold the
/// result or name its file), for sessions that start without compiling it again. What no provider compiles ahead of time is
/// as the model has it. With `path` and `write` empty none is written; with `write`, providers that keep results beside the
/// model name them after `path`.
struct CompiledModelOptions : ModelOutput {
  bool overwrite = false;  // replaces what lies at the path; otherwise that is an error
  /// Results lie in the model, instead of in files beside it.
  bool embed = false;
  /// What is done where no provider has compiled a part of the model.
  enum class IfNothingCompiled : int8_t { kWriteNothing, kWriteModel, kFail };
  IfNothingCompiled if_nothing = IfNothingCompiled::kWriteNothing;

  bool wanted() const noexcept { return !path.empty() || write != nullptr; }
};

/// How a session is made. Values out of range are errors of the session's constructor.
struct SessionOptions {
  /// In priority order; the environment's defaults follow, CPU is always last.
  std::vector<ProviderRequest> providers;
  /// A provider of `providers` that can't start, or can't make the kernel of a node that it claims, is an error instead of
  /// a log line (the next provider then runs the node).
  bool error_on_failure = false;
  /// A node that no named provider takes is an error instead of going to CPU.
  bool disable_cpu_fallback = false;

  int intra_op_threads = 0;  // within an operator, the caller's included; 0: one per core
  int inter_op_threads = 0;  // between operators, at kParallel; 0: one per core
  /// Of the session's own threads within operators.
  ThreadOptions threads;
  /// The environment's threads instead of own ones.
  bool use_global_threads = false;
  ExecutionMode execution_mode = ExecutionMode::kSequential;
  OptimizationLevel optimization_level = OptimizationLevel::kAll;
  ArenaOptions arena;
  /// Plans what lies between operators as one block, for each set of input shapes; not at kParallel.
  bool enable_memory_pattern = true;
  /// Keeps memory for the next use; otherwise each buffer comes from the system or the device, and goes back there.
  bool enable_arena = true;

  /// Fixes symbolic dimensions by name ("batch") before inference. Throws for names that the model does not have.
  std::map<std::string, int64_t> free_dimensions;
  /// Fixes dimensions of inputs by what the model says that they stand for ("DATA_BATCH"), and those of the same name.
  std::map<std::string, int64_t> free_dimensions_by_denotation;
  /// Weights by name in place of the model's, which have the same type and shape. Their memory is the session's to read.
  /// Throws for names that the model does not have, and for what is no weight there.
  std::map<std::string, Tensor, std::less<>> initializers;
  /// Files of external data that lie in memory, by the name that the model has for them. The caller keeps the bytes while
  /// the session lives.
  std::map<std::string, std::span<const std::byte>, std::less<>> external_files;
  /// Writes the optimized graph here, as a model of ONNX's operators with the weights inside, before providers rewrite what
  /// they get. The load throws Error(kNotImplemented) where one import of each domain cannot say what the nodes mean.
  std::filesystem::path optimized_model_path;
  /// Writes the model with what providers of registered libraries compiled of it. Where they compile nothing ahead of time,
  /// none is written, and the log says so, unless the options say otherwise.
  CompiledModelOptions compiled_model;
  /// Chrome trace JSON of load and runs goes to "<prefix>_<time>.json" when set.
  std::filesystem::path profile_prefix;
  /// The load ends soon after this time, with Error(kModelLoadCanceled), where it is not done by then; 0: no limit.
  std::chrono::milliseconds load_timeout{0};
  /// Where it is given, the load ends soon, with Error(kModelLoadCanceled), once any thread sets it to true.
  std::shared_ptr<const std::atomic<bool>> load_cancel;
  /// Empty: the environment's.
  std::optional<LogLevel> log_level;
  std::string log_id;
  /// Key-value extras ("session.*", "ep.*"), as in the C ABI, of session_config_schema(). Others are errors that list what
  /// is allowed.
  std::map<std::string, std::string, std::less<>> config;
  /// Entries of any name, which providers of registered libraries are shown beside those of `config`.
  std::map<std::string, std::string, std::less<>> provider_config;
  /// For the library itself: the options of the C ABI that these were made of, during the load.
  const void* made_of = nullptr;
};

/// Options of Runs: of one, or of any number, one after another or at once. They live until each of them has returned, and
/// nothing of them changes meanwhile but by the three functions here, which any thread may call at any time.
class TESSERA_API RunOptions {
 public:
  RunOptions() = default;
  RunOptions(RunOptions&& other) noexcept;
  /// Every Run with these options stops soon, with an Error, and those to come at once, until ResetCancel.
  void Cancel() noexcept;
  void ResetCancel() noexcept;
  bool cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }
  const std::atomic<bool>* cancel_flag() const noexcept { return &cancelled_; }
  /// Names the run in the log; at kVerbose, and whatever the session's level, a line says how long it took.
  std::string tag;
  LogLevel log_level = LogLevel::kWarning;
  /// Chrome trace JSON of each run goes to "<prefix>_<time>.json" when set, whether the session profiles or not.
  std::filesystem::path profile_prefix;
  /// Gives unused arena memory back after the run, also one that fails; the next one takes it anew.
  bool shrink_arenas = false;
  /// Each Run ends soon after this time, with an Error, where it is not done by then; 0: no limit.
  std::chrono::milliseconds timeout{0};
  /// Where a provider records runs to replay them: which recording this is, for programs with several sets of buffers; -1:
  /// none.
  int recording = 0;
  /// For the library itself: the binding's object that these are part of.
  const void* binding = nullptr;

 private:
  std::atomic<bool> cancelled_{false};
};

/// An input or output of the model; dimensions of its shape may be open, the shape, too.
struct NamedType {
  std::string name;
  TypeInfo type;
};

/// What the model says of itself. `opsets`: version by domain, "" for ai.onnx.
struct ModelMetadata {
  std::string producer_name, producer_version, domain, description, graph_name, graph_description;
  int64_t version = 0;
  int64_t ir_version = 0;
  std::map<std::string, std::string> custom;
  std::map<std::string, int64_t> opsets;
};

/// What a loaded model holds before it is optimized, nested graphs and inlined functions included; a model that comes from
/// a context is the optimized one.
struct ModelSizes {
  size_t nodes = 0;
  size_t weights = 0;  // initializers and constants
  int64_t weight_values = 0;
  int64_t weight_bytes = 0;
};

/// Which provider runs what, and why others refused: by the nodes of the model's file, and by the nodes that run.
struct PlacementReport {
  /// Provider and reason.
  using Refusals = std::vector<std::pair<std::string, std::string>>;

  /// A node that runs: one of the model, what several of them were made into, or one that was inserted.
  struct NodeEntry {
    std::string graph;  // path of nested graphs, "" for the main one
    std::string name, op_type, domain;
    int since_version = 0;
    std::string provider;
    std::string fused_into;  // name of the subgraph that it is compiled in, unique; empty: by itself
    Refusals refusals;
    std::vector<std::string> inputs, outputs;  // names of values; "" when omitted
    std::string precision;                     // where the session allows less than the model's types: what it runs at
    std::vector<size_t> model_nodes;  // that it computes, as positions in `model_nodes`: first the one it stands for
    bool inserted = false;            // it changes a layout or type beside the node that does the work
  };
  enum class Fate : int8_t {
    kRuns,     // nodes of its own run it
    kFused,    // into another node of the model
    kFolded,   // into constants, at load
    kRemoved,  // nothing has to compute it
  };
  /// A node as the model's file has it, and what became of it. Nodes of the operator Constant are weights, and not here.
  struct ModelNode {
    std::string graph;  // path of nested graphs, "" for the main one
    std::string name, op_type, domain;
    int since_version = 0;
    std::string output;  // name of its first output
    Fate fate = Fate::kRuns;
    std::string pass;             // of the optimizer or a provider, which fused, folded or removed it; empty for kRuns
    size_t fused_into = 0;        // for kFused: the other node, in `model_nodes`
    std::string provider;         // who runs it; empty where it was folded or removed
    std::vector<size_t> runs_in;  // positions in `nodes`: several where it was taken apart
    Refusals refusals;

    /// "Conv 'conv1'" or, without a name, "Conv -> 'output0'".
    TESSERA_API std::string Label() const;
  };
  struct CopyEntry {
    std::string graph, value, from, to;  // memories
  };
  struct ProviderEntry {
    std::string name;
    std::string status;       // "active", or why it was skipped
    size_t nodes = 0;         // that run
    std::string device = {};  // what it computes on, empty for the processor
    size_t model_nodes = 0;   // of the model, fused ones included
  };
  std::vector<ProviderEntry> providers;
  std::vector<NodeEntry> nodes;        // in the order of the run; those of nested graphs before the node that holds them
  std::vector<ModelNode> model_nodes;  // in the order of the file; those of nested graphs after it
  std::vector<CopyEntry> copies;

  /// Each node of the model with who runs it, as what, and who refused it; what was inserted; what is copied.
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

  /// A line for each pass that changed something, and one for what all others took together.
  TESSERA_API std::string ToText() const;
  /// All passes.
  TESSERA_API std::string ToJson() const;
};

/// What became of the session's context file (configuration entry "session.context_enable").
struct ContextReport {
  bool enabled = false;
  bool used = false;     // the session was made from it
  bool written = false;  // the next one can be
  std::filesystem::path path;
  std::string detail;      // "used", or why it was not and what was done then
  size_t packed = 0;       // packed weights that came from it
  size_t packed_anew = 0;  // that it did not hold
};

/// What a session's allocator has given out, weights included where they lie in its memory.
struct MemoryUse {
  std::string memory;  // "Cpu", "OpenCL"
  AllocatorStats stats;
};

class IoBinding;

/// A loaded model, ready to run. Any number of threads may call its const functions at once, Run among them; moving,
/// assigning and destroying it wait for nobody. What accessors refer to lives as long as the loaded model: a move takes it
/// along.
class TESSERA_API Session {
 public:
  /// Loads, partitions and compiles. Throws Error; nothing leaks then. Options and environment are copied. The file may
  /// stay mapped for the session's life, and must not be written to meanwhile (a file that replaces it under its name does
  /// no harm).
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

  /// What a run must be given, and what it gives, in the model's order.
  const std::vector<NamedType>& inputs() const;
  const std::vector<NamedType>& outputs() const;
  /// Inputs that the model has values for, which a run by name or a binding may replace.
  const std::vector<NamedType>& overridable_initializers() const;
  const ModelMetadata& metadata() const;
  const ModelSizes& sizes() const;

  /// Runs the model. `inputs` are matched by name with `input_names`, in any order, and lie in host memory or in one of the
  /// session's. Returns the named outputs in that order, all when none is named, in host memory of their own, which may
  /// outlive the session. Throws Error(kInvalidArgument) for names that are unknown, missing or there twice and for values
  /// of another type or shape than the model declares, before anything runs; and for what an operator refuses, with its
  /// node's name. The next run is as good as any.
  std::vector<Value> Run(std::span<const std::string> input_names, std::span<const Value> inputs,
                         std::span<const std::string> output_names = {}, const RunOptions& options = {}) const;

  /// The same without allocation in the steady state: inputs in the order of inputs(), `results` in the order of outputs().
  /// Defined tensors in `results` are the caller's buffers and are written in place: they have the result's type and shape
  /// and overlap neither inputs nor each other. All others are replaced. After an error buffers may be written in part.
  void Run(std::span<const Value> inputs, std::span<Value> results, const RunOptions& options = {}) const;

  /// The same with everything bound, by a binding of this session. After an error its outputs() are those of no run.
  void Run(IoBinding& binding, const RunOptions& options = {}) const;

  /// Which provider runs which node of the model, and why others do not.
  const PlacementReport& placement() const;
  /// What passes changed.
  const OptimizationReport& optimization() const;
  /// Whether a context was read or written.
  const ContextReport& context() const;
  /// What looks wrong in the model and was let through, a sentence each: attributes that their operators do not have.
  const std::vector<std::string>& warnings() const;
  /// As of now, while other threads run, too.
  std::vector<MemoryUse> memory_use() const;
  /// Names of the active providers, in priority order, but for those that run what the program brought.
  std::vector<std::string> providers() const;
  /// Allocator of a memory of the session's, for tensors that stay on a device and may outlive the session. Throws Error
  /// where it has no such memory; memory_use() lists those it has.
  Allocator& allocator(const MemoryInfo& memory) const;
  /// Copies between any two memories of the session, and is done on return. Throws Error where types or shapes differ.
  void Copy(const Tensor& from, Tensor& to) const;
  /// Ends profiling and returns the trace's path, once more where it has ended. Throws Error where the session does not
  /// profile, or the file cannot be written.
  std::filesystem::path EndProfiling();

  /// For the library itself; null once moved from.
  struct State;
  const std::shared_ptr<State>& state() const noexcept { return state_; }

 private:
  State& loaded() const;

  std::shared_ptr<State> state_;
};

/// Inputs and outputs bound once and reused by many runs; values stay in the memory where they are bound. For one thread at
/// a time: threads that run one session have a binding each. Keeps what it needs of the session alive.
class TESSERA_API IoBinding {
 public:
  explicit IoBinding(const Session& session);
  ~IoBinding();
  IoBinding(IoBinding&&) noexcept;
  IoBinding& operator=(IoBinding&&) noexcept;

  /// For the runs to come, instead of what was bound before. The value is copied to the memory that consumes it now, once,
  /// if it is elsewhere; otherwise runs read it where it lies, with what is written there in the meantime. Throws Error for
  /// an unknown name or memory, and for another type or shape than the model declares.
  void BindInput(std::string_view name, Value value);
  /// Results are written to this buffer, in host memory or in one of the session's. Throws Error for an unknown name or
  /// memory, and for an undefined tensor; that the buffer has the result's type and shape, and overlaps nothing else, is
  /// found by the run.
  void BindOutput(std::string_view name, Tensor buffer);
  /// Each run allocates the result in this memory. Throws Error for an unknown name or memory.
  void BindOutput(std::string_view name, const MemoryInfo& memory = {});
  void ClearInputs();
  void ClearOutputs();

  /// In the order in which they were first bound. As outputs(), to be looked at before the next call of the binding or its
  /// run.
  std::span<const std::string> output_names() const;
  /// Results of the last Run, in the order of output_names(); nothing for an output that was bound since.
  std::span<const Value> outputs() const;
  /// For callers of runtimes where copies may be under way: here each call returns when its copies are done.
  void SynchronizeInputs();
  void SynchronizeOutputs();

  /// For the library itself.
  struct State;
  State& state() const;

 private:
  std::unique_ptr<State> state_;
};

/// Names of the providers that this process knows and that are worth their while on this machine, in priority order, CPU
/// last: those that AddProvider added (tessera/provider/execution_provider.h), then those compiled in. A provider that is
/// left out (OpenCL where its only devices are processors) can be named all the same; placement() of later sessions says
/// why it was.
TESSERA_API std::vector<std::string> available_providers();

/// Entries that SessionOptions::config takes.
TESSERA_API std::span<const OptionSchema> session_config_schema();

/// "1.0.0"
TESSERA_API std::string_view version() noexcept;

}  // namespace tessera
