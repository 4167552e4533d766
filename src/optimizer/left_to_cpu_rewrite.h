#pragma once

#include <optional>
#include <vector>

#include "optimizer/rewrite.h"
#include "partition/left_to_cpu.h"

namespace tessera {

/// A rewrite into what only the CPU provider runs well.
class LeftToCpuRewrite : public NodeRewrite {
 public:
  size_t Run(Graph& graph, RewriteContext& context) override {
    left_.reset();
    return NodeRewrite::Run(graph, context);
  }

 protected:
  /// As the graph was when the first node asked: what the rewrite makes is no reason for others to claim more.
  bool IsLeftToCpu(const Graph& graph, NodeIndex index, const RewriteContext& context) {
    if (!left_) left_ = LeftToCpu(graph, context.resources);
    return static_cast<size_t>(index) < left_->size() && (*left_)[static_cast<size_t>(index)];
  }

 private:
  std::optional<std::vector<bool>> left_;
};

}  // namespace tessera
