#include "tessera/providers/opencl.h"

#include "base/check.h"
#include "claim.h"
#include "kernel.h"

namespace tessera {
namespace opencl {
namespace {

const OptionSchema kOptions[] = {
    {"device_id", OptionType::kInt, "0", "number of the device among those that platform and device_type leave, GPUs first", {}, 0, 1023},
    {"device_type", OptionType::kEnum, "any", "kind of device", {"any", "gpu", "cpu", "accelerator"}},
    {"platform", OptionType::kString, "", "part of the platform's name; empty: any platform"},
    {"program_cache_path", OptionType::kString, "", "folder for compiled programs; empty: none are kept on disk"},
    {"gpu_mem_limit", OptionType::kBytes, "0", "most bytes of device memory for one session; 0: no limit"},
    {"arena_extend_strategy", OptionType::kEnum, "kNextPowerOfTwo", "how the arena grows", {"kNextPowerOfTwo", "kSameAsRequested"}},
    {"profiling", OptionType::kBool, "0", "wait for each kernel, so that a profile shows the time it takes on the device"},
};

const KernelRegistry& Kernels() {
  static const KernelRegistry registry = [] {
    KernelRegistry kernels;
    RegisterBinary(kernels);
    RegisterConvTranspose(kernels);
    RegisterConvolution(kernels);
    RegisterFill(kernels);
    RegisterGather(kernels);
    RegisterGatherSlices(kernels);
    RegisterLines(kernels);
    RegisterMatMul(kernels);
    RegisterNormalization(kernels);
    RegisterPad(kernels);
    RegisterPooling(kernels);
    RegisterQuantization(kernels);
    RegisterRecurrent(kernels);
    RegisterReduce(kernels);
    RegisterResize(kernels);
    RegisterScatter(kernels);
    RegisterSelect(kernels);
    RegisterShape(kernels);
    RegisterStrided(kernels);
    RegisterUnary(kernels);
    return kernels;
  }();
  return registry;
}

class OpenclProvider final : public ExecutionProvider {
 public:
  explicit OpenclProvider(const ProviderOptions& options)
      : device_(Device::Open(options)), queue_(std::make_shared<const Queue>(device_->CreateQueue())), profiling_(options.at("profiling") == "1") {}

  std::string_view name() const noexcept override { return "OpenCLExecutionProvider"; }
  const KernelRegistry& kernels() const noexcept override { return Kernels(); }
  MemoryInfo memory() const noexcept override { return {kMemoryName, DeviceType::kGpu, 0, false}; }
  std::unique_ptr<Allocator> CreateAllocator() override { return std::make_unique<DeviceAllocator>(device_); }
  std::unique_ptr<DataTransfer> CreateDataTransfer() override { return std::make_unique<DeviceTransfer>(queue_); }
  std::unique_ptr<Stream> CreateStream() override { return std::make_unique<DeviceStream>(queue_, profiling_); }

  std::vector<ComputeCapability> GetCapability(const GraphViewer& graph, const KernelLookup& kernels, RefusalSink& refusals) const override {
    return ClaimNodes(graph, kernels, device_->capabilities(), refusals);
  }

  Device& device() const noexcept { return *device_; }

 private:
  std::shared_ptr<Device> device_;
  std::shared_ptr<const Queue> queue_;
  bool profiling_;
};

}  // namespace

Device& DeviceOf(const KernelInfo& info) { return static_cast<const OpenclProvider&>(info.provider()).device(); }

}  // namespace opencl

const ProviderFactory& OpenclProviderFactory() {
  static const ProviderFactory factory = {
      .name = "OpenCLExecutionProvider",
      .cli_name = "opencl",
      .device = DeviceType::kGpu,
      .options = opencl::kOptions,
      .create = [](const ProviderOptions& options) -> std::unique_ptr<ExecutionProvider> {
        return std::make_unique<opencl::OpenclProvider>(options);
      },
  };
  return factory;
}

}  // namespace tessera
