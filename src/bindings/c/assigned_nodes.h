#pragma once

#include <memory>
#include <string>
#include <vector>

#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/session.h"

struct OrtEpAssignedNode {
  std::string name, domain, op_type;
};

struct OrtEpAssignedSubgraph {
  std::string provider;
  std::vector<std::unique_ptr<OrtEpAssignedNode>> nodes;
  std::vector<const OrtEpAssignedNode*> list;
};

namespace tessera::c_abi {

/// Which provider runs which of the model's nodes: those that run as one, or in a row, are one part.
struct AssignedNodes {
  explicit AssignedNodes(const PlacementReport& placement);

  std::vector<std::unique_ptr<OrtEpAssignedSubgraph>> parts;
  std::vector<const OrtEpAssignedSubgraph*> list;
};

}  // namespace tessera::c_abi
