#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "optimizer/rewrite.h"

namespace tessera {

/// Which matrices of 16 bits become float32 where only matmuls read them.
enum class WideMatrices { kLeave, kFold };

/// Nodes whose inputs are all constants are computed now. What would take much more memory than its inputs (Range,
/// ConstantOfShape, Expand, Tile) or long stays, and so does what is random or made to stay small (DequantizeLinear).
class ConstantFolding final : public NodeRewrite {
 public:
  explicit ConstantFolding(WideMatrices matrices) : matrices_(matrices) {}

 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override;

 private:
  std::optional<std::vector<Tensor>> Compute(const Graph& graph, const Node& node, RewriteContext& context, int64_t most);
  void Drop(Graph& graph, ValueIndex index, RewriteContext& context);

  WideMatrices matrices_;
  std::unordered_set<const void*> made_;                   // constants that it made, by their data
  std::set<std::pair<const Graph*, NodeIndex>> given_up_;  // nodes that took too long
};

}  // namespace tessera
