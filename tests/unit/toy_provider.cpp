// A complete provider as somebody outside the library writes one: it includes headers of include/tessera/ alone. The unit
// tests have it, and tests/install builds it outside the tree.

#include "toy_provider.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>

#include "tessera/provider/check.h"

namespace tessera::testing {
namespace {

[[noreturn]] void ThrowFailure(std::string_view message) { Throw(ErrorCode::kEpFail, {message}); }

/// Device addresses are host addresses moved to where nothing is mapped.
constexpr uintptr_t kOffset = uintptr_t{1} << 62;
const MemoryInfo kDevice{kToyMemory, DeviceType::kGpu, 0, false};

std::byte* Real(const void* address, const MemoryInfo& memory) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  return reinterpret_cast<std::byte*>(memory == kDevice ? number - kOffset : number);
}
const float* In(const Tensor& tensor) { return reinterpret_cast<const float*>(Real(tensor.raw(), tensor.memory())); }
float* Out(Tensor& tensor) { return reinterpret_cast<float*>(Real(tensor.raw(), tensor.memory())); }

class ToyAllocator final : public Allocator {
 public:
  ToyAllocator() { ++Counters().allocators; }
  ~ToyAllocator() override { --Counters().allocators; }
  const MemoryInfo& memory() const noexcept override { return kDevice; }
  void* Allocate(size_t bytes) override { return static_cast<std::byte*>(HostAllocator().Allocate(bytes)) + kOffset; }
  void Free(void* buffer) noexcept override { HostAllocator().Free(Real(buffer, kDevice)); }
};

class ToyTransfer final : public DataTransfer {
 public:
  bool CanCopy(const MemoryInfo& from, const MemoryInfo& to) const noexcept override {
    return from == kDevice || to == kDevice;
  }
  void Copy(const Tensor& from, Tensor& to, Stream*) override {
    if (to.memory() == kDevice) ++Counters().uploads;
    if (from.memory() == kDevice) ++Counters().downloads;
    std::memcpy(Real(to.raw(), to.memory()), Real(from.raw(), from.memory()), from.byte_size());
  }
};

class ToyStream final : public Stream {
 public:
  explicit ToyStream(bool fails) : fails_(fails) {}
  void Synchronize() override {
    if (fails_) ThrowFailure("the toy hangs");
    ++Counters().synchronizations;
  }
  void* native_handle() const noexcept override { return nullptr; }

 private:
  const bool fails_;
};

class Elementwise final : public Kernel {
 public:
  explicit Elementwise(const KernelInfo& info)
      : op_(info.node().op_type), delay_(std::stoi(info.provider().options().find("delay_ms")->second)) {
    if (info.provider().options().find("fail_kernel")->second == op_) {
      Throw(ErrorCode::kEpFail, {"the toy has no ", op_, " after all"});
    }
  }
  void Compute(KernelContext& context) override {
    ++Counters().computes;
    if (delay_.count() > 0) std::this_thread::sleep_for(delay_);
    const Tensor& a = context.required_input(0);
    const Tensor* b = context.input(1);
    if (b != nullptr) Check(b->shape() == a.shape(), "shapes differ: ", a.shape(), " and ", b->shape());
    Tensor* y = context.output(0, a.shape());
    if (y->raw() == a.raw()) ++Counters().in_place;
    for (int64_t i = 0; i < a.num_elements(); ++i) {
      const float x = In(a)[i];
      Out(*y)[i] = op_ == "Neg" ? -x : op_ == "Add" ? x + In(*b)[i] : x * In(*b)[i];
    }
  }

 private:
  const std::string op_;
  const std::chrono::milliseconds delay_;
};

class View final : public Kernel {
 public:
  explicit View(const KernelInfo&) {}
  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor* shape = context.input(1);
    context.set_output(0, shape == nullptr ? x : x.Reshaped(Shape(shape->values<int64_t>())));
  }
};

/// Any value as it is. There is no schema that would tell its type before.
class Untyped final : public Kernel {
 public:
  explicit Untyped(const KernelInfo&) {}
  void Compute(KernelContext& context) override {
    const Value* value = context.input_value(0);
    context.set_output(0, value == nullptr ? Value() : *value);
  }
};

/// Indices of elements that are not 0, of a vector: as many as there are.
class NonZero final : public Kernel {
 public:
  explicit NonZero(const KernelInfo&) {}
  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const auto found = context.scratch<int64_t>(static_cast<size_t>(x.num_elements()));
    int64_t count = 0;
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      if (In(x)[i] != 0) found[static_cast<size_t>(count++)] = i;
    }
    Tensor* y = context.output(0, Shape{1, count});
    std::copy_n(found.begin(), count, y->mutable_data<int64_t>());
  }
};

/// Softsign stands for an operator that waits until it is cancelled.
class Slow final : public Kernel {
 public:
  explicit Slow(const KernelInfo&) {}
  void Compute(KernelContext& context) override {
    ++Counters().slow_computes;
    while (!context.cancelled()) std::this_thread::yield();
    context.output(0, context.required_input(0).shape());
  }
};

/// Softplus stands for an operator that waits for another one at work at the same time: 1 when it came, 0 when it did not.
class Meeting final : public Kernel {
 public:
  explicit Meeting(const KernelInfo&) {}
  void Compute(KernelContext& context) override {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const int mine = Counters().meeting.fetch_add(1);
    const int both = mine / 2 * 2 + 2;
    while (Counters().meeting < both && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    const Tensor& x = context.required_input(0);
    std::fill_n(Out(*context.output(0, x.shape())), x.num_elements(), Counters().meeting >= both ? 1.0f : 0.0f);
  }
};

const KernelRegistry& Registry() {
  static const KernelRegistry registry = [] {
    constexpr TypeSet kFloat = {ElementType::kFloat};
    KernelRegistry kernels;
    kernels.Add(Op("Add").Types(0, kFloat).InPlace(0, 0).InPlace(1, 0).Make<Elementwise>());
    kernels.Add(Op("Mul").Types(0, kFloat).InPlace(0, 0).InPlace(1, 0).Make<Elementwise>());
    kernels.Add(Op("Neg").Types(0, kFloat).InPlace(0, 0).Make<Elementwise>());
    kernels.Add(Op("Identity").Types(0, kFloat).Alias(0, 0).Make<View>());
    kernels.Add(Op("Reshape").Types(0, kFloat).Alias(0, 0).HostInput(1).Make<View>());
    kernels.Add(Op("NonZero").Types(0, kFloat).HostOutput(0).Make<NonZero>());
    kernels.Add(Op("Softplus").Types(0, kFloat).Make<Meeting>());
    kernels.Add(Op("Softsign").Types(0, kFloat).Make<Slow>());
    kernels.Add(Op("Untyped", "toy").HostInput(0).HostOutput(0).Make<Untyped>());
    return kernels;
  }();
  return registry;
}

/// Runs the nodes of a subgraph one after the other; elementwise only.
class Fused final : public Kernel {
 public:
  explicit Fused(const GraphViewer& graph) : graph_(graph) {}
  void Compute(KernelContext& context) override {
    ++Counters().computes;
    std::map<ValueIndex, std::vector<float>> values;
    const int64_t count = context.required_input(0).num_elements();
    const auto get = [&](ValueIndex index) {
      for (size_t i = 0; i < graph_.inputs().size(); ++i) {
        const Tensor& tensor = context.required_input(i);
        if (graph_.inputs()[i] == index) return std::vector<float>(In(tensor), In(tensor) + count);
      }
      if (const Tensor* constant = graph_.constant(index))
        return std::vector<float>(constant->values<float>().begin(), constant->values<float>().end());
      return values.at(index);
    };
    for (const NodeIndex index : graph_.nodes()) {
      const Node& node = graph_.node(index);
      std::vector<float> y = get(node.inputs[0]);
      for (int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<size_t>(i);
        if (node.op_type == "Neg") y[at] = -y[at];
        if (node.op_type == "Add") y[at] += get(node.inputs[1])[at];
        if (node.op_type == "Mul") y[at] *= get(node.inputs[1])[at];
      }
      values[node.outputs[0]] = std::move(y);
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      Tensor* out = context.output(i, context.required_input(0).shape());
      std::copy_n(values.at(graph_.outputs()[i]).begin(), count, Out(*out));
    }
  }

 private:
  const GraphViewer graph_;
};

bool On(const ProviderOptions& options, std::string_view name) { return options.find(name)->second == "1"; }

class ToyProvider final : public ExecutionProvider {
 public:
  explicit ToyProvider(const ProviderOptions& options) : device_(On(options, "device")), fuse_(On(options, "fuse")) {
    options_ = options;
  }
  std::string_view name() const noexcept override { return "ToyExecutionProvider"; }
  const KernelRegistry& kernels() const noexcept override { return Registry(); }
  MemoryInfo memory() const noexcept override { return device_ ? kDevice : MemoryInfo{}; }
  std::unique_ptr<Allocator> CreateAllocator() override {
    if (On(options_, "fail_memory")) ThrowFailure("the toy has no memory");
    return device_ ? std::make_unique<ToyAllocator>() : nullptr;
  }
  std::unique_ptr<DataTransfer> CreateDataTransfer() override {
    return device_ ? std::make_unique<ToyTransfer>() : nullptr;
  }
  std::unique_ptr<Stream> CreateStream() override {
    return device_ ? std::make_unique<ToyStream>(On(options_, "fail_synchronize")) : nullptr;
  }
  void Attach(const SessionServices& services) override {
    if (On(options_, "fail_attach")) ThrowFailure("the toy is broken");
    ExecutionProvider::Attach(services);
  }

  std::vector<ComputeCapability> GetCapability(const GraphViewer& graph, const KernelLookup& kernels,
                                               RefusalSink& refusals) const override {
    const std::string& ops = options_.find("ops")->second;
    std::vector<ComputeCapability> claims;
    for (const NodeIndex index : graph.nodes()) {
      const Node& node = graph.node(index);
      std::string why = "not among the ops";
      const bool listed = ops.empty() || ("," + ops + ",").find("," + node.op_type + ",") != std::string::npos;
      if (!node.provider.empty()) continue;
      if (!listed || kernels.Find(node, &why) == nullptr) {
        refusals.Refuse(index, why);
      } else if (fuse_ && !claims.empty()) {
        claims.front().nodes.push_back(index);
      } else {
        claims.push_back({{index}, fuse_, fuse_ ? "toy_region" : ""});
      }
    }
    return claims;
  }

  std::string_view PrecisionOf(const GraphViewer&, const Node& node) const override {
    return On(options_, "rounds") && node.op_type == "Mul" ? "bf16" : "";
  }

  std::vector<std::unique_ptr<Kernel>> Compile(std::span<const FusedSubgraph> subgraphs,
                                               const CompileContext& /*context*/) override {
    ++Counters().compiles;
    if (On(options_, "fail_compile")) ThrowFailure("the toy compiler is broken");
    std::vector<std::unique_ptr<Kernel>> kernels;
    for (const FusedSubgraph& subgraph : subgraphs) kernels.push_back(std::make_unique<Fused>(subgraph.graph));
    return kernels;
  }

 private:
  const bool device_;
  const bool fuse_;
};

const OptionSchema kOptions[] = {
    {"ops", OptionType::kString, "", "operators to take"},
    {"device", OptionType::kBool, "0", "values live in Toy memory"},
    {"fuse", OptionType::kBool, "0", "claim one subgraph"},
    {"fail_start", OptionType::kBool, "0", "cannot start"},
    {"fail_memory", OptionType::kBool, "0", "has no allocator"},
    {"fail_attach", OptionType::kBool, "0", "cannot join a session"},
    {"fail_synchronize", OptionType::kBool, "0", "its queue never drains"},
    {"delay_ms", OptionType::kInt, "0", "how long an elementwise operator takes", {}, 0, 1000},
    {"fail_compile", OptionType::kBool, "0", "cannot compile"},
    {"fail_kernel", OptionType::kString, "", "operator whose kernels cannot be made"},
    {"rounds", OptionType::kBool, "0", "claims to compute Mul at bf16"},
    {"level", OptionType::kEnum, "low", "nothing", {"low", "high"}},
    {"number", OptionType::kInt, "3", "nothing", {}, 1, 9},
    {"gpu_mem_limit", OptionType::kBytes, "0", "most bytes of Toy memory; 0: no limit"},
    {"arena_extend_strategy", OptionType::kEnum, "kNextPowerOfTwo", "growth", {"kNextPowerOfTwo", "kSameAsRequested"}},
};

const ProviderFactory kFactory = {
    .name = "ToyExecutionProvider",
    .cli_name = "toy",
    .device = DeviceType::kGpu,
    .options = kOptions,
    .create = [](const ProviderOptions& options) -> std::unique_ptr<ExecutionProvider> {
      if (On(options, "fail_start")) ThrowFailure("there is no toy");
      return std::make_unique<ToyProvider>(options);
    },
};

}  // namespace

const ProviderFactory& Toy() {
  AddProvider(kFactory);
  return kFactory;
}

ToyCounters& Counters() {
  static ToyCounters counters;
  return counters;
}

}  // namespace tessera::testing
