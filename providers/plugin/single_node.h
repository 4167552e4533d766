#pragma once

// What kernels of clients are shown of their node, which has a graph of its own.

#include <exception>
#include <map>
#include <new>

#include "bindings/c/ep/kernel_def.h"
#include "bindings/c/kernels/kernel_info.h"
#include "tessera/provider/execution_provider.h"

namespace tessera::plugin {

/// The node that the graph is there for.
inline const Node& NodeOf(const GraphViewer& graph) { return graph.node(graph.nodes().front()); }

/// Runs what a client computes for the node; its errors name the node.
template <class Body>
void AtNode(const GraphViewer& graph, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    throw error.At(NodeOf(graph).Label(&graph));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kRuntimeException, error.what()).At(NodeOf(graph).Label(&graph));
  }
}

/// Graph, provider and services outlive it.
class SingleNodeInfo final : public KernelInfo {
 public:
  SingleNodeInfo(const GraphViewer& graph, const ExecutionProvider& provider, const SessionServices& services)
      : graph_(graph), provider_(provider), services_(services) {}

  const Node& node() const noexcept override { return NodeOf(graph_); }
  const GraphViewer& graph() const noexcept override { return graph_; }
  const ExecutionProvider& provider() const noexcept override { return provider_; }
  ThreadPool& threads() const noexcept override { return *services_.threads; }
  Allocator& allocator() const noexcept override { return *services_.memory; }
  SubgraphRunner& subgraph(std::string_view attribute) const override;
  std::shared_ptr<const void> SharedPrepack(const Tensor& /*constant*/, std::string_view /*key*/,
                                            const std::function<std::shared_ptr<const void>()>& make) const override {
    return make();
  }
  void ReleaseConstant(size_t /*input*/) const override {}
  void AcceptUnaligned(size_t /*input*/) const override {}

 private:
  const GraphViewer graph_;
  const ExecutionProvider& provider_;
  const SessionServices& services_;
};

/// Clients look at a kernel's node as long as the kernel lives.
struct KeptInfo {
  KeptInfo(const GraphViewer& graph, const ExecutionProvider& provider, const SessionServices& services,
           const c_abi::KernelServices& more)
      : info(graph, provider, services), shown(info, more) {}
  KeptInfo(const KeptInfo&) = delete;
  KeptInfo& operator=(const KeptInfo&) = delete;

  const GraphViewer& graph() const noexcept { return info.graph(); }
  /// None where the input is computed.
  const OrtValue& ConstantAt(size_t input) const noexcept { return shown.node->inputs[input].constant; }
  /// Input `i` in a run, where `indices` says which of the part's each of them is; null: omitted.
  const Value* InputOf(const KernelContext& context, std::span<const int32_t> indices, size_t i) const {
    if (indices[i] >= 0) return context.input_value(static_cast<size_t>(indices[i]));
    const OrtValue& constant = ConstantAt(i);
    return constant.is_none() ? nullptr : &constant;
  }

  const SingleNodeInfo info;
  const OrtKernelInfo shown;
};

/// Whether an operand is the host's; by default it is in the provider's memory.
bool OnHost(const std::map<size_t, OrtMemType>& memory, size_t i);

/// The kernel's definition in terms of the part that holds its node. Throws Error where one value would have to lie in two
/// memories.
KernelDef OperandsOf(const OrtKernelDef& def, const GraphViewer& graph);

}  // namespace tessera::plugin
