#pragma once

// The interface between the executor and an operator's implementation.

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tessera/memory.h"
#include "tessera/provider/graph.h"
#include "tessera/provider/thread_pool.h"
#include "tessera/value.h"

namespace tessera {

class ExecutionProvider;
class KernelContext;

/// An asynchronous queue of a device. A host-only session has none.
class TESSERA_API Stream {
 public:
  virtual ~Stream() = default;
  /// Waits until everything enqueued so far is done.
  virtual void Synchronize() = 0;
  /// The device's queue (cl_command_queue), for the provider that made it.
  virtual void* native_handle() const noexcept = 0;
  /// The run that used it is over, also one that failed, and what it enqueued is done: another may come.
  virtual void OnRunEnd() noexcept {}
};

/// A nested graph (If branch, Loop body, Scan body), partitioned and planned, ready to run inside its node's kernel.
class TESSERA_API SubgraphRunner {
 public:
  virtual ~SubgraphRunner() = default;
  virtual size_t num_inputs() const noexcept = 0;
  virtual size_t num_outputs() const noexcept = 0;
  /// Declared type of an output; element type undefined when not known.
  virtual const TypeInfo& output_type(size_t i) const noexcept = 0;
  virtual const TypeInfo& input_type(size_t i) const noexcept = 0;
  /// Runs the graph once. Captured values come from `context`, the node that holds the graph. `outputs` receives values
  /// that own their buffers. Observes cancellation. Re-entrant.
  virtual void Run(KernelContext& context, std::span<const Value> inputs, std::span<Value> outputs) = 0;
  /// The same; the graph may take `inputs` apart, which are none afterwards.
  virtual void RunTaking(KernelContext& context, std::span<Value> inputs, std::span<Value> outputs) = 0;
};

/// A node, and what its graph knows of it before anything runs.
class TESSERA_API NodeInfo {
 public:
  virtual ~NodeInfo() = default;

  virtual const Node& node() const noexcept = 0;
  virtual const GraphViewer& graph() const noexcept = 0;

  size_t num_inputs() const noexcept { return node().inputs.size(); }
  size_t num_outputs() const noexcept { return node().outputs.size(); }
  bool has_input(size_t i) const noexcept { return i < num_inputs() && node().inputs[i] != kNone; }
  bool has_output(size_t i) const noexcept { return i < num_outputs() && node().outputs[i] != kNone; }
  int since_version() const noexcept { return node().since_version; }

  /// Static types; for omitted ones a TypeInfo of kind kNone.
  const TypeInfo& input_info(size_t i) const noexcept;
  const TypeInfo& output_info(size_t i) const noexcept;
  ElementType input_type(size_t i) const noexcept { return input_info(i).element; }
  ElementType output_type(size_t i) const noexcept { return output_info(i).element; }

  /// The constant behind input `i`, or null when it is omitted or computed at run time.
  const Tensor* constant_input(size_t i) const noexcept;

  bool has_attribute(std::string_view name) const noexcept { return node().FindAttribute(name) != nullptr; }

  /// The attribute, or `fallback` when it is absent. T is int64_t, float, std::string, Tensor, TypeInfo, or a vector of
  /// those. Throws Error when the attribute has another type.
  template <class T>
  T attribute(std::string_view name, T fallback) const {
    const AttributeValue* value = node().FindAttribute(name);
    return value == nullptr ? std::move(fallback) : Get<T>(name, *value);
  }
  /// The attribute where the node keeps it, for lists that are too large to copy; null when it is absent.
  template <class T>
  const T* attribute_if(std::string_view name) const {
    const AttributeValue* value = node().FindAttribute(name);
    return value == nullptr ? nullptr : &Get<T>(name, *value);
  }
  /// A required attribute; throws Error naming it when it is absent.
  template <class T>
  T attribute(std::string_view name) const {
    const AttributeValue* value = node().FindAttribute(name);
    if (value == nullptr) ThrowMissing(name);
    return Get<T>(name, *value);
  }

 private:
  template <class T>
  const T& Get(std::string_view name, const AttributeValue& value) const {
    if (const T* typed = std::get_if<T>(&value)) return *typed;
    ThrowWrongType(name);
  }
  [[noreturn]] void ThrowMissing(std::string_view name) const;
  [[noreturn]] void ThrowWrongType(std::string_view name) const;
};

/// What a kernel learns when it is created, once per node and session.
class TESSERA_API KernelInfo : public NodeInfo {
 public:
  virtual const ExecutionProvider& provider() const noexcept = 0;
  /// The session's intra-op threads, for work at load such as prepacking.
  virtual ThreadPool& threads() const noexcept = 0;
  /// Host memory for what the kernel keeps, counted against the limit of the session's load. Tables that lie elsewhere are
  /// counted by a MemoryCharge on it.
  virtual Allocator& allocator() const noexcept = 0;
  /// The nested graph of a graph attribute; throws Error when there is none.
  virtual SubgraphRunner& subgraph(std::string_view attribute) const = 0;
  /// A value made from constant data (packed weights), shared by every kernel and session of the process that asks with the
  /// same key for the same constant while any of them lives. `make` runs at most once per live value.
  virtual std::shared_ptr<const void> SharedPrepack(const Tensor& constant, std::string_view key,
                                                    const std::function<std::shared_ptr<const void>()>& make) const = 0;
  /// Says that the kernel keeps its own form of constant input `i`, and Compute never reads it: its memory may be dropped.
  virtual void ReleaseConstant(size_t input) const = 0;
  /// Says that Compute reads input `i` by Tensor::unaligned_raw() only: a constant may stay where it lies in the model's
  /// file.
  virtual void AcceptUnaligned(size_t input) const = 0;
};

/// What a kernel sees during one Compute. Nothing in it allocates in the steady state.
class TESSERA_API KernelContext {
 public:
  virtual ~KernelContext() = default;

  size_t num_inputs() const noexcept { return inputs_.size(); }
  size_t num_outputs() const noexcept { return num_outputs_; }

  /// Input `i` as a tensor; null when it was omitted. Throws Error when it holds something else.
  const Tensor* input(size_t i) const {
    if (i >= inputs_.size() || inputs_[i] == nullptr) return nullptr;
    const Tensor* tensor = inputs_[i]->tensor_if();
    if (tensor == nullptr) ThrowNotTensor(i);
    return tensor;
  }
  /// Input `i`, which the operator requires; throws Error when it was omitted.
  const Tensor& required_input(size_t i) const {
    const Tensor* tensor = input(i);
    if (tensor == nullptr) ThrowMissingInput(i);
    return *tensor;
  }
  /// Input `i` of any kind; null when it was omitted.
  const Value* input_value(size_t i) const noexcept { return i < inputs_.size() ? inputs_[i] : nullptr; }
  /// Input `i` of any kind, which must not be omitted, to make the output of: moved out of the run where nobody reads it
  /// later, and none in input_value() from then on; else a copy, which shares what a Value shares.
  virtual Value TakeInput(size_t i) { return *inputs_[i]; }

  virtual bool has_output(size_t i) const noexcept = 0;

  /// Storage for output `i`, of the element type that the graph states, in the memory that the kernel was registered for;
  /// null when the output is omitted. Planned memory, an in-place input, the caller's buffer or an allocation.
  virtual Tensor* output(size_t i, const Shape& shape) = 0;
  /// The same, with the element type given (operators whose output type is only known now).
  virtual Tensor* output(size_t i, ElementType type, const Shape& shape) = 0;

  /// Storage for output `i`, which is to hold the bytes of all inputs, one after another: as output(), but inputs may lie
  /// at their places in it already. Those need no copy; no other input meets it.
  virtual Tensor* joined_output(size_t i, ElementType type, const Shape& shape) { return output(i, type, shape); }

  /// Makes `value` the output: sequences, maps, and tensors that share an input's buffer. Views without owner are copied
  /// where needed to outlive the run.
  virtual void set_output(size_t i, Value value) = 0;

  /// `count` elements that live until Compute returns, kHostAlignment aligned, uninitialized.
  template <class T>
  std::span<T> scratch(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    return {static_cast<T*>(ScratchBytes(count, sizeof(T))), count};
  }

  virtual ThreadPool& threads() const noexcept = 0;
  /// The provider's stream; null on host providers.
  virtual Stream* stream() const noexcept = 0;
  /// The allocator of the kernel's memory.
  virtual Allocator& allocator() const noexcept = 0;
  /// True once the run was cancelled or its time is over: long kernels and loops check it at least every few milliseconds.
  virtual bool cancelled() const noexcept = 0;

 protected:
  virtual void* ScratchBytes(size_t count, size_t element_size) = 0;  // throws Error on overflow or exhaustion
  [[noreturn]] void ThrowNotTensor(size_t i) const;
  [[noreturn]] void ThrowMissingInput(size_t i) const;

  std::span<const Value* const> inputs_;  // implicit inputs follow the node's own
  size_t num_outputs_ = 0;
};

/// An operator bound to one node. Compute is called from many threads at once: what changes during a run lives in the
/// context, not in the kernel.
class TESSERA_API Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void Compute(KernelContext& context) = 0;

  /// How Compute(context) computed, where there are several ways, for profiles: an algorithm ("Winograd"), or what a
  /// library calls its implementation ("jit:avx2").
  virtual std::string Implementation(KernelContext& /*context*/) { return {}; }

  /// Of what Compile made: inputs and outputs that are the host's, and outputs that may take an input's buffer. Null: all
  /// are in the provider's memory.
  virtual const class KernelDef* PlacesOfOperands() const noexcept { return nullptr; }
};

using KernelFactory = std::unique_ptr<Kernel> (*)(const KernelInfo& info);

/// Says in one phrase why a kernel cannot compute a node ("training is left to the CPU provider"); empty where it can.
using KernelRefusal = std::string (*)(const NodeInfo& info);

inline constexpr int kLatestVersion = std::numeric_limits<int>::max();

/// What a kernel implements, and how to make it.
///
///   registry.Add(Op("Relu").Versions(6).Types(0, kFloats).InPlace(0, 0).Make<Relu>());
class TESSERA_API KernelDef {
 public:
  explicit KernelDef(std::string_view op_type, std::string_view domain = "");
  KernelDef(const KernelDef& other);
  KernelDef(KernelDef&& other) noexcept;
  KernelDef& operator=(const KernelDef& other);
  KernelDef& operator=(KernelDef&& other) noexcept;
  ~KernelDef();

  /// Schema versions (since_version) that the kernel implements, both ends included.
  KernelDef& Versions(int first, int last = kLatestVersion);
  /// Element types that input `i` may have; unnamed inputs may have any the schema allows. For sequences, optionals and
  /// maps the constraint is ignored.
  KernelDef& Types(size_t input, TypeSet types);
  KernelDef& OutputTypes(size_t output, TypeSet types);
  /// Output may take over input's buffer when this is the input's last use and both have the same byte size.
  KernelDef& InPlace(size_t input, size_t output);
  /// Output is a view of the input's buffer (Reshape, Identity): the kernel calls set_output with the reshaped tensor.
  KernelDef& Alias(size_t input, size_t output);
  /// Inputs and outputs that stay in host memory on a device provider (shapes, axes).
  KernelDef& HostInput(size_t input);
  KernelDef& HostOutput(size_t output);
  KernelDef& Factory(KernelFactory factory);
  /// Leaves nodes that `refusal` gives a reason for: what versions and types cannot say, as an attribute, a rank, or an
  /// input that must be constant. Where several are given, the first reason counts; an Error that one throws is a reason.
  KernelDef& Unless(KernelRefusal refusal);

  template <std::derived_from<Kernel> K>
  KernelDef& Make() {
    return Factory([](const KernelInfo& info) -> std::unique_ptr<Kernel> { return std::make_unique<K>(info); });
  }

  const std::string& op_type() const noexcept { return op_type_; }
  const std::string& domain() const noexcept { return domain_; }
  int first_version() const noexcept { return first_; }
  int last_version() const noexcept { return last_; }
  const std::vector<std::pair<size_t, TypeSet>>& input_types() const noexcept { return input_types_; }
  const std::vector<std::pair<size_t, TypeSet>>& output_types() const noexcept { return output_types_; }
  const std::vector<std::pair<size_t, size_t>>& in_place() const noexcept { return in_place_; }
  const std::vector<std::pair<size_t, size_t>>& aliases() const noexcept { return aliases_; }
  bool is_host_input(size_t input) const noexcept;
  bool is_host_output(size_t output) const noexcept;
  KernelFactory factory() const noexcept { return factory_; }
  /// Why this kernel cannot compute a node of its versions and types; empty where it can.
  std::string Refusal(const NodeInfo& info) const;

 private:
  std::string op_type_;
  std::string domain_;
  int first_ = 1;
  int last_ = kLatestVersion;
  std::vector<std::pair<size_t, TypeSet>> input_types_;
  std::vector<std::pair<size_t, TypeSet>> output_types_;
  std::vector<std::pair<size_t, size_t>> in_place_;
  std::vector<std::pair<size_t, size_t>> aliases_;
  std::vector<size_t> host_inputs_;
  std::vector<size_t> host_outputs_;
  KernelFactory factory_ = nullptr;
  std::vector<KernelRefusal> refusals_;
};

/// Begins the definition of a kernel: of an operator of ai.onnx, unless a domain is given.
inline KernelDef Op(std::string_view op_type, std::string_view domain = "") { return KernelDef(op_type, domain); }

/// The kernels of one provider.
class TESSERA_API KernelRegistry {
 public:
  KernelRegistry();
  ~KernelRegistry();
  KernelRegistry(KernelRegistry&&) noexcept;

  void Add(const KernelDef& def);

  /// The kernel for a node with its static types, or null; `why` then receives the reason in one phrase ("no kernel for
  /// version 9", "input 0 is tensor(double)", what a KernelDef::Unless says).
  const KernelDef* Find(const GraphViewer& graph, const Node& node, std::string* why = nullptr) const;

  /// Every definition, by domain, op type and version: the support tables are made from it.
  std::vector<const KernelDef*> definitions() const;

 private:
  struct Index;
  std::unique_ptr<Index> index_;
};

}  // namespace tessera
