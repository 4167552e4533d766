#include "plugin/compiled_kernel.h"

#include <algorithm>
#include <exception>
#include <set>
#include <unordered_set>

#include "base/check.h"
#include "base/small_array.h"
#include "bindings/c/entry.h"
#include "bindings/c/kernels/kernel_context.h"
#include "bindings/c/views/node.h"
#include "plugin/call.h"
#include "plugin/run.h"

/// A compiled node as its library is told of it when its state is made.
struct OrtNodeComputeContext {
  std::string name;
};

namespace tessera::c_abi {

const char* NodeComputeContext_NodeName(const OrtNodeComputeContext* context) noexcept {
  return context == nullptr ? "" : context->name.c_str();
}

}  // namespace tessera::c_abi

namespace tessera::plugin {
namespace {

using c_abi::ThrowIfFailed;

/// What Compile gave for one graph; it goes back to the library.
class ComputeInfo {
 public:
  ComputeInfo(std::shared_ptr<Ep> ep, OrtNodeComputeInfo* info) noexcept : ep_(std::move(ep)), info_(info) {}
  ComputeInfo(ComputeInfo&& other) noexcept : ep_(std::move(other.ep_)), info_(std::exchange(other.info_, nullptr)) {}
  ComputeInfo& operator=(ComputeInfo&&) = delete;
  ~ComputeInfo() {
    if (info_ != nullptr) Quietly([&] { (*ep_)->ReleaseNodeComputeInfos(ep_->get(), &info_, 1); });
  }

  OrtNodeComputeInfo* get() const noexcept { return info_; }
  OrtNodeComputeInfo* operator->() const noexcept { return info_; }

 private:
  std::shared_ptr<Ep> ep_;
  OrtNodeComputeInfo* info_;
};

class CompiledKernel final : public Kernel {
 public:
  CompiledKernel(std::shared_ptr<Ep> ep, ComputeInfo info, std::unique_ptr<OrtNode> fused_node,
                 OrtNodeComputeContext context, std::vector<OrtValue> constants, Outputs outputs)
      : ep_(std::move(ep)),
        fused_node_(std::move(fused_node)),
        info_(std::move(info)),
        context_(std::move(context)),
        constants_(std::move(constants)),
        outputs_(std::move(outputs)) {
    ThrowIfFailed(info_->CreateState(info_.get(), &context_, &state_));
  }
  ~CompiledKernel() override {
    Quietly([&] { info_->ReleaseState(info_.get(), state_); });
  }

  void Compute(KernelContext& context) override {
    const size_t given = context.num_inputs();
    SmallArray<const Value*> inputs(given + constants_.size());
    for (size_t i = 0; i < given; ++i) inputs[i] = context.input_value(i);
    for (size_t i = 0; i < constants_.size(); ++i) inputs[given + i] = &constants_[i];
    OrtKernelContext run(context, inputs.values(), outputs_.indices(), outputs_.types(), ep_->logger(),
                         SyncStreamOf(context.stream()));
    ThrowIfFailed(info_->Compute(info_.get(), state_, &run));
    outputs_.Check(run);
  }

 private:
  const std::shared_ptr<Ep> ep_;
  const std::unique_ptr<OrtNode> fused_node_;  // libraries look at it as long as the session lives
  const ComputeInfo info_;
  OrtNodeComputeContext context_;
  const std::vector<OrtValue> constants_;
  const Outputs outputs_;
  void* state_ = nullptr;
};

/// Constants that the nodes read, nested graphs included, in the order of their first use.
std::vector<ValueIndex> ConstantsOf(const GraphViewer& graph) {
  std::vector<ValueIndex> constants;
  std::unordered_set<ValueIndex> seen;
  for (const NodeIndex index : graph.nodes()) {
    const Node& node = graph.node(index);
    for (const auto* list : {&node.inputs, &node.implicit_inputs}) {
      for (const ValueIndex value : *list) {
        if (value != kNone && graph.constant(value) != nullptr && seen.insert(value).second) constants.push_back(value);
      }
    }
  }
  return constants;
}

/// The fused node in its part's own graph: inputs in the order of first use, then constants.
Node FusedNodeOf(const SubgraphToCompile& subgraph, std::span<const ValueIndex> constants) {
  Node fused;
  fused.name = subgraph.fused_node.name;
  fused.op_type = subgraph.fused_node.name;
  fused.since_version = 1;
  fused.inputs.assign(subgraph.graph.inputs().begin(), subgraph.graph.inputs().end());
  fused.inputs.insert(fused.inputs.end(), constants.begin(), constants.end());
  fused.outputs.assign(subgraph.graph.outputs().begin(), subgraph.graph.outputs().end());
  return fused;
}

struct Prepared {
  std::unique_ptr<OrtGraph> graph;
  std::unique_ptr<OrtNode> fused_node;
  std::vector<OrtValue> constants;
};

Prepared Prepare(const SubgraphToCompile& subgraph, const std::shared_ptr<const c_abi::ModelFacts>& facts,
                 const DeviceMemory& memory) {
  std::vector<ValueIndex> constants;
  if (!subgraph.drops_constants) constants = ConstantsOf(subgraph.graph);
  Prepared prepared{
      c_abi::ViewOf(subgraph.graph, facts), c_abi::DetachedNode(FusedNodeOf(subgraph, constants), subgraph.graph), {}};
  for (const ValueIndex value : constants) prepared.constants.emplace_back(memory.Placed(*subgraph.graph.constant(value)));
  return prepared;
}

/// What Compile left in its arrays, to be given back whatever became of the call.
std::vector<ComputeInfo> Collect(const std::shared_ptr<Ep>& ep, std::span<OrtNodeComputeInfo* const> infos) {
  std::unordered_set<OrtNodeComputeInfo*> seen;
  std::vector<ComputeInfo> collected;
  collected.reserve(infos.size());
  for (OrtNodeComputeInfo* info : infos) {
    if (info == nullptr || seen.insert(info).second) {
      collected.emplace_back(ep, info);
    } else {
      collected.emplace_back(ep, nullptr);
    }
  }
  return collected;
}

/// Those that Compile made with CreateNode, each released once.
class MadeNodes {
 public:
  explicit MadeNodes(size_t count) : nodes_(count) {}
  MadeNodes(const MadeNodes&) = delete;
  MadeNodes& operator=(const MadeNodes&) = delete;
  ~MadeNodes() {
    for (OrtNode* node : std::set<OrtNode*>(nodes_.begin(), nodes_.end())) c_abi::ReleaseNode(node);
  }

  OrtNode** data() noexcept { return nodes_.data(); }

  ContextNode ContextOf(size_t i, const std::string& name) const {
    const OrtNode* node = nodes_[i];
    if (node == nullptr) return {};
    Require(node->of_client, "the context node that the library gives for '{}' was not made with CreateNode", name);
    return {node->node.name,   node->node.op_type, node->node.domain,
            node->input_names, node->output_names, node->node.attributes};
  }

 private:
  std::vector<OrtNode*> nodes_;
};

void CheckUsable(const ComputeInfo& info, const std::string& name) {
  Require(info.get() != nullptr, "the library compiled nothing for '{}', or the same as for another part", name);
  Require(info->CreateState != nullptr && info->Compute != nullptr && info->ReleaseState != nullptr,
          "what the library compiled '{}' to lacks CreateState, Compute or ReleaseState", name);
}

}  // namespace

std::vector<std::unique_ptr<Kernel>> CompileGraphs(const std::shared_ptr<Ep>& ep,
                                                   std::span<const SubgraphToCompile> subgraphs,
                                                   const std::shared_ptr<const c_abi::ModelFacts>& facts,
                                                   const DeviceMemory& memory, std::vector<ContextNode>* context_nodes) {
  Require((*ep)->Compile != nullptr && (*ep)->ReleaseNodeComputeInfos != nullptr,
          "the library claims groups of nodes, but has no Compile and ReleaseNodeComputeInfos");
  std::vector<Prepared> prepared;
  std::vector<const OrtGraph*> graphs;
  std::vector<const OrtNode*> fused_nodes;
  for (const SubgraphToCompile& subgraph : subgraphs) {
    const Prepared& added = prepared.emplace_back(Prepare(subgraph, facts, memory));
    graphs.push_back(added.graph.get());
    fused_nodes.push_back(added.fused_node.get());
  }
  std::vector<OrtNodeComputeInfo*> infos(subgraphs.size());
  MadeNodes made(subgraphs.size());
  std::exception_ptr failure;  // of a call that may have left something in the arrays all the same
  try {
    ThrowIfFailed(
        Call((*ep)->Compile, ep->get(), graphs.data(), fused_nodes.data(), graphs.size(), infos.data(), made.data()));
  } catch (...) {
    failure = std::current_exception();
  }
  std::vector<ComputeInfo> collected = Collect(ep, infos);
  if (failure != nullptr) std::rethrow_exception(failure);
  std::vector<std::unique_ptr<Kernel>> kernels;
  for (size_t i = 0; i < subgraphs.size(); ++i) {
    const std::string& name = subgraphs[i].fused_node.name;
    CheckUsable(collected[i], name);
    if (context_nodes != nullptr) context_nodes->push_back(made.ContextOf(i, name));
    kernels.push_back(std::make_unique<CompiledKernel>(ep, std::move(collected[i]), std::move(prepared[i].fused_node),
                                                       OrtNodeComputeContext{name}, std::move(prepared[i].constants),
                                                       Outputs(subgraphs[i].graph, subgraphs[i].graph.outputs(), name)));
  }
  return kernels;
}

}  // namespace tessera::plugin
