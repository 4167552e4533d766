#pragma once

#include "optimizer/analysis/attention_pattern.h"

namespace tessera {

/// Attention of ai.onnx with the pattern's scale, operands and result, by which a provider's kernels can be asked; in no
/// graph.
Node AttentionOf(const Graph& graph, const AttentionPattern& pattern);

/// Replaces a pattern's nodes by those of one Attention, `fused`, which is what AttentionOf gave, or that as another
/// operator. Heads that are adjacent in the last dimension are read and written there, without Transpose.
void ReplaceByAttention(Graph& graph, const AttentionPattern& pattern, Node fused);

}  // namespace tessera
