#include "plugin/claims.h"

#include <span>
#include <unordered_set>

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

/// The nodes behind the library's pointers, which may be any: nothing is read through them. Says in the claim what is
/// wrong.
plugin::Claim ClaimOf(const OrtEpGraphSupportInfo& info, std::span<const OrtNode* const> nodes) {
  plugin::Claim claim;
  std::unordered_set<NodeIndex> seen;
  if (nodes.empty()) claim.broken = "a group without nodes is claimed";
  for (const OrtNode* node : nodes) {
    const auto found = info.nodes.find(node);
    if (found == info.nodes.end()) {
      claim.broken = "a node that is claimed is none of the graph's that the library was asked about";
    } else if (!seen.insert(found->second).second) {
      claim.broken = "a group that is claimed has a node twice";
    } else {
      claim.nodes.push_back(found->second);
    }
  }
  return claim;
}

/// A claim that is broken is kept, too: the library may not listen, and the session is to know.
void Add(OrtEpGraphSupportInfo& info, plugin::Claim claim) {
  const std::string broken = claim.broken;
  info.claims.push_back(std::move(claim));
  Require(broken.empty(), "{}", broken);
}

}  // namespace

OrtStatusPtr EpGraphSupportInfo_AddNodesToFuse(OrtEpGraphSupportInfo* graph_support_info, const OrtNode* const* nodes,
                                               size_t num_nodes, const OrtNodeFusionOptions* node_fusion_options) noexcept {
  return Guarded([&] {
    OrtEpGraphSupportInfo& info = Given(graph_support_info, "the support info");
    plugin::Claim claim = ClaimOf(info, {nodes, nodes == nullptr ? 0 : num_nodes});
    claim.drops_constants = node_fusion_options != nullptr && node_fusion_options->drop_constant_initializers;
    Add(info, std::move(claim));
  });
}

OrtStatusPtr EpGraphSupportInfo_AddSingleNode(OrtEpGraphSupportInfo* graph_support_info, const OrtNode* node) noexcept {
  return Guarded([&] {
    OrtEpGraphSupportInfo& info = Given(graph_support_info, "the support info");
    plugin::Claim claim = ClaimOf(info, {&node, 1});
    claim.single = true;
    Add(info, std::move(claim));
  });
}

}  // namespace tessera::c_abi
