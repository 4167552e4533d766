#include "plugin/claims.h"

#include <algorithm>

#include "base/check.h"
#include "bindings/c/entry.h"

using tessera::NodeIndex;

OrtEpGraphSupportInfo::OrtEpGraphSupportInfo(const OrtGraph& view) : graph(view) {
  using namespace tessera::c_abi;
  size_t count = 0;
  ThrowIfFailed(Graph_GetNumNodes(&view, &count));
  std::vector<const OrtNode*> all(count);
  if (count > 0) ThrowIfFailed(Graph_GetNodes(&view, all.data(), count));
  for (const OrtNode* node : all) nodes.emplace(node, IndexOf(*node));
}

namespace tessera::c_abi {
namespace {

/// The node behind a pointer of the library's, which may be any: nothing is read through it.
NodeIndex Known(const OrtEpGraphSupportInfo& info, const OrtNode* node) {
  const auto found = info.nodes.find(node);
  Require(found != info.nodes.end(), "a node that is claimed is none of the graph's that the library was asked about");
  return found->second;
}

}  // namespace

OrtStatusPtr EpGraphSupportInfo_AddNodesToFuse(OrtEpGraphSupportInfo* graph_support_info, const OrtNode* const* nodes,
                                               size_t num_nodes, const OrtNodeFusionOptions* node_fusion_options) noexcept {
  return Guarded([&] {
    OrtEpGraphSupportInfo& info = Given(graph_support_info, "the support info");
    Require(num_nodes > 0 && nodes != nullptr, "a group without nodes is claimed");
    plugin::Claim claim;
    for (size_t i = 0; i < num_nodes; ++i) claim.nodes.push_back(Known(info, nodes[i]));
    std::vector<NodeIndex> sorted = claim.nodes;
    std::ranges::sort(sorted);
    Require(std::ranges::adjacent_find(sorted) == sorted.end(), "a group that is claimed has a node twice");
    claim.drops_constants = node_fusion_options != nullptr && node_fusion_options->drop_constant_initializers;
    info.claims.push_back(std::move(claim));
  });
}

OrtStatusPtr EpGraphSupportInfo_AddSingleNode(OrtEpGraphSupportInfo* graph_support_info, const OrtNode* node) noexcept {
  return Guarded([&] {
    OrtEpGraphSupportInfo& info = Given(graph_support_info, "the support info");
    info.claims.push_back({.nodes = {Known(info, node)}, .single = true});
  });
}

}  // namespace tessera::c_abi
