#include "tessera/providers/opencl.h"

#include "base/check.h"
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
    {"profiling", OptionType::kBool, "0", "measure each kernel on the device"},
};

const KernelRegistry& Kernels() {
  static const KernelRegistry registry = [] {
    KernelRegistry kernels;
    RegisterConvolution(kernels);
    RegisterElementwise(kernels);
    RegisterGather(kernels);
    RegisterMatMul(kernels);
    RegisterNormalization(kernels);
    RegisterPooling(kernels);
    RegisterReduce(kernels);
    RegisterShape(kernels);
    RegisterStrided(kernels);
    return kernels;
  }();
  return registry;
}

/// What kernels would refuse at creation or cannot do at all; empty when they can.
std::string RefusalReason(const GraphViewer& graph, const Node& node) {
  for (const auto* list : {&node.inputs, &node.outputs}) {
    for (ValueIndex index : *list) {
      if (index == kNone) continue;
      const TypeInfo& type = graph.value(index).type;
      if (!type.is_tensor()) return "a value is " + type.ToString() + ", not a tensor";
      if (type.shape && type.shape->size() > kMostDims) return fmt::format("a value has more than {} dimensions", kMostDims);
    }
  }
  const auto attribute = [&](std::string_view name) {
    const AttributeValue* value = node.FindAttribute(name);
    const int64_t* number = value == nullptr ? nullptr : std::get_if<int64_t>(value);
    return number == nullptr ? int64_t{0} : *number;
  };
  const bool second_output = node.outputs.size() > 1 && node.outputs[1] != kNone;
  if (second_output && node.op_type != "Split") return "only the first output is computed on the device";
  if (node.op_type == "BatchNormalization" && (attribute("training_mode") != 0)) return "training mode is left to the CPU provider";
  if (node.op_type == "AveragePool" && attribute("ceil_mode") != 0) return "ceil_mode of an average is left to the CPU provider";
  const bool spatial = node.op_type == "Conv" || node.op_type.ends_with("Pool");
  if (spatial) {
    const auto& shape = graph.value(node.inputs[0]).type.shape;
    if (!shape || shape->size() < 3 || shape->size() > 5) return "one to three spatial dimensions are computed on the device";
  }
  if (node.op_type == "Gather" && graph.constant(node.inputs[1]) == nullptr) {
    return "indices that only the device sees could not be checked";
  }
  return {};
}

class OpenclProvider final : public ExecutionProvider {
 public:
  explicit OpenclProvider(const ProviderOptions& options) : device_(Device::Open(options)), profiling_(options.at("profiling") == "1") {}

  std::string_view name() const noexcept override { return "OpenCLExecutionProvider"; }
  const KernelRegistry& kernels() const noexcept override { return Kernels(); }
  MemoryInfo memory() const noexcept override { return {kMemoryName, DeviceType::kGpu, 0, false}; }
  std::unique_ptr<Allocator> CreateAllocator() override { return std::make_unique<DeviceAllocator>(device_); }
  std::unique_ptr<DataTransfer> CreateDataTransfer() override { return std::make_unique<DeviceTransfer>(device_); }
  std::unique_ptr<Stream> CreateStream() override { return std::make_unique<DeviceStream>(device_->CreateQueue(profiling_)); }

  std::vector<ComputeCapability> GetCapability(const GraphViewer& graph, const KernelLookup& kernels, RefusalSink& refusals) const override {
    std::vector<ComputeCapability> claims;
    for (NodeIndex index : graph.nodes()) {
      const Node& node = graph.node(index);
      if (!node.provider.empty()) continue;
      std::string reason;
      if (kernels.Find(node, &reason) != nullptr) reason = RefusalReason(graph, node);
      if (reason.empty()) {
        claims.push_back({{index}, false, {}});
      } else {
        refusals.Refuse(index, std::move(reason));
      }
    }
    return claims;
  }

  Device& device() const noexcept { return *device_; }

 private:
  std::shared_ptr<Device> device_;
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
