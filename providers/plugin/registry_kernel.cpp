#include "plugin/registry_kernel.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/small_array.h"
#include "bindings/c/allocator.h"
#include "bindings/c/entry.h"
#include "bindings/c/ep/data_type.h"
#include "bindings/c/type_info.h"
#include "graph/formal_parameters.h"
#include "graph/schema.h"
#include "plugin/call.h"
#include "plugin/claims.h"
#include "plugin/run.h"

namespace tessera::plugin {
namespace {

using c_abi::ThrowIfFailed;

constexpr uint32_t kFirstWithPrepack = 24;

/// A definition without an end is of the operator's newest version when the library was written: what later ones mean it
/// cannot know.
bool IsForVersion(const OrtKernelDef& def, int version) {
  if (def.last_version == std::numeric_limits<int>::max()) return version == def.first_version;
  return def.first_version <= version && version <= def.last_version;
}

/// Whether values are of the types that the definition has for their parameter, by the name of its type or its own.
bool TypesFit(const OrtKernelDef& def, const GraphViewer& graph, std::span<const ValueIndex> values,
              const std::vector<FormalParameter>& formals) {
  for (size_t i = 0; i < values.size(); ++i) {
    const FormalParameter* formal = FormalOf(formals, i);
    if (values[i] == kNone || formal == nullptr) continue;
    auto allowed = def.types.find(formal->GetTypeStr());
    if (allowed == def.types.end()) allowed = def.types.find(formal->GetName());
    if (allowed == def.types.end()) continue;
    const TypeInfo& type = graph.value(values[i]).type;
    const ONNXTensorElementDataType element = c_abi::ElementOf(type.element);
    if (!type.is_tensor() ||
        std::ranges::none_of(allowed->second, [&](const OrtDataType* known) { return known->element == element; }))
      return false;
  }
  return true;
}

struct ReleaseImpl {
  void operator()(OrtKernelImpl* impl) const noexcept {
    Quietly([&] { c_abi::ReleaseKernelImpl(impl); });
  }
};
using OwnedImpl = std::unique_ptr<OrtKernelImpl, ReleaseImpl>;

class RegistryKernel final : public Kernel {
 public:
  RegistryKernel(std::shared_ptr<Ep> ep, DeviceMemory memory, std::unique_ptr<const KeptInfo> info, OwnedImpl impl,
                 const OrtKernelDef& def)
      : ep_(std::move(ep)),
        memory_(std::move(memory)),
        info_(std::move(info)),
        impl_(std::move(impl)),
        outputs_(graph(), NodeOf(graph()).outputs, NodeOf(graph()).Label(&graph())),
        inputs_(IndicesOf(NodeOf(graph()).inputs, graph().inputs())),
        operands_(OperandsOf(def, graph())) {
    Prepack();
  }

  const KernelDef* PlacesOfOperands() const noexcept override { return &operands_; }

  void Compute(KernelContext& context) override {
    SmallArray<const Value*> inputs(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) inputs[i] = info_->InputOf(context, inputs_, i);
    OrtKernelContext run(context, inputs.values(), outputs_.indices(), outputs_.types(), ep_->logger(),
                         SyncStreamOf(context.stream()));
    AtNode(graph(), [&] { ThrowIfFailed(Call(impl_->Compute, impl_.get(), &run)); });
    outputs_.Check(run);
  }

 private:
  const GraphViewer& graph() const noexcept { return info_->graph(); }

  /// The kernel may make a form of its own of what does not change; it is given that all the same.
  void Prepack() {
    if (impl_->ort_version_supported < kFirstWithPrepack || impl_->PrePackWeight == nullptr) return;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      bool packed = false;
      if (info_->ConstantAt(i).is_none()) continue;
      ThrowIfFailed(Call(impl_->PrePackWeight, impl_.get(), &info_->ConstantAt(i), static_cast<int>(i),
                         &c_abi::DefaultAllocator(), nullptr, &packed));
    }
  }

  const std::shared_ptr<Ep> ep_;
  const DeviceMemory memory_;
  const std::unique_ptr<const KeptInfo> info_;
  const OwnedImpl impl_;
  const Outputs outputs_;
  const std::vector<int32_t> inputs_;  // by input, which of the part's it is
  const KernelDef operands_;
};

}  // namespace

std::unique_ptr<const KeptInfo> KeepInfo(const Ep& ep, const OrtKernelDef& def, const ExecutionProvider& provider,
                                         const GraphViewer& graph, const SessionServices& services,
                                         const DeviceMemory& memory) {
  const auto place = [&](size_t input, const Tensor& constant) {
    return OnHost(def.input_memory, input) ? constant : memory.Placed(constant);
  };
  return std::make_unique<const KeptInfo>(
      graph, provider, services,
      c_abi::KernelServices{
          .logger = &ep.logger(), .config = &ep.config(), .device = memory.allocator(), .ep = ep.get(), .place = place});
}

const OrtKernelRegistry* RegistryOf(const Ep& ep) {
  const OrtKernelRegistry* registry = nullptr;
  if (ep.HasSince(24) && ep->GetKernelRegistry != nullptr) ThrowIfFailed(Call(ep->GetKernelRegistry, ep.get(), &registry));
  return registry;
}

const OrtKernelRegistry::Kernel* FindKernel(const OrtKernelRegistry& registry, const GraphViewer& graph, const Node& node) {
  const onnx::OpSchema* schema = FindSchemaBehindLayout(node);
  for (const OrtKernelRegistry::Kernel& kernel : registry.kernels) {
    const OrtKernelDef& def = kernel.def;
    if (def.op_type != node.op_type || def.domain != node.domain) continue;
    if (!IsForVersion(def, node.since_version)) continue;
    const bool fits = schema == nullptr || (TypesFit(def, graph, node.inputs, schema->inputs()) &&
                                            TypesFit(def, graph, node.outputs, schema->outputs()));
    if (fits) return &kernel;
  }
  return nullptr;
}

std::unique_ptr<Kernel> MakeRegistryKernel(const std::shared_ptr<Ep>& ep, const ExecutionProvider& provider,
                                           const GraphViewer& graph, const SessionServices& services,
                                           const DeviceMemory& memory) {
  const OrtKernelRegistry* registry = RegistryOf(*ep);
  const Node& node = NodeOf(graph);
  const OrtKernelRegistry::Kernel* kernel = registry == nullptr ? nullptr : FindKernel(*registry, graph, node);
  Require(kernel != nullptr, "the library claims {} as a single node, and its registry has no kernel for it",
          node.Label(&graph));
  std::unique_ptr<const KeptInfo> info = KeepInfo(*ep, kernel->def, provider, graph, services, memory);
  OrtKernelImpl* impl = nullptr;
  const OrtStatusPtr status = kernel->create(kernel->state, &info->shown, &impl);
  OwnedImpl owned(impl);
  ThrowIfFailed(status);
  Require(impl != nullptr && impl->Compute != nullptr && impl->Release != nullptr,
          "the library made no kernel for {}, or one without Compute or Release", node.Label(&graph));
  return std::make_unique<RegistryKernel>(ep, memory, std::move(info), std::move(owned), kernel->def);
}

}  // namespace tessera::plugin

namespace tessera::c_abi {

// Null where the provider's registry has none for the node.
OrtStatusPtr EpGraphSupportInfo_LookUpKernel(OrtEpGraphSupportInfo* graph_support_info, const OrtNode* node,
                                             const OrtKernelDef** out_kernel_def) noexcept {
  return Guarded([&] {
    const OrtEpGraphSupportInfo& info = Given(graph_support_info, "the support info");
    const auto known = info.nodes.find(node);
    Require(known != info.nodes.end(), "the node is none of the graph's that the library was asked about");
    const GraphViewer& viewer = ViewerOf(info.graph);
    const OrtKernelRegistry::Kernel* kernel =
        info.registry == nullptr ? nullptr : plugin::FindKernel(*info.registry, viewer, viewer.node(known->second));
    Given(out_kernel_def, "out") = kernel == nullptr ? nullptr : &kernel->def;
  });
}

// Of a kernel that nobody runs yet.
void ReleaseKernelImpl(OrtKernelImpl* input) {
  if (input != nullptr && input->Release != nullptr) input->Release(input);
}

// Packed forms are not shared: PrePackWeight is given no cache.
OrtStatusPtr SharedPrePackedWeightCache_StoreWeightData(OrtSharedPrePackedWeightCache* /*prepacked_weight_cache*/,
                                                        void** /*buffer_data_ptrs*/, size_t* /*buffer_data_sizes*/,
                                                        size_t /*num_buffers*/) noexcept {
  return Guarded(
      [] { Fail(ErrorCode::kInvalidArgument, "packed weights are not shared here: PrePackWeight gets no cache"); });
}

}  // namespace tessera::c_abi
