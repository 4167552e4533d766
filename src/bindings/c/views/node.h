#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/c/handle.h"
#include "bindings/c/views/op_attr.h"
#include "bindings/c/views/value_info.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/provider/graph.h"

namespace tessera::c_abi {
struct GraphView;
}

/// A node of a graph's view, one on its own, or one that a client made.
struct OrtNode {
  struct Nested {
    const char* attribute;
    const tessera::c_abi::GraphView* graph;
    std::shared_ptr<const tessera::c_abi::GraphView> own;  // null: the view that asked for this node
  };

  OrtNode(const tessera::Node& its_node, const tessera::c_abi::GraphView& its_view) : node(its_node), view(&its_view) {}
  explicit OrtNode(std::unique_ptr<tessera::Node> detached)
      : own_node(std::move(detached)), node(*own_node), view(nullptr) {}
  /// A client's: its values are names only, and the client releases it, until a graph takes it.
  OrtNode(std::unique_ptr<tessera::Node> made, std::vector<std::string> its_inputs, std::vector<std::string> its_outputs)
      : own_node(std::move(made)),
        node(*own_node),
        view(nullptr),
        of_client(true),
        input_names(std::move(its_inputs)),
        output_names(std::move(its_outputs)) {}
  OrtNode(const OrtNode&) = delete;
  OrtNode& operator=(const OrtNode&) = delete;

  tessera::c_abi::Mark<OrtNode> mark;
  const std::unique_ptr<tessera::Node> own_node;
  const tessera::Node& node;
  const tessera::c_abi::GraphView* const view;  // null: the node is on its own
  const bool of_client = false;
  bool is_taken = false;                                              // by a graph of the client's
  const std::vector<std::string> input_names, output_names;           // of a client's
  std::vector<const OrtValueInfo*> inputs, outputs, implicit_inputs;  // null: omitted
  std::deque<OrtOpAttr> attributes;
  std::vector<Nested> nested;
  std::vector<std::unique_ptr<OrtValueInfo>> own_values;
};
