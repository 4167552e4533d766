#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/c/views/op_attr.h"
#include "bindings/c/views/value_info.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/provider/graph.h"

/// A node of a graph's view, or one on its own.
struct OrtNode {
  struct Nested {
    const char* attribute;
    const OrtGraph* graph;
    std::shared_ptr<const OrtGraph> own;  // null: the view that asked for this node
  };

  OrtNode(const tessera::Node& its_node, const OrtGraph& its_view) : node(its_node), view(&its_view) {}
  explicit OrtNode(std::unique_ptr<const tessera::Node> detached)
      : own_node(std::move(detached)), node(*own_node), view(nullptr) {}
  OrtNode(const OrtNode&) = delete;
  OrtNode& operator=(const OrtNode&) = delete;

  const std::unique_ptr<const tessera::Node> own_node;
  const tessera::Node& node;
  const OrtGraph* const view;                                         // null: the node is on its own
  std::vector<const OrtValueInfo*> inputs, outputs, implicit_inputs;  // null: omitted
  std::deque<OrtOpAttr> attributes;
  std::vector<Nested> nested;
  std::vector<std::unique_ptr<OrtValueInfo>> own_values;
};
