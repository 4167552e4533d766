#pragma once

// What the libraries for tests ask of the one runtime that opens them.

#include <onnxruntime_c_api.h>

#include <vector>

inline const OrtApi* api = nullptr;

inline void Ignore(OrtStatus* status) { api->ReleaseStatus(status); }

inline std::vector<const OrtNode*> NodesOf(const OrtGraph* graph) {
  size_t count = 0;
  Ignore(api->Graph_GetNumNodes(graph, &count));
  std::vector<const OrtNode*> nodes(count);
  Ignore(api->Graph_GetNodes(graph, nodes.data(), count));
  return nodes;
}
