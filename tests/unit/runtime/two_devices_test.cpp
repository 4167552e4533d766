// Values that go from one device to another, each of which works only when its queue is drained.

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <mutex>

#include "model_builder.h"
#include "tessera/provider/execution_provider.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::Floats;
using testing::ModelBuilder;
using testing::ToVector;

constexpr std::string_view kNames[] = {"FirstLazyExecutionProvider", "SecondLazyExecutionProvider"};
constexpr std::string_view kOps[] = {"Neg", "Exp"};
constexpr MemoryInfo kLazy[] = {{"FirstLazy", DeviceType::kGpu, 0, false}, {"SecondLazy", DeviceType::kGpu, 0, false}};

class LazyAllocator final : public Allocator {
 public:
  explicit LazyAllocator(const MemoryInfo& info) : info_(info) {}
  const MemoryInfo& memory() const noexcept override { return info_; }
  void* Allocate(size_t bytes) override { return std::memset(HostAllocator().Allocate(bytes), 0x7f, bytes); }
  void Free(void* buffer) noexcept override { HostAllocator().Free(buffer); }

 private:
  const MemoryInfo info_;
};

class LazyStream final : public Stream {
 public:
  void Enqueue(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  void Synchronize() override {
    const std::lock_guard lock(mutex_);
    for (const auto& work : queue_) work();
    queue_.clear();
  }
  void* native_handle() const noexcept override { return nullptr; }

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> queue_;
};

/// Between its own memory and the host's.
class LazyTransfer final : public DataTransfer {
 public:
  explicit LazyTransfer(const MemoryInfo& info) : info_(info) {}
  bool CanCopy(const MemoryInfo& from, const MemoryInfo& to) const noexcept override {
    return (from == info_ && to.host_accessible) || (from.host_accessible && to == info_);
  }
  void Copy(const Tensor& from, Tensor& to, Stream* stream) override {
    const auto copy = [source = from.raw(), target = to.mutable_raw(), bytes = from.byte_size()] {
      std::memcpy(target, source, bytes);
    };
    if (stream == nullptr) return copy();
    static_cast<LazyStream*>(stream)->Enqueue(copy);
  }

 private:
  const MemoryInfo info_;
};

class LazyUnary final : public Kernel {
 public:
  explicit LazyUnary(const KernelInfo& info) : negates_(info.node().op_type == "Neg") {}
  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    static_cast<LazyStream*>(context.stream())
        ->Enqueue([this, from = x.data<float>(), to = context.output(0, x.shape())->mutable_data<float>(),
                   count = x.num_elements()] {
          for (int64_t i = 0; i < count; ++i) to[i] = negates_ ? -from[i] : std::exp(from[i]);
        });
  }

 private:
  const bool negates_;
};

template <int kDevice>
class LazyProvider final : public ExecutionProvider {
 public:
  std::string_view name() const noexcept override { return kNames[kDevice]; }
  MemoryInfo memory() const noexcept override { return kLazy[kDevice]; }
  const KernelRegistry& kernels() const noexcept override {
    static const KernelRegistry registry = [] {
      KernelRegistry kernels;
      kernels.Add(Op(kOps[kDevice]).Types(0, {ElementType::kFloat}).Make<LazyUnary>());
      return kernels;
    }();
    return registry;
  }
  std::unique_ptr<Allocator> CreateAllocator() override { return std::make_unique<LazyAllocator>(kLazy[kDevice]); }
  std::unique_ptr<DataTransfer> CreateDataTransfer() override { return std::make_unique<LazyTransfer>(kLazy[kDevice]); }
  std::unique_ptr<Stream> CreateStream() override { return std::make_unique<LazyStream>(); }
};

template <int kDevice>
const ProviderFactory kLazyFactory = {
    .name = kNames[kDevice],
    .cli_name = kLazy[kDevice].name,
    .device = DeviceType::kGpu,
    .options = {},
    .create = [](const ProviderOptions&) -> std::unique_ptr<ExecutionProvider> {
      return std::make_unique<LazyProvider<kDevice>>();
    },
};

TEST(TwoDevices, WaitForEachOther) {
  AddProvider(kLazyFactory<0>);
  AddProvider(kLazyFactory<1>);
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  model.Node("Neg", {"x"}, {"a"});
  model.Node("Exp", {"a"}, {"b"});
  model.Node("Neg", {"b"}, {"c"});
  model.Node("Exp", {"c"}, {"y"});
  for (const ExecutionMode mode : {ExecutionMode::kSequential, ExecutionMode::kParallel}) {
    SessionOptions options;
    for (const std::string_view name : kNames) options.providers.push_back({std::string(name), {}});
    options.execution_mode = mode;
    options.optimization_level = OptimizationLevel::kNone;
    options.config["session.min_island_nodes"] = "0";
    const Session session = model.Session(options);
    for (const auto& node : session.placement().nodes) EXPECT_NE(node.provider, "CPUExecutionProvider");
    for (int run = 0; run < 3; ++run) {
      std::vector<Value> results(1);
      session.Run(std::vector<Value>{Floats({2}, {0, 1})}, results);
      EXPECT_THAT(ToVector(results[0]), ElementsAre(std::exp(-1.0f), std::exp(-std::exp(-1.0f))));
    }
  }
}

}  // namespace
}  // namespace tessera
