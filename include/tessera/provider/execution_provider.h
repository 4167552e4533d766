#pragma once

// The interface that an execution provider (EP) implements. See docs/adding_a_provider.md.

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/memory.h"
#include "tessera/options.h"
#include "tessera/provider/graph.h"
#include "tessera/provider/kernel.h"

namespace tessera {

// Of the application's interface (tessera/session.h).
struct ModelMetadata;
class RunOptions;
struct SessionOptions;

// Of providers that are built with the library.
class ImplementationNotes;
class PackedStore;
struct RewriteEntry;

/// Nodes that a provider offers to run. With `fuse` they become one node that Compile turns into one kernel; without, each
/// runs through the provider's kernel registry.
struct ComputeCapability {
  std::vector<NodeIndex> nodes;
  bool fuse = false;
  std::string name;  // of the fused node, for reports and profiles
  /// With `fuse`: all of it or nothing. Where the nodes cannot be drawn together, as a path leaves and enters them again,
  /// or one of them is another's, they are refused, instead of cut into parts.
  bool whole = false;
  int64_t tag = 0;  // for the provider, which finds it in FusedSubgraph
};

/// Collects why a provider does not take a node, for the placement report.
class TESSERA_API RefusalSink {
 public:
  virtual ~RefusalSink() = default;
  virtual void Refuse(NodeIndex node, std::string reason) = 0;
};

/// Answers whether the provider's own registry has a kernel for a node.
class TESSERA_API KernelLookup {
 public:
  virtual ~KernelLookup() = default;
  virtual const KernelDef* Find(const Node& node, std::string* why = nullptr) const = 0;
};

/// An operator that a provider compiles: its versions and the element types of its inputs, the last of which goes for all
/// after it.
struct CompiledOperator {
  std::string_view op_type, domain;
  int first_version, last_version;
  std::span<const TypeSet> inputs;
};

/// A claimed subgraph to compile. Kernel inputs are `graph.inputs()`, outputs `graph.outputs()`, in that order.
struct FusedSubgraph {
  const Node* fused_node;
  GraphViewer graph;
  int64_t tag = 0;  // of the claim
};

/// A node that stands for a compiled subgraph in a model that is written (EPContext of com.microsoft): its attributes hold
/// what was compiled, or say where that lies.
struct ContextNode {
  std::string name, op_type, domain;  // no op_type: the subgraph is written as it is
  /// Names of values of the subgraph: its inputs or constants, empty where omitted; and all of its outputs.
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> attributes;
};

/// For what subgraphs are compiled. The first two are the session's, for providers that are built with the library.
struct CompileContext {
  PackedStore* packed = nullptr;         // forms of constants that outlive the process; null: none are kept
  ImplementationNotes* notes = nullptr;  // of the fastest implementations; null: nothing is to be timed
  /// Takes a node for each subgraph, in order, where a model is written that sessions load without compiling; null: none
  /// is.
  std::vector<ContextNode>* context_nodes = nullptr;
};

/// Copies tensors between memories.
class TESSERA_API DataTransfer {
 public:
  virtual ~DataTransfer() = default;
  virtual bool CanCopy(const MemoryInfo& from, const MemoryInfo& to) const noexcept = 0;
  /// Copies all bytes; shapes and types are equal. With a stream the copy may still be under way on return: the source must
  /// live until the stream is synchronized.
  virtual void Copy(const Tensor& from, Tensor& to, Stream* stream) = 0;
};

/// Takes what a device did and when, for a session's profile.
class TESSERA_API DeviceTrace {
 public:
  virtual ~DeviceTrace() = default;
  /// When a command was enqueued, began and ended, in nanoseconds of std::chrono::steady_clock. Thread-safe.
  virtual void AddCommand(std::string_view name, std::string_view device, int64_t queued, int64_t start, int64_t end) = 0;
};

/// A span in a profile.
struct ProfileEvent {
  enum class Category { kSession, kNode, kKernel, kApi };

  Category category = Category::kKernel;
  std::string name;
  int64_t process = 0, thread = 0;  // as the system numbers them
  double start_us = 0;              // from the zero of the profile's times
  double duration_us = 0;
  std::vector<std::pair<std::string, std::string>> arguments;
};

/// A provider's part in one profile. Failures of its own it keeps to itself: a profile that lacks something is no reason
/// for a run to fail.
class TESSERA_API ProviderProfiler {
 public:
  virtual ~ProviderProfiler() = default;
  /// Around each kernel that runs, whichever provider's, in its thread. The same number in both calls, which in the process
  /// nothing else has.
  virtual void OnNodeStart(uint64_t number) noexcept = 0;
  virtual void OnNodeEnd(uint64_t number, const ProfileEvent& event) noexcept = 0;
  /// What the provider recorded itself; the profile ends.
  virtual std::vector<ProfileEvent> Finish() noexcept = 0;
};

/// What the framework lends a provider for the life of one session.
struct SessionServices {
  ThreadPool* threads = nullptr;
  int graph_optimization_level = 99;
  /// Forms of constants that kernels make may be shared with other sessions.
  bool share_prepacked = true;
  DeviceTrace* trace = nullptr;  // null: the session is not profiled
  /// Host memory for what kernels keep, counted against the limit of the session's load.
  Allocator* memory = &HostAllocator();
};

/// What runs parts of a model: it claims nodes or subgraphs and makes their kernels. One object serves one session, and is
/// asked by one thread at a time while that loads; kernels are called by any.
class TESSERA_API ExecutionProvider {
 public:
  virtual ~ExecutionProvider() = default;

  /// "CPUExecutionProvider"
  virtual std::string_view name() const noexcept = 0;

  /// The subgraphs it can run. Nodes already taken by an earlier provider have `provider` set. The default claims each node
  /// that its registry has a kernel for.
  virtual std::vector<ComputeCapability> GetCapability(const GraphViewer& graph, const KernelLookup& kernels,
                                                       RefusalSink& refusals) const;

  /// Whether it is asked for subgraphs before the portable optimizations too, when the graph holds the operators that the
  /// model's author wrote. What GetCapability then claims with `fuse` is drawn out of the graph, nested graphs included,
  /// and compiled at once. Claims without `fuse` wait for the second asking.
  virtual bool ClaimsModelAsWritten() const noexcept { return false; }

  /// Whether that is all that it is asked for: it knows no other operators than those that models are written with.
  virtual bool ClaimsOnlyAsWritten() const noexcept { return false; }

  /// Whether, before it is asked for the last time, images of the model as written are to have their channels last in what
  /// it claims and ChannelsLastFor says: such operators become those of the domain com.ms.internal.nhwc, whose first input
  /// and output are so, between transposes.
  virtual bool PrefersChannelsLast() const { return false; }
  virtual bool ChannelsLastFor(const Node& /*node*/) const { return true; }

  /// What the model says of itself, and its file (empty: it came as bytes), once, before GetCapability.
  virtual void OnModel(const ModelMetadata& /*metadata*/, const std::filesystem::path& /*file*/) {}

  /// The session is complete; what is thrown ends its load.
  virtual void OnLoaded() {}

  /// Whether OnRunStart and OnRunEnd are to be called, around each run of the session, also one that fails. What they
  /// throw ends the run.
  virtual bool WatchesRuns() const noexcept { return false; }
  virtual void OnRunStart(const RunOptions& /*options*/) {}
  /// With `synchronize` what the run has put on the provider's streams is to be done on return.
  virtual void OnRunEnd(const RunOptions& /*options*/, bool /*synchronize*/) {}

  /// False: the session's runs come one after another.
  virtual bool AllowsConcurrentRuns() const noexcept { return true; }

  /// Options that change while the session lives, by name: each provider is told of all, and takes those that it knows.
  virtual void SetDynamicOptions(std::span<const std::pair<std::string_view, std::string_view>> /*options*/) {}

  /// Of nodes that it claims one by one. The registry lives as long as the provider.
  virtual const KernelRegistry& kernels() const noexcept = 0;

  /// Whether it defines an operator of this name, which then means in its sessions what the provider says: of a domain that
  /// nobody else knows, or in place of a contributed one. ONNX's own operators stay what they are.
  virtual bool Defines(std::string_view /*domain*/, std::string_view /*op_type*/, int /*opset*/) const { return false; }
  /// What is known of the outputs of a node of such an operator, whose inputs are inferred. `outputs` has one entry for
  /// each, of kind kNone until it is set. Throws Error for a node that is no use of the operator.
  virtual void InferOutputs(const GraphViewer& /*graph*/, const Node& /*node*/, std::span<TypeInfo> /*outputs*/) const {}

  /// One kernel for each fused subgraph. Throws Error when a subgraph does not compile: it then goes to the next provider.
  virtual std::vector<std::unique_ptr<Kernel>> Compile(std::span<const FusedSubgraph> subgraphs,
                                                       const CompileContext& context);

  /// What a later session is to know before it uses what this provider has compiled, for the metadata of a model that is
  /// written with `compiled`'s context nodes in it; empty: nothing.
  virtual std::string CompatibilityInfo(const GraphViewer& /*compiled*/) const { return {}; }

  /// Its part in a profile, of a session or of a run, whose times count from `zero`; null: it has none.
  virtual std::unique_ptr<ProviderProfiler> StartProfile(std::chrono::steady_clock::time_point /*zero*/) { return nullptr; }

  /// Whether it records what a run puts on its device, to replay it. A session that could not do so does not load: one
  /// where other nodes are another provider's, but for those of the host that may compute shapes beside it. A run is
  /// repeated until the recording is there, and later runs with the same buffers are replays.
  enum class Recording { kNone, kAllNodes, kAllButShapes };
  virtual Recording RecordsRuns() const noexcept { return Recording::kNone; }
  virtual bool HasRecorded(int /*number*/) const { return false; }
  virtual void Replay(int /*number*/) {}
  virtual void ForgetRecording(int /*number*/) {}

  /// The operators that Compile takes, as far as kernels() does not name them, for the table of operators.
  virtual std::vector<CompiledOperator> CompiledOperators() const { return {}; }

  /// The precision of `node`, which this provider took, where something allows another than the node's types ("bf16",
  /// "f32"); empty: those types. For the placement report.
  virtual std::string_view PrecisionOf(const GraphViewer& /*graph*/, const Node& /*node*/) const { return {}; }

  /// Where its kernels' inputs and outputs live.
  virtual MemoryInfo memory() const noexcept { return {}; }

  /// The raw device allocator, which the session puts an arena in front of unless SessionOptions::enable_arena is false;
  /// null: the provider works in host memory.
  virtual std::unique_ptr<Allocator> CreateAllocator() { return nullptr; }

  /// Null for providers whose memory is the host's.
  virtual std::unique_ptr<DataTransfer> CreateDataTransfer() { return nullptr; }
  virtual std::unique_ptr<Stream> CreateStream() { return nullptr; }

  /// A constant in memory(), which other sessions on the same device read too; nothing: the session makes a copy of its
  /// own.
  virtual std::optional<Tensor> SharedConstant(const Tensor& /*constant*/) { return std::nullopt; }

  /// What it computes on, for the placement report; empty: the processor.
  virtual std::string DeviceName() const { return {}; }

  /// Options in force, defaults included.
  const ProviderOptions& options() const noexcept { return options_; }
  void set_options(ProviderOptions options) { options_ = std::move(options); }

  /// Called once, before GetCapability.
  virtual void Attach(const SessionServices& services) { services_ = services; }

 protected:
  SessionServices services_;
  ProviderOptions options_;
};

/// How a provider is known and made. One static table of these is the registry of the providers that are compiled in, in
/// priority order (cmake/Providers.cmake); AddProvider adds others.
struct ProviderFactory {
  std::string_view name;      // "OpenCLExecutionProvider"
  std::string_view cli_name;  // "opencl"
  DeviceType device = DeviceType::kCpu;
  std::span<const OptionSchema> options;
  /// Makes a provider from checked options (defaults filled in). Throws Error when it can't start: no device, no library.
  std::unique_ptr<ExecutionProvider> (*create)(const ProviderOptions& options) = nullptr;
  /// Its library runs on the OpenMP team: the session's own loops then run there too, see docs on threads.
  bool uses_openmp = false;
  /// What it could run on here, a line each, for reports; null: the processor.
  std::vector<std::string> (*devices)() = nullptr;
  /// Why available_providers() leaves it out on this machine, where it runs only for those who name it; empty, or null: it
  /// does not.
  std::string (*why_not_by_default)() = nullptr;
  /// It runs what the program itself brought: sessions do not count it among their providers, but in the placement report.
  bool of_program = false;
  /// The passes that rewrite the nodes that it was assigned into operators and layouts of its own; null: none. Of providers
  /// that are built with the library: passes are no part of the public interface.
  std::span<const RewriteEntry> (*lowering)() = nullptr;
};

/// Makes a provider that no table of the process knows: of a library that an environment has registered. Shared by the
/// requests that name it.
class TESSERA_API ProviderSource {
 public:
  virtual ~ProviderSource() = default;
  /// Its name; options of any name are taken, and `create` is not used.
  virtual const ProviderFactory& factory() const noexcept = 0;
  /// For one session. Throws Error when it can't start.
  virtual std::unique_ptr<ExecutionProvider> Create(const ProviderOptions& options, const SessionOptions& session) = 0;
};

/// Makes a provider from outside the library known to this process: sessions made from then on, in any thread, may name it,
/// and available_providers() lists it. Its priority among those it lists is that of its turn: providers that are added come
/// before those compiled in, the first one added first. There is no way back: the factory, and all that it points to, must
/// live as long as the process (a static object; a library that holds it is never unloaded). To add the same factory again
/// does nothing. Throws Error(kInvalidArgument) where a name is empty or, in any case, already a provider's name or cli
/// name, where `create` is null, and where two options have one name or a default, unless it is empty, is no value of its
/// option.
TESSERA_API void AddProvider(const ProviderFactory& factory);

/// Every compiled-in provider, highest priority first.
TESSERA_API std::span<const ProviderFactory* const> RegisteredProviders();

/// Compiled in or added: by name or cli name, case-insensitive; null when there is none.
TESSERA_API const ProviderFactory* FindProvider(std::string_view name) noexcept;

}  // namespace tessera
