// recognize_attention: softmax(scale * Q K^T + mask) V, spelled out in MatMul, Mul or Div, Add, Where, Softmax and MatMul,
// becomes Attention, which keeps the scores in the cache. Heads that are adjacent in the last dimension are read and
// written there, without Transpose. A row of which the mask leaves nothing gives NaN, as Softmax does, where Attention
// gives zeros: where a mask may leave nothing, only models that are written get it, and these zeros. Sessions leave such
// masks, and operands that broadcast, to the lowering (recognize_broadcast_attention).

#include "optimizer/analysis/added_nodes.h"
#include "optimizer/analysis/attention_builder.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

class AttentionRecognition final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const auto pattern = FindAttention(graph, graph.node(index));
    if (!pattern || pattern->broadcasts || (pattern->may_leave_nothing && !context.writable)) return false;
    Node fused = AttentionOf(graph, *pattern);
    if (!MayAdd(graph, fused, context)) return false;
    ReplaceByAttention(graph, *pattern, std::move(fused));
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> RecognizeAttention() { return std::make_unique<AttentionRecognition>(); }

}  // namespace tessera
