#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/provider/execution_provider.h"

namespace tessera::onednn {

/// Why the provider cannot lower a node; empty when it can.
std::string RefusalReason(const GraphViewer& graph, const Node& node);

/// Whether a node that the provider took has its operands rounded, where that is asked for: what OperandType decides, as
/// far as it can be told before the shapes are known.
bool RoundsOperands(const GraphViewer& graph, const Node& node);

/// Groups the nodes that `claimed` accepts into maximal convex regions: no path leaves a region and comes back, and no two
/// that stand beside each other could be one. Regions without an anchor are left out. Their nodes are in topological order.
std::vector<std::vector<NodeIndex>> FindRegions(const GraphViewer& graph, const std::vector<bool>& claimed,
                                                const std::function<bool(const Node&)>& is_anchor);

}  // namespace tessera::onednn
