#include "plugin/plugin_provider.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "bindings/c/entry.h"
#include "bindings/c/memory_info.h"
#include "bindings/c/run_options.h"
#include "graph/microsoft/compiled.h"
#include "graph/operator_definitions.h"
#include "plugin/call.h"
#include "plugin/compiled_kernel.h"
#include "plugin/operators/operator_kernel.h"
#include "plugin/profiler.h"
#include "plugin/registry_kernel.h"
#include "plugin/stream.h"

namespace tessera::plugin {
namespace {

using c_abi::ThrowIfFailed;

/// The options as the library reads them: the client's own object where it has one.
template <class Call>
void WithOptions(const RunOptions& options, const Call& call) {
  if (options.binding != nullptr) return call(static_cast<const OrtRunOptions*>(options.binding));
  OrtRunOptions shown;
  shown.core.tag = options.tag;
  call(&shown);
}

/// Memory of its own, where the library says that it has some.
const OrtMemoryInfo* DeviceMemoryOf(const Ep& ep) {
  for (const OrtEpDevice* device : ep.devices()) {
    if (device->memory != nullptr && !c_abi::MemoryOf(*device->memory).host_accessible) return device->memory;
  }
  return nullptr;
}

constexpr uint32_t kFirstWithRecordings = 26;
constexpr size_t kMostDomains = 1024;

bool HasNestedGraph(const Node& node) {
  return std::ranges::any_of(node.attributes, [](const Attribute& attribute) {
    return std::holds_alternative<std::shared_ptr<Graph>>(attribute.value);
  });
}

/// Where runs have streams of their own, what one of them gave back would be another's while the device still reads it: the
/// runs of such a session come one after another.
bool AllowsConcurrency(const Ep& ep) {
  if (HasStreams(ep.factory()) && DeviceMemoryOf(ep) != nullptr) return false;
  if (!ep.HasSince(24) || ep->IsConcurrentRunSupported == nullptr) return true;
  bool allows = true;
  ThrowIfFailed(Call(ep->IsConcurrentRunSupported, ep.get(), &allows));
  return allows;
}

bool PrefersChannelsLastOf(const Ep& ep) {
  if (ep->GetPreferredDataLayout == nullptr) return false;
  OrtEpDataLayout layout = OrtEpDataLayout_NCHW;
  ThrowIfFailed(Call(ep->GetPreferredDataLayout, ep.get(), &layout));
  return layout == OrtEpDataLayout_NHWC;
}

OperatorSet OperatorsOf(OrtEpFactory& factory) {
  if (factory.ort_version_supported < 24 || factory.GetNumCustomOpDomains == nullptr ||
      factory.GetCustomOpDomains == nullptr)
    return OperatorSet();
  size_t count = 0;
  ThrowIfFailed(Call(factory.GetNumCustomOpDomains, &factory, &count));
  Require(count <= kMostDomains, "the library says that it has {} domains of operators, {} are the most", count,
          kMostDomains);
  std::vector<OrtCustomOpDomain*> domains(count);
  if (count > 0) ThrowIfFailed(Call(factory.GetCustomOpDomains, &factory, domains.data(), count));
  for (const OrtCustomOpDomain* domain : domains) c_abi::Given(domain, "a domain of the library's operators");
  return OperatorSet(domains);
}

bool IsCompiled(const Node& node) { return node.op_type == kCompiledPart; }

bool HoldsCompiled(const GraphViewer& graph) {
  return std::ranges::any_of(graph.nodes(), [&](NodeIndex index) { return IsCompiled(graph.node(index)); });
}

}  // namespace

PluginProvider::PluginProvider(std::shared_ptr<Ep> ep, bool strict)
    : ep_(std::move(ep)),
      name_(ep_->devices().front()->provider),
      strict_(strict),
      operators_(OperatorsOf(ep_->factory())),
      device_memory_(DeviceMemoryOf(*ep_)),
      memory_(device_memory_ == nullptr ? MemoryInfo() : c_abi::MemoryOf(*device_memory_)),
      concurrent_(AllowsConcurrency(*ep_)),
      channels_last_(PrefersChannelsLastOf(*ep_)) {}

// The library's answer: yes, no, or, below 0, as the runtime thinks best.
bool PluginProvider::ChannelsLastFor(const Node& node) const {
  int wanted = -1;
  if ((*ep_)->ShouldConvertDataLayoutForOp != nullptr) {
    ThrowIfFailed(Call((*ep_)->ShouldConvertDataLayoutForOp, ep_->get(), node.domain.c_str(), node.op_type.c_str(),
                       OrtEpDataLayout_NHWC, &wanted));
  }
  return wanted > 0 || (wanted < 0 && node.op_type != "Upsample");
}

std::string PluginProvider::DeviceName() const {
  const OrtHardwareDevice& device = *ep_->devices().front()->device;
  if (device.type == OrtHardwareDeviceType_CPU) return {};
  return fmt::format("{} {} {:04x}:{:04x}", device.vendor, device.type == OrtHardwareDeviceType_GPU ? "GPU" : "NPU",
                     device.vendor_id, device.device_id);
}

void PluginProvider::OnModel(const ModelMetadata& metadata, const std::filesystem::path& file) {
  facts_ = c_abi::FactsOf(metadata, metadata.version != 0, file);
}

void PluginProvider::RefuseBroken(const Claim& claim, RefusalSink& refusals) const {
  if (strict_) Fail(ErrorCode::kEpFail, "{}: {}", name_, claim.broken);
  ep_->logger().logger(LogLevel::kWarning, "{}: {}", name_, claim.broken);
  for (const NodeIndex node : claim.nodes) refusals.Refuse(node, claim.broken);
}

std::vector<ComputeCapability> PluginProvider::GetCapability(const GraphViewer& graph, const KernelLookup& /*kernels*/,
                                                             RefusalSink& refusals) const {
  const std::unique_ptr<OrtGraph> view = c_abi::ViewOf(graph, facts_);
  OrtEpGraphSupportInfo info(*view);
  info.registry = RegistryOf(*ep_);
  ThrowIfFailed(Call((*ep_)->GetCapability, ep_->get(), view.get(), &info));
  std::set<NodeIndex> claimed;
  std::vector<ComputeCapability> capabilities;
  for (Claim& claim : info.claims) {
    claimed.insert(claim.nodes.begin(), claim.nodes.end());
    if (!claim.broken.empty()) {
      RefuseBroken(claim, refusals);
      continue;
    }
    if (claim.single && HasNestedGraph(graph.node(claim.nodes.front()))) {
      refusals.Refuse(claim.nodes.front(), "control flow is Tessera's, which offers the graphs inside to the library");
      continue;
    }
    Offer(graph, std::move(claim), capabilities);
  }
  for (const NodeIndex index : graph.nodes()) {
    if (claimed.contains(index) || !graph.node(index).provider.empty()) continue;
    if (RunsOwn(graph, index)) {
      Offer(graph, {.nodes = {index}, .of_operator = true}, capabilities);
    } else {
      refusals.Refuse(index, "the library does not claim it");
    }
  }
  return capabilities;
}

void PluginProvider::Offer(const GraphViewer& graph, Claim claim, std::vector<ComputeCapability>& capabilities) const {
  capabilities.push_back({.nodes = claim.nodes,
                          .fuse = true,
                          .name = claim.nodes.size() == 1 ? graph.node(claim.nodes.front()).op_type : name_,
                          .whole = true,
                          .tag = static_cast<int64_t>(claims_.size())});
  claims_.push_back(std::move(claim));
}

bool PluginProvider::Defines(std::string_view domain, std::string_view op_type, int opset) const {
  return operators_.Has(domain, op_type, opset);
}

void PluginProvider::InferOutputs(const GraphViewer& graph, const Node& node, std::span<TypeInfo> outputs) const {
  operators_.InferOutputs(graph, node, name_, outputs);
}

bool PluginProvider::RunsOwn(const GraphViewer& graph, NodeIndex index) const {
  const Node& node = graph.node(index);
  if (!IsOwn(*this, graph, node)) return false;
  const std::string& runs_on = operators_.DefinitionOf(graph, node, name_).provider;
  return runs_on.empty() || runs_on == name_;
}

std::unique_ptr<Kernel> PluginProvider::KernelOfOwn(const GraphViewer& graph, const DeviceMemory& memory) const {
  const ClientOperator& definition = operators_.DefinitionOf(graph, NodeOf(graph), name_);
  const OrtKernelDef places = PlacesFor(definition, NodeOf(graph));
  return MakeOperatorKernel(definition, KeepInfo(*ep_, places, *this, graph, services_, memory), places, memory.transfer(),
                            ep_);
}

/// Programs may forbid compiling, which takes minutes on some devices; what was compiled before is only loaded.
void PluginProvider::RequireMayCompile(const GraphViewer& graph) const {
  const auto forbidden = ep_->config().find("session.disable_model_compile");
  if (forbidden == ep_->config().end() || forbidden->second != "1") return;
  for (const NodeIndex index : graph.nodes()) {
    if (IsCompiled(graph.node(index))) continue;
    Fail(ErrorCode::kModelRequiresCompilation,
         "{} would have to compile {}, and session.disable_model_compile forbids it: load a model that was compiled ahead",
         name_, graph.node(index).Label(&graph));
  }
}

std::vector<std::unique_ptr<Kernel>> PluginProvider::Compile(std::span<const FusedSubgraph> subgraphs,
                                                             const CompileContext& context) {
  std::vector<std::unique_ptr<Kernel>> kernels(subgraphs.size());
  if (context.context_nodes != nullptr) context.context_nodes->resize(subgraphs.size());
  std::vector<SubgraphToCompile> compiled;
  std::vector<size_t> indices;
  const DeviceMemory memory(ep_, device_memory_);
  for (size_t i = 0; i < subgraphs.size(); ++i) {
    const Claim& claim = claims_.at(static_cast<size_t>(subgraphs[i].tag));
    if (claim.of_operator) {
      kernels[i] = KernelOfOwn(subgraphs[i].graph, memory);
    } else if (claim.single) {
      kernels[i] = MakeRegistryKernel(ep_, *this, subgraphs[i].graph, services_, memory);
    } else {
      RequireMayCompile(subgraphs[i].graph);
      if (HoldsCompiled(subgraphs[i].graph)) ep_->RequireReadsContextData();
      if (context.context_nodes != nullptr) ep_->RequireWritesContextData();
      compiled.push_back({*subgraphs[i].fused_node, subgraphs[i].graph, claim.drops_constants});
      indices.push_back(i);
    }
  }
  if (compiled.empty()) return kernels;
  std::vector<ContextNode> nodes;
  std::vector<std::unique_ptr<Kernel>> made =
      CompileGraphs(ep_, compiled, facts_, memory, context.context_nodes == nullptr ? nullptr : &nodes);
  for (size_t k = 0; k < made.size(); ++k) {
    kernels[indices[k]] = std::move(made[k]);
    if (context.context_nodes != nullptr) (*context.context_nodes)[indices[k]] = std::move(nodes[k]);
  }
  return kernels;
}

std::string PluginProvider::CompatibilityInfo(const GraphViewer& compiled) const {
  if ((*ep_)->GetCompiledModelCompatibilityInfo == nullptr) return {};
  const std::unique_ptr<OrtGraph> view = c_abi::ViewOf(compiled, facts_);
  const char* info = (*ep_)->GetCompiledModelCompatibilityInfo(ep_->get(), view.get());
  return info == nullptr ? std::string() : std::string(info);
}

std::unique_ptr<ProviderProfiler> PluginProvider::StartProfile(std::chrono::steady_clock::time_point zero) {
  return plugin::StartProfile(ep_, zero);
}

ExecutionProvider::Recording PluginProvider::RecordsRuns() const noexcept {
  if (!ep_->HasSince(kFirstWithRecordings) || (*ep_)->IsGraphCaptureEnabled == nullptr ||
      (*ep_)->IsGraphCaptured == nullptr || (*ep_)->ReplayGraph == nullptr || !(*ep_)->IsGraphCaptureEnabled(ep_->get()))
    return Recording::kNone;
  const auto policy = (*ep_)->GetGraphCaptureNodeAssignmentPolicy;
  const bool beside = policy != nullptr && policy(ep_->get()) == OrtGraphCaptureNodeAssignmentPolicy_ALLOW_CPU_FOR_SHAPES;
  return beside ? Recording::kAllButShapes : Recording::kAllNodes;
}

bool PluginProvider::HasRecorded(int number) const { return (*ep_)->IsGraphCaptured(ep_->get(), number); }

void PluginProvider::Replay(int number) { ThrowIfFailed(Call((*ep_)->ReplayGraph, ep_->get(), number)); }

void PluginProvider::ForgetRecording(int number) {
  if (ep_->HasSince(27) && (*ep_)->ReleaseCapturedGraph != nullptr)
    ThrowIfFailed(Call((*ep_)->ReleaseCapturedGraph, ep_->get(), number));
}

std::unique_ptr<Allocator> PluginProvider::CreateAllocator() {
  return device_memory_ == nullptr ? nullptr : MakeAllocator(ep_, *device_memory_);
}

std::unique_ptr<DataTransfer> PluginProvider::CreateDataTransfer() {
  return device_memory_ == nullptr ? nullptr : MakeTransfer(ep_);
}

std::unique_ptr<Stream> PluginProvider::CreateStream() {
  return device_memory_ == nullptr ? nullptr : MakeStream(ep_, *device_memory_);
}

void PluginProvider::OnLoaded() {
  if (ep_->HasSince(27) && (*ep_)->OnSessionInitializationEnd != nullptr)
    ThrowIfFailed(Call((*ep_)->OnSessionInitializationEnd, ep_->get()));
}

bool PluginProvider::WatchesRuns() const noexcept { return (*ep_)->OnRunStart != nullptr || (*ep_)->OnRunEnd != nullptr; }

void PluginProvider::OnRunStart(const RunOptions& options) {
  if ((*ep_)->OnRunStart == nullptr) return;
  WithOptions(options, [&](const OrtRunOptions* shown) { ThrowIfFailed(Call((*ep_)->OnRunStart, ep_->get(), shown)); });
}

void PluginProvider::OnRunEnd(const RunOptions& options, bool synchronize) {
  if ((*ep_)->OnRunEnd == nullptr) return;
  WithOptions(options,
              [&](const OrtRunOptions* shown) { ThrowIfFailed(Call((*ep_)->OnRunEnd, ep_->get(), shown, synchronize)); });
}

void PluginProvider::SetDynamicOptions(std::span<const std::pair<std::string_view, std::string_view>> options) {
  if ((*ep_)->SetDynamicOptions == nullptr) return;
  std::vector<std::string> texts;  // ended by zeros
  texts.reserve(2 * options.size());
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : options) {
    keys.push_back(texts.emplace_back(key).c_str());
    values.push_back(texts.emplace_back(value).c_str());
  }
  ThrowIfFailed(Call((*ep_)->SetDynamicOptions, ep_->get(), keys.data(), values.data(), keys.size()));
}

}  // namespace tessera::plugin
