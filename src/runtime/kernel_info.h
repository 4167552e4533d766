#pragma once

#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/resources.h"
#include "tessera/provider/kernel.h"

namespace tessera {

/// KernelInfo of a node in a session.
class NodeKernelInfo final : public KernelInfo {
 public:
  NodeKernelInfo(const Node& node, const GraphViewer& graph, const ExecutionProvider& provider,
                 const SessionResources& resources, std::span<const Plan::Nested> nested)
      : node_(node), graph_(graph), provider_(provider), resources_(resources), nested_(nested) {}

  const Node& node() const noexcept override { return node_; }
  const GraphViewer& graph() const noexcept override { return graph_; }
  const ExecutionProvider& provider() const noexcept override { return provider_; }
  ThreadPool& threads() const noexcept override { return resources_.load_threads(); }
  Allocator& allocator() const noexcept override { return resources_.load_memory(); }
  SubgraphRunner& subgraph(std::string_view attribute) const override;
  std::shared_ptr<const void> SharedPrepack(const Tensor& constant, std::string_view key,
                                            const std::function<std::shared_ptr<const void>()>& make) const override;
  void ReleaseConstant(size_t input) const override { released_.push_back(input); }
  void AcceptUnaligned(size_t input) const override { unaligned_.push_back(input); }

  PackedStore* packed_store() const noexcept { return resources_.packed; }

  /// Constant inputs that the kernel said it never reads.
  std::span<const size_t> released() const noexcept { return released_; }
  /// Inputs that need no alignment.
  std::span<const size_t> unaligned() const noexcept { return unaligned_; }

 private:
  const Node& node_;
  const GraphViewer& graph_;
  const ExecutionProvider& provider_;
  const SessionResources& resources_;
  std::span<const Plan::Nested> nested_;
  mutable std::vector<size_t> released_;
  mutable std::vector<size_t> unaligned_;
};

}  // namespace tessera
