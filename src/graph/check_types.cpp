#include "graph/check_types.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/value_type.h"
#include "graph/formal_parameters.h"
#include "graph/operator_definitions.h"
#include "onnx/defs/schema.h"

namespace tessera {
namespace {

bool Allows(const FormalParameter& formal, const std::string& type) {
  const auto& allowed = formal.GetTypes();
  return allowed.empty() ||
         std::any_of(allowed.begin(), allowed.end(), [&](const std::string* name) { return *name == type; });
}

/// A node's inputs, then its outputs, against their formal parameters.
class TypeCheck {
 public:
  TypeCheck(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  /// What breaks the schema, in one phrase; empty where nothing does whose type is known.
  std::string Fault(const onnx::OpSchema& schema) {
    std::string fault = FaultOf(schema.inputs(), node_.inputs, "input");
    return fault.empty() ? FaultOf(schema.outputs(), node_.outputs, "output") : fault;
  }

 private:
  std::string FaultOf(const std::vector<FormalParameter>& formals, const std::vector<ValueIndex>& values,
                      std::string_view what) {
    for (size_t i = 0; i < values.size(); ++i) {
      const FormalParameter* formal = FormalOf(formals, i);
      if (formal == nullptr || values[i] == kNone) continue;
      const TypeInfo& type = graph_.value(values[i]).type;
      if (!IsComplete(type)) continue;
      const std::string name = type.ToString();
      if (!Allows(*formal, name)) {
        return fmt::format("{} {} ('{}') is {}, which {} of version {} does not take there", what, i,
                           graph_.value(values[i]).name, name, node_.op_type, node_.since_version);
      }
      if (!formal->GetIsHomogeneous()) continue;
      const auto [held, first] = bound_.emplace(formal->GetTypeStr(), name);
      if (!first && held->second != name) {
        return fmt::format("{} {} ('{}') is {}; by the other inputs {} is expected", what, i, graph_.value(values[i]).name,
                           name, held->second);
      }
    }
    return {};
  }

  const Graph& graph_;
  const Node& node_;
  std::map<std::string, std::string> bound_;  // type parameter -> type
};

}  // namespace

void CheckTypes(const Graph& graph, const Node& node) {
  const onnx::OpSchema* schema = FindSchema(graph, node);
  if (schema == nullptr) return;
  const std::string fault = TypeCheck(graph, node).Fault(*schema);
  if (!fault.empty()) Fail(ErrorCode::kInvalidGraph, "{}", fault);
}

bool SchemaAllows(const Graph& graph, const Node& node) {
  const onnx::OpSchema* schema = FindSchema(graph, node);
  return schema != nullptr && TypesAreKnown(graph, node) && TypeCheck(graph, node).Fault(*schema).empty();
}

void CheckTypes(const Graph& graph) {
  for (const NodeIndex index : graph.TopologicalOrder()) {
    const Node& node = graph.node(index);
    try {
      CheckTypes(graph, node);
    } catch (const Error& error) {
      const GraphViewer viewer(graph);
      throw error.At(node.Label(&viewer));
    }
    for (const auto& [name, nested] : graph.Subgraphs(index)) CheckTypes(*nested);
  }
}

bool TypesAreKnown(const Graph& graph, const Node& node) noexcept {
  const auto known = [&](ValueIndex value) { return value == kNone || IsComplete(graph.value(value).type); };
  return std::ranges::all_of(node.inputs, known) && std::ranges::all_of(node.outputs, known);
}

bool TypesAreKnown(const Graph& graph) {
  return std::ranges::all_of(graph.TopologicalOrder(), [&](NodeIndex index) {
    const auto nested = graph.Subgraphs(index);
    return TypesAreKnown(graph, graph.node(index)) &&
           std::ranges::all_of(nested, [](const auto& held) { return TypesAreKnown(*held.second); });
  });
}

}  // namespace tessera
