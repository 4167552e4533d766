// recognize_broadcast_attention: softmax(scale * Q K^T + mask) V, spelled out, whose operands may broadcast as MatMul's and
// Add's do, or whose mask may leave nothing of a row, becomes Attention of ai.tessera, which broadcasts and gives NaN for
// such a row. What ONNX's Attention can say, recognize_attention has taken before.

#include <algorithm>

#include "graph/private_names.h"
#include "lowering/fused_kernels.h"
#include "lowering/lowering.h"
#include "optimizer/analysis/attention_builder.h"
#include "optimizer/analysis/edit.h"

namespace tessera {
namespace {

class BroadcastAttentionRecognition final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const auto pattern = FindAttention(graph, graph.node(index));
    if (!pattern || !pattern->is_beyond_onnx()) return false;
    if (!std::ranges::all_of(pattern->nodes, [&](NodeIndex node) { return context.Lowers(graph.node(node)); }))
      return false;
    Node fused = AttentionOf(graph, *pattern);
    fused.domain = kTesseraDomain;
    fused.since_version = 1;
    if (pattern->broadcasts) SetAttribute(fused, "broadcast", int64_t{1});
    if (pattern->may_leave_nothing) SetAttribute(fused, "nan_rows", int64_t{1});
    // The last provider takes over what another fails at.
    if (!MayFuse(graph, fused, context) || !HasKernel(graph, fused, *context.resources.providers.back().provider)) {
      return false;
    }
    ReplaceByAttention(graph, *pattern, std::move(fused));
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> RecognizeBroadcastAttention() { return std::make_unique<BroadcastAttentionRecognition>(); }

}  // namespace tessera
