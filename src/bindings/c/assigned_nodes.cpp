// Which provider runs which node.

#include "bindings/c/assigned_nodes.h"

#include "bindings/c/entry.h"
#include "bindings/c/session.h"
#include "plugin/operators/operator_provider.h"
#include "tessera/providers/names.h"

namespace tessera::c_abi {

AssignedNodes::AssignedNodes(const PlacementReport& placement) {
  const PlacementReport::NodeEntry* before = nullptr;
  for (const PlacementReport::NodeEntry& node : placement.nodes) {
    // As ONNX Runtime lists them: a node that runs by itself is a part by itself.
    const bool same = before != nullptr && !node.fused_into.empty() && before->fused_into == node.fused_into &&
                      before->provider == node.provider && before->graph == node.graph;
    if (!same) {
      parts.push_back(std::make_unique<OrtEpAssignedSubgraph>());
      // Clients know their own operators as the CPU provider's.
      parts.back()->provider = node.provider == plugin::kOperatorProvider ? kCpuProvider : node.provider;
      list.push_back(parts.back().get());
    }
    OrtEpAssignedSubgraph& part = *parts.back();
    part.nodes.push_back(std::make_unique<OrtEpAssignedNode>(OrtEpAssignedNode{node.name, node.domain, node.op_type}));
    part.list.push_back(part.nodes.back().get());
    before = &node;
  }
}

OrtStatusPtr Session_GetEpGraphAssignmentInfo(const OrtSession* session, const OrtEpAssignedSubgraph* const** ep_subgraphs,
                                              size_t* num_ep_subgraphs) noexcept {
  return Guarded([&] {
    const AssignedNodes* assigned = Given(session, "the session").assigned.get();
    if (assigned == nullptr) {
      Fail(ErrorCode::kFail,
           "the session keeps no record of it: set session.record_ep_graph_assignment_info to 1 before it is made");
    }
    Given(ep_subgraphs, "out") = assigned->list.data();
    Given(num_ep_subgraphs, "the number") = assigned->list.size();
  });
}

OrtStatusPtr EpAssignedSubgraph_GetEpName(const OrtEpAssignedSubgraph* ep_subgraph, const char** out) noexcept {
  return Guarded([&] { Given(out, "out") = Given(ep_subgraph, "the part").provider.c_str(); });
}

OrtStatusPtr EpAssignedSubgraph_GetNodes(const OrtEpAssignedSubgraph* ep_subgraph,
                                         const OrtEpAssignedNode* const** ep_nodes, size_t* num_ep_nodes) noexcept {
  return Guarded([&] {
    const OrtEpAssignedSubgraph& part = Given(ep_subgraph, "the part");
    Given(ep_nodes, "out") = part.list.data();
    Given(num_ep_nodes, "the number") = part.list.size();
  });
}

OrtStatusPtr EpAssignedNode_GetName(const OrtEpAssignedNode* ep_node, const char** out) noexcept {
  return Guarded([&] { Given(out, "out") = Given(ep_node, "the node").name.c_str(); });
}

OrtStatusPtr EpAssignedNode_GetDomain(const OrtEpAssignedNode* ep_node, const char** out) noexcept {
  return Guarded([&] { Given(out, "out") = Given(ep_node, "the node").domain.c_str(); });
}

OrtStatusPtr EpAssignedNode_GetOperatorType(const OrtEpAssignedNode* ep_node, const char** out) noexcept {
  return Guarded([&] { Given(out, "out") = Given(ep_node, "the node").op_type.c_str(); });
}

}  // namespace tessera::c_abi
