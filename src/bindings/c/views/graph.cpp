// Graphs.

#include "bindings/c/views/graph.h"

#include "bindings/c/entry.h"
#include "bindings/c/session.h"
#include "bindings/c/views/list.h"
#include "graph/graph.h"

namespace tessera::c_abi {
namespace {

const OrtGraph& View(const OrtGraph* graph) { return Given(graph, "the graph"); }

}  // namespace

OrtStatusPtr Graph_GetName(const OrtGraph* graph, const char** graph_name) noexcept {
  return Guarded([&] { Given(graph_name, "out") = View(graph).name.c_str(); });
}

OrtStatusPtr Graph_GetModelPath(const OrtGraph* graph, const ORTCHAR_T** model_path) noexcept {
  return Guarded([&] { Given(model_path, "out") = View(graph).facts->path.c_str(); });
}

OrtStatusPtr Graph_GetOnnxIRVersion(const OrtGraph* graph, int64_t* onnx_ir_version) noexcept {
  return Guarded([&] { Given(onnx_ir_version, "out") = View(graph).facts->metadata.ir_version; });
}

OrtStatusPtr Graph_GetModelMetadata(const OrtGraph* graph, OrtModelMetadata** out) noexcept {
  return Guarded([&] {
    const ModelFacts& facts = *View(graph).facts;
    OrtModelMetadata*& made = Given(out, "out");
    made = new OrtModelMetadata{{}, facts.metadata, facts.has_version};
  });
}

OrtStatusPtr Graph_GetNumOperatorSets(const OrtGraph* graph, size_t* num_operator_sets) noexcept {
  return Guarded([&] { Given(num_operator_sets, "out") = View(graph).viewer.graph().opsets().size(); });
}

OrtStatusPtr Graph_GetOperatorSets(const OrtGraph* graph, const char** domains, int64_t* opset_versions,
                                   size_t num_operator_sets) noexcept {
  return Guarded([&] {
    const auto& opsets = View(graph).viewer.graph().opsets();
    RequireRoom(domains, num_operator_sets, opsets.size(), "operator sets");
    RequireRoom(opset_versions, num_operator_sets, opsets.size(), "versions");
    for (const auto& [domain, version] : opsets) {
      *domains++ = domain.c_str();
      *opset_versions++ = version;
    }
  });
}

OrtStatusPtr Graph_GetNumInputs(const OrtGraph* graph, size_t* num_inputs) noexcept {
  return CountIn(graph, "the graph", &OrtGraph::inputs, num_inputs);
}

OrtStatusPtr Graph_GetInputs(const OrtGraph* graph, const OrtValueInfo** inputs, size_t num_inputs) noexcept {
  return CopyFrom(graph, "the graph", &OrtGraph::inputs, inputs, num_inputs, "inputs");
}

OrtStatusPtr Graph_GetNumOutputs(const OrtGraph* graph, size_t* num_outputs) noexcept {
  return CountIn(graph, "the graph", &OrtGraph::outputs, num_outputs);
}

OrtStatusPtr Graph_GetOutputs(const OrtGraph* graph, const OrtValueInfo** outputs, size_t num_outputs) noexcept {
  return CopyFrom(graph, "the graph", &OrtGraph::outputs, outputs, num_outputs, "outputs");
}

OrtStatusPtr Graph_GetNumInitializers(const OrtGraph* graph, size_t* num_initializers) noexcept {
  return CountIn(graph, "the graph", &OrtGraph::initializers, num_initializers);
}

OrtStatusPtr Graph_GetInitializers(const OrtGraph* graph, const OrtValueInfo** initializers,
                                   size_t num_initializers) noexcept {
  return CopyFrom(graph, "the graph", &OrtGraph::initializers, initializers, num_initializers, "initializers");
}

OrtStatusPtr Graph_GetNumNodes(const OrtGraph* graph, size_t* num_nodes) noexcept {
  return CountIn(graph, "the graph", &OrtGraph::nodes, num_nodes);
}

OrtStatusPtr Graph_GetNodes(const OrtGraph* graph, const OrtNode** nodes, size_t num_nodes) noexcept {
  return CopyFrom(graph, "the graph", &OrtGraph::nodes, nodes, num_nodes, "nodes");
}

OrtStatusPtr Graph_GetParentNode(const OrtGraph* graph, const OrtNode** node) noexcept {
  return Guarded([&] { Given(node, "out") = View(graph).parent(); });
}

OrtStatusPtr Graph_GetGraphView(const OrtGraph* src_graph, const OrtNode** nodes, size_t num_nodes,
                                OrtGraph** dst_graph) noexcept {
  return Guarded([&] {
    const OrtGraph& source = View(src_graph);
    OrtGraph*& out = Given(dst_graph, "out");
    Require(num_nodes > 0, "a view of no nodes; give at least one");
    std::vector<NodeIndex> indices;
    indices.reserve(num_nodes);
    for (size_t i = 0; i < num_nodes; ++i) {
      const OrtNode& node = Given((&Given(nodes, "the nodes"))[i], "a node");
      const bool is_inside = node.view != nullptr && &node.view->viewer.graph() == &source.viewer.graph() &&
                             source.viewer.contains(node.node.index);
      Require(is_inside, "{} is not a node of graph '{}'", node.node.Label(), source.name);
      indices.push_back(node.node.index);
    }
    auto view = std::make_unique<OrtGraph>(GraphViewer(source.viewer.graph(), indices), source.facts, source.parent());
    view->is_clients = true;
    out = view.release();
  });
}

// Other views belong to who made them.
void ReleaseGraph(OrtGraph* input) {
  if (IsThere(input) && input->is_clients) Release(input);
}

}  // namespace tessera::c_abi
