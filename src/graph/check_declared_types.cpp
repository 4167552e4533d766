#include "graph/check_declared_types.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/load_limits.h"
#include "base/value_type.h"
#include "graph/copy_node.h"
#include "graph/formal_parameters.h"
#include "graph/graph.h"
#include "graph/infer_types.h"
#include "graph/operator_definitions.h"
#include "onnx/defs/schema.h"

namespace tessera {
namespace {

template <class Visit>
void ForEachValue(Graph& graph, const Visit& visit) {
  for (size_t i = 0; i < graph.num_values(); ++i) visit(graph.value(static_cast<ValueIndex>(i)));
  for (const NodeIndex index : graph.TopologicalOrder()) {
    for (const auto& [name, nested] : graph.Subgraphs(index)) ForEachValue(*nested, visit);
  }
}

/// The types of a graph's values, which are as they were when it goes.
class KeptTypes {
 public:
  explicit KeptTypes(Graph& graph) : graph_(graph) {
    ForEachValue(graph_, [&](const GraphValue& value) { types_.push_back(value.type); });
  }
  ~KeptTypes() {
    size_t next = 0;
    ForEachValue(graph_, [&](GraphValue& value) { value.type = std::move(types_[next++]); });
  }
  KeptTypes(const KeptTypes&) = delete;
  KeptTypes& operator=(const KeptTypes&) = delete;

 private:
  Graph& graph_;
  std::vector<TypeInfo> types_;
};

/// Whether CheckTypes knows the type of an output: the schema allows no other, or an input of the same parameter tells it.
bool IsTold(const Graph& graph, const Node& node, const onnx::OpSchema& schema, size_t output) {
  const FormalParameter* formal = FormalOf(schema.outputs(), output);
  if (formal == nullptr) return false;
  if (formal->GetTypes().size() == 1) return true;
  if (!formal->GetIsHomogeneous()) return false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const FormalParameter* read = FormalOf(schema.inputs(), i);
    if (node.inputs[i] != kNone && read != nullptr && read->GetIsHomogeneous() &&
        read->GetTypeStr() == formal->GetTypeStr() && IsComplete(graph.value(node.inputs[i]).type))
      return true;
  }
  return false;
}

bool NeedsInference(const Graph& graph, const Node& node) {
  if (DefinerOf(graph, node) != nullptr) return true;
  const onnx::OpSchema* schema = FindSchema(graph, node);
  if (schema == nullptr) return false;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != kNone && !IsTold(graph, node, *schema, i)) return true;
  }
  return false;
}

/// By inference of a copy that stands alone.
void CheckInferred(const Graph& graph, const Node& node) {
  try {
    Graph alone;
    alone.set_definitions(graph.definitions());
    InferNodeTypes(alone, alone.node(CopyNode(graph, node, alone)));
  } catch (const Error& error) {
    const GraphViewer viewer(graph);
    throw error.At(node.Label(&viewer));
  }
}

}  // namespace

void CheckDeclaredTypes(Graph& graph) {
  ForEachValue(graph, [](const GraphValue& value) {
    if (!value.default_value) return;
    Require(value.type.is_tensor() && value.type.element == value.default_value->type(), "'{}' is {}, its default is {}",
            value.name, value.type.ToString(), ElementTypeName(value.default_value->type()));
  });
  if (graph.MayHoldGraphs()) {  // whose types go in and out by their nodes' inference
    const KeptTypes kept(graph);
    InferTypes(graph);
    return;
  }
  for (const NodeIndex index : graph.TopologicalOrder()) {
    graph.limits().Check();
    const Node& node = graph.node(index);
    if (NeedsInference(graph, node)) CheckInferred(graph, node);
  }
}

}  // namespace tessera
