#pragma once

#include <string>
#include <vector>

#include "engine.h"

namespace teaching {

/// What a claimed group of nodes was compiled to. The runtime runs it in the place of the nodes.
class CompiledGroup : public OrtNodeComputeInfo {
 public:
  /// `fused_node` says what goes in and out, and in which order.
  CompiledGroup(const Api& api, const OrtGraph& graph, const OrtNode& fused_node);

 private:
  void Run(OrtKernelContext& context) const;

  const Api api_;
  Engine engine_;
};

}  // namespace teaching
