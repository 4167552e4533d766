#pragma once

// The graph as libraries of providers read it through the C ABI.

#include <memory>

#include "bindings/c/views/graph.h"
#include "bindings/c/views/model_facts.h"
#include "bindings/c/views/node.h"
#include "bindings/c/views/op_attr.h"
#include "bindings/c/views/value_info.h"

namespace tessera::c_abi {

/// A view of a whole graph or of a window; nested graphs and their views come with it. Lives while the graph stays
/// unchanged. `facts` may be null: nothing is known.
std::unique_ptr<OrtGraph> ViewOf(const GraphViewer& graph, std::shared_ptr<const ModelFacts> facts);
/// A fused node on its own: name, domain, type, inputs and outputs as value infos; independent of the OrtGraph and of the
/// graph afterwards.
std::unique_ptr<OrtNode> DetachedNode(const Node& node, const GraphViewer& graph);

NodeIndex IndexOf(const OrtNode& node) noexcept;
/// The graph of a view's node, whose address tells nested ones apart. Not for detached nodes.
const Graph& GraphOf(const OrtNode& node) noexcept;
/// Of a view.
const GraphViewer& ViewerOf(const OrtGraph& view) noexcept;

}  // namespace tessera::c_abi
