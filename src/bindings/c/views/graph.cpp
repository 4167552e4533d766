// Graphs.

#include "bindings/c/views/graph.h"

#include "bindings/c/editor/made_model.h"
#include "bindings/c/entry.h"
#include "bindings/c/session.h"
#include "bindings/c/views/list.h"
#include "graph/graph.h"
#include "onnx/onnx_pb.h"

namespace tessera::c_abi {
namespace {

/// Null where the graph is a view.
const MadeGraph* MadeOf(const OrtGraph* graph) { return dynamic_cast<const MadeGraph*>(&Given(graph, "the graph")); }

const GraphView& View(const OrtGraph* graph) {
  const auto* view = dynamic_cast<const GraphView*>(&Given(graph, "the graph"));
  if (view == nullptr)
    Fail(ErrorCode::kNotImplemented, "the graph was made by CreateGraph: what is in it can be counted, and not be read");
  return *view;
}

template <class InView, class InMade>
OrtStatusPtr CountInEither(const OrtGraph* graph, InView GraphView::* of_view, InMade MadeGraph::* of_made,
                           size_t* out) noexcept {
  return Guarded([&] {
    const MadeGraph* made = MadeOf(graph);
    Given(out, "out") = made != nullptr ? (made->*of_made).size() : (View(graph).*of_view).size();
  });
}

}  // namespace

OrtStatusPtr Graph_GetName(const OrtGraph* graph, const char** graph_name) noexcept {
  return Guarded([&] { Given(graph_name, "out") = MadeOf(graph) != nullptr ? "" : View(graph).name.c_str(); });
}

OrtStatusPtr Graph_GetModelPath(const OrtGraph* graph, const ORTCHAR_T** model_path) noexcept {
  return Guarded([&] { Given(model_path, "out") = MadeOf(graph) != nullptr ? "" : View(graph).facts->path.c_str(); });
}

OrtStatusPtr Graph_GetOnnxIRVersion(const OrtGraph* graph, int64_t* onnx_ir_version) noexcept {
  return Guarded([&] {
    const int64_t newest = onnx::Version::IR_VERSION;  // what made models are written in
    Given(onnx_ir_version, "out") = MadeOf(graph) != nullptr ? newest : View(graph).facts->metadata.ir_version;
  });
}

OrtStatusPtr Graph_GetModelMetadata(const OrtGraph* graph, OrtModelMetadata** out) noexcept {
  return Guarded([&] {
    static const ModelFacts nothing;
    const ModelFacts& facts = MadeOf(graph) != nullptr ? nothing : *View(graph).facts;
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
  return CountInEither(graph, &GraphView::inputs, &MadeGraph::inputs, num_inputs);
}

OrtStatusPtr Graph_GetInputs(const OrtGraph* graph, const OrtValueInfo** inputs, size_t num_inputs) noexcept {
  return CopyFrom(graph, View, &GraphView::inputs, inputs, num_inputs, "inputs");
}

OrtStatusPtr Graph_GetNumOutputs(const OrtGraph* graph, size_t* num_outputs) noexcept {
  return CountInEither(graph, &GraphView::outputs, &MadeGraph::outputs, num_outputs);
}

OrtStatusPtr Graph_GetOutputs(const OrtGraph* graph, const OrtValueInfo** outputs, size_t num_outputs) noexcept {
  return CopyFrom(graph, View, &GraphView::outputs, outputs, num_outputs, "outputs");
}

OrtStatusPtr Graph_GetNumInitializers(const OrtGraph* graph, size_t* num_initializers) noexcept {
  return CountInEither(graph, &GraphView::initializers, &MadeGraph::weights, num_initializers);
}

OrtStatusPtr Graph_GetInitializers(const OrtGraph* graph, const OrtValueInfo** initializers,
                                   size_t num_initializers) noexcept {
  return CopyFrom(graph, View, &GraphView::initializers, initializers, num_initializers, "initializers");
}

OrtStatusPtr Graph_GetNumNodes(const OrtGraph* graph, size_t* num_nodes) noexcept {
  return CountInEither(graph, &GraphView::nodes, &MadeGraph::nodes, num_nodes);
}

OrtStatusPtr Graph_GetNodes(const OrtGraph* graph, const OrtNode** nodes, size_t num_nodes) noexcept {
  return CopyFrom(graph, View, &GraphView::nodes, nodes, num_nodes, "nodes");
}

OrtStatusPtr Graph_GetParentNode(const OrtGraph* graph, const OrtNode** node) noexcept {
  return Guarded([&] { Given(node, "out") = View(graph).parent(); });
}

OrtStatusPtr Graph_GetGraphView(const OrtGraph* src_graph, const OrtNode** nodes, size_t num_nodes,
                                OrtGraph** dst_graph) noexcept {
  return Guarded([&] {
    Require(MadeOf(src_graph) == nullptr, "a graph that was made by CreateGraph has no views");
    const GraphView& source = View(src_graph);
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
    auto view = std::make_unique<GraphView>(GraphViewer(source.viewer.graph(), indices), source.facts, source.parent());
    view->is_clients = true;
    out = view.release();
  });
}

// Views that the library made belong to it, and graphs of models to their models.
void ReleaseGraph(OrtGraph* input) {
  if (IsThere(input) && input->is_clients) Release(input);
}

}  // namespace tessera::c_abi
