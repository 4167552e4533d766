#pragma once

// What a pass of the optimizer is. Every rewrite keeps the graph's inputs and outputs, their names and types, and the
// results but for rounding; where it cannot prove that a node would not have failed, it leaves the node.

#include <chrono>
#include <memory>
#include <string_view>

#include "base/precision.h"
#include "graph/graph.h"
#include "runtime/resources.h"
#include "tessera/provider/execution_provider.h"

namespace tessera {

/// What rewrites of one session share.
struct RewriteContext {
  const SessionResources& resources;
  /// The graph is to be written as a model: operators newer than its imports stay out of it.
  bool writable = false;
  /// The precision of matmuls.
  Precision precision = Precision::kFloat32;
  /// What weights of 4 bits meet that the model dequantizes itself may be quantized to 8 bits.
  bool int8_beside_nbits = false;
  /// Results of float16 and bfloat16 are rounded to these after each operator.
  bool round_halves = false;
  /// Bytes that folded constants may still need in all.
  int64_t folding_budget = 0;
  /// Operations that folding may still cost in all, estimated before, so that the same is folded everywhere; and time, for
  /// what an estimate does not see.
  double folding_operations = 0;
  std::chrono::milliseconds folding_time{0};
  /// The provider whose nodes are being lowered; null: rewrites are portable.
  const ExecutionProvider* lowered_for = nullptr;

  /// Whether the node is the provider's to rewrite: it was assigned to it, or an earlier lowering made it.
  bool Lowers(const Node& node) const noexcept {
    return lowered_for != nullptr && (node.provider.empty() || node.provider == lowered_for->name());
  }
};

/// One pass. Objects live as long as one optimization, and see all its graphs.
class Rewrite {
 public:
  virtual ~Rewrite() = default;
  /// Rewrites one graph; nested graphs get calls of their own. Returns the number of changes.
  virtual size_t Run(Graph& graph, RewriteContext& context) = 0;
};

/// A rewrite that looks at one node, and what is near it, at a time.
class NodeRewrite : public Rewrite {
 public:
  size_t Run(Graph& graph, RewriteContext& context) override {
    order_ = graph.TopologicalOrder();
    size_t changes = 0;
    for (const NodeIndex index : order_) {
      context.resources.CheckLoad();
      if (!graph.has_node(index)) continue;
      try {
        if (Apply(graph, index, context)) ++changes;
      } catch (const Error& error) {  // a limit of the load: its node says what asks for so much
        if (!graph.has_node(index)) throw;
        throw error.At(graph.node(index).Label());
      }
    }
    return changes;
  }

 protected:
  /// True when the graph has changed; the node may be gone then.
  virtual bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) = 0;

 private:
  std::vector<NodeIndex> order_;  // that the graph had before; its memory serves all graphs
};

}  // namespace tessera
