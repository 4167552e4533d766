#pragma once

// Attention as exporters spell it out: softmax(scale * Q K^T + mask) V in MatMul, Mul or Div, Add, Where, Max, Softmax and
// MatMul.

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace tessera {

/// Sums of scores with what is as low as this are that number: rounding leaves nothing of the score.
inline constexpr double kAbsorbing = -1e30;

/// The scores' additive mask, or where they are replaced by a number near minus infinity.
struct MaskTerm {
  ValueIndex value = kNone;
  ValueIndex fill = kNone;  // of Where(value, scores, fill)
  bool inverted = false;    // of Where(value, fill, scores)
};

struct AttentionPattern {
  ValueIndex q = kNone, transposed_k = kNone, v = kNone;
  double scale = 1;
  std::vector<MaskTerm> masks;
  ValueIndex floor = kNone;  // of Max(scores with their mask, floor)
  NodeIndex matmul = kNone;  // of the weights and V
  std::vector<NodeIndex> nodes;
  /// Batch, queries or masks may need more of MatMul's and Add's broadcasting than Attention's mask does.
  bool broadcasts = false;
  /// A row's scores may all become minus infinity: Softmax makes NaN of them, Attention zeros.
  bool may_leave_nothing = false;

  /// Whether ONNX's Attention may give something else.
  bool is_beyond_onnx() const noexcept { return broadcasts || may_leave_nothing; }
};

/// The attention whose weights this Softmax computes, where one Attention can stand for it; nothing where it computes none,
/// or ranks and types are not known to be Attention's.
std::optional<AttentionPattern> FindAttention(const Graph& graph, const Node& softmax);

}  // namespace tessera
