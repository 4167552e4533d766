#pragma once

// Models that clients make, part by part.

#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "bindings/c/handle.h"
#include "bindings/c/value.h"
#include "bindings/c/views/graph.h"
#include "bindings/c/views/node.h"
#include "bindings/c/views/value_info.h"
#include "onnxruntime/onnxruntime_c_api.h"

namespace tessera::c_abi {

/// A graph to which a client adds what it made.
struct MadeGraph final : OrtGraph {
  struct Weight {
    std::unique_ptr<OrtValue> value;
    bool is_external;  // its memory outlives the sessions, and is not copied
  };

  MadeGraph() { is_clients = true; }

  std::vector<Owned<OrtValueInfo>> inputs, outputs;
  std::map<std::string, Weight, std::less<>> weights;
  std::unordered_set<const OrtValue*> values;  // of the weights
  std::vector<Owned<OrtNode>> nodes;
};

}  // namespace tessera::c_abi

struct OrtModel {
  tessera::c_abi::Mark<OrtModel> mark;
  std::map<std::string, int, std::less<>> opsets;          // versions by domain, "" for ai.onnx
  tessera::c_abi::Owned<tessera::c_abi::MadeGraph> graph;  // null: none was added
};
