#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "base/precision.h"
#include "opencl/claims/claim.h"
#include "opencl/claims/fusion.h"
#include "opencl/device/kernel.h"
#include "opencl/device/sharing.h"
#include "opencl/lowering/lowering.h"
#include "session/provider_options.h"
#include "tessera/providers/names.h"
#include "tessera/providers/opencl.h"

namespace tessera {
namespace opencl {
namespace {

const OptionSchema kOptions[] = {
    {"device_id",
     OptionType::kInt,
     "0",
     "number of the device among those that platform and device_type leave, GPUs first, processors last",
     {},
     0,
     1023},
    {"device_type", OptionType::kEnum, "any", "kind of device", {"any", "gpu", "cpu", "accelerator"}},
    {"platform", OptionType::kString, "", "part of the platform's name; empty: any platform"},
    {"program_cache_path", OptionType::kString, "", "folder for compiled programs; empty: none are kept on disk"},
    {"gpu_mem_limit", OptionType::kBytes, "0", "most bytes of device memory for one session; 0: no limit"},
    {"arena_extend_strategy",
     OptionType::kEnum,
     "kNextPowerOfTwo",
     "how the arena grows",
     {"kNextPowerOfTwo", "kSameAsRequested"}},
    {"enable_fp16", OptionType::kBool, "0",
     "matmuls and convolutions of float32 round their operands to fp16 where the device can (cl_khr_fp16, NVIDIA's matrix "
     "units)"},
    {"kernels",
     OptionType::kEnum,
     "auto",
     "matmuls and convolutions by tiles in local memory or by panels in registers; auto: tiles on GPUs",
     {"auto", "tiles", "panels"}},
    {"tuning", OptionType::kBool, "0",
     "choose the sizes of tiles by timing when the session is made; results are kept in program_cache_path"},
    {"winograd", OptionType::kBool, "1",
     "3x3 convolutions by Winograd's transform where an estimate says that it pays; results are rounded otherwise"},
    {"profiling", OptionType::kBool, "0",
     "wait for each kernel, so that a profile shows the time that its node takes on the device, and when each kernel was "
     "enqueued, began and ended there"},
};

const KernelRegistry& Kernels() {
  static const KernelRegistry registry = [] {
    KernelRegistry kernels;
#define TESSERA_OP(name) Register##name(kernels);
#include "opencl/ops/ops.inc"
#undef TESSERA_OP
    return kernels;
  }();
  return registry;
}

class OpenclProvider final : public ExecutionProvider {
 public:
  explicit OpenclProvider(const ProviderOptions& options)
      : device_(Device::Open(options)),
        queue_(std::make_shared<const Queue>(device_->CreateQueue(options.at("profiling") == "1"))),
        pinned_(device_->capabilities().shares_host_memory ? nullptr : std::make_shared<PinnedChunks>(device_, queue_)),
        budget_(std::make_shared<Budget>(ParseBytes(options.at("gpu_mem_limit")).value_or(0))),
        constants_(device_, queue_, budget_),
        profiling_(options.at("profiling") == "1") {
    const Capabilities& device = device_->capabilities();
    const std::string& kernels = options.at("kernels");
    settings_.tiles = kernels == "auto" ? device.is_gpu : kernels == "tiles";
    settings_.winograd = options.at("winograd") == "1";
    settings_.tuning = options.at("tuning") == "1";
    const bool can_round = device.fp16 || device.matrix_units, asked = options.at("enable_fp16") == "1";
    settings_.fp16 = asked && can_round;
    if (asked && !can_round) {
      Logger()(LogLevel::kWarning, "enable_fp16: {} does not compute in half (no cl_khr_fp16); float32 it is", device.name);
    }
  }

  std::string_view name() const noexcept override { return kOpenclProvider; }
  const KernelRegistry& kernels() const noexcept override { return Kernels(); }
  MemoryInfo memory() const noexcept override { return kDeviceMemory; }
  std::unique_ptr<Allocator> CreateAllocator() override { return std::make_unique<DeviceAllocator>(device_, budget_); }
  std::unique_ptr<DataTransfer> CreateDataTransfer() override {
    if (device_->capabilities().shares_host_memory) return std::make_unique<SharedTransfer>(device_, queue_);
    return std::make_unique<DeviceTransfer>(device_, queue_, true);
  }
  std::unique_ptr<Stream> CreateStream() override {
    return std::make_unique<DeviceStream>(queue_, pinned_, profiling_, *device_, trace_);
  }

  void Attach(const SessionServices& services) override {
    ExecutionProvider::Attach(services);
    constants_.set_shared(services.share_prepacked);
    if (device_->capabilities().shares_host_memory) constants_.set_host_memory(services.memory);
    trace_ = services.trace;
  }

  std::optional<Tensor> SharedConstant(const Tensor& constant) override { return constants_.OnDevice(constant); }

  std::string DeviceName() const override {
    const Capabilities& device = device_->capabilities();
    return fmt::format("{}{}", device.name, device.is_cpu ? ", a processor, on which the CPU provider is faster" : "");
  }

  std::vector<ComputeCapability> GetCapability(const GraphViewer& graph, const KernelLookup& kernels,
                                               RefusalSink& refusals) const override {
    auto claims = ClaimNodes(graph, kernels, device_->capabilities(), refusals);
    return services_.graph_optimization_level > 0 ? FuseElementwise(graph, std::move(claims)) : claims;
  }

  std::string_view PrecisionOf(const GraphViewer& graph, const Node& node) const override {
    static constexpr std::string_view kRounded[] = {"Conv", "MatMul", "Gemm"};
    const bool rounds = settings_.fp16 && settings_.tiles && node.domain.empty() &&
                        std::ranges::count(kRounded, node.op_type) > 0 &&
                        graph.value(node.inputs[0]).type.element == ElementType::kFloat;
    return rounds ? NameOf(Precision::kFloat16) : std::string_view();
  }

  std::vector<std::unique_ptr<Kernel>> Compile(std::span<const FusedSubgraph> subgraphs,
                                               const CompileContext& /*context*/) override {
    const FusionServices services{*this, *services_.threads, constants_, *services_.memory};
    std::vector<std::unique_ptr<Kernel>> kernels;
    for (const FusedSubgraph& subgraph : subgraphs) kernels.push_back(CompileElementwise(subgraph.graph, services));
    return kernels;
  }

  Device& device() const noexcept { return *device_; }
  const Settings& settings() const noexcept { return settings_; }
  cl_command_queue queue() const noexcept { return queue_->get(); }
  DeviceConstants& constants() const noexcept { return constants_; }

 private:
  std::shared_ptr<Device> device_;
  std::shared_ptr<const Queue> queue_;
  std::shared_ptr<PinnedChunks> pinned_;
  std::shared_ptr<Budget> budget_;
  mutable DeviceConstants constants_;
  Settings settings_;
  bool profiling_;
  DeviceTrace* trace_ = nullptr;
};

const OpenclProvider& ProviderOf(const KernelInfo& info) { return static_cast<const OpenclProvider&>(info.provider()); }

}  // namespace

Device& DeviceOf(const KernelInfo& info) { return ProviderOf(info).device(); }
const Settings& SettingsOf(const KernelInfo& info) { return ProviderOf(info).settings(); }
cl_command_queue QueueOf(const KernelInfo& info) { return ProviderOf(info).queue(); }
DeviceConstants& ConstantsOf(const KernelInfo& info) { return ProviderOf(info).constants(); }

}  // namespace opencl

const ProviderFactory& OpenclProviderFactory() {
  static const ProviderFactory factory = {
      .name = kOpenclProvider,
      .cli_name = "opencl",
      .device = DeviceType::kGpu,
      .options = opencl::kOptions,
      .create = [](const ProviderOptions& options) -> std::unique_ptr<ExecutionProvider> {
        return std::make_unique<opencl::OpenclProvider>(options);
      },
      .devices = opencl::DescribeDevices,
      .why_not_by_default = opencl::WhyNotByDefault,
      .lowering = OpenclLowering,
  };
  return factory;
}

}  // namespace tessera
