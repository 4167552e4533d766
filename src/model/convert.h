#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/seeded_hash.h"
#include "graph/graph.h"
#include "model/proto.h"

namespace onnx {
class OpSchema;
}

namespace tessera {

/// Versions by domain ("" for ai.onnx).
using OpsetImports = std::map<std::string, int, std::less<>>;

/// "" for ai.onnx under either of its names.
inline std::string NormalDomain(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }

/// Throws Error when a domain is imported in two versions.
template <class Message>
OpsetImports ImportsOf(const Message& message) {
  OpsetImports imports;
  for (const auto& import : message.opset_import()) {
    const auto version = static_cast<int>(import.version());
    const auto [known, is_new] = imports.emplace(NormalDomain(import.domain()), version);
    if (is_new || known->second == version) continue;
    Fail(ErrorCode::kInvalidGraph,
         "domain '{}' is imported twice, as version {} and {}; import the one that the nodes are written for",
         known->first.empty() ? "ai.onnx" : known->first, known->second, version);
  }
  return imports;
}

/// What names mean in one graph or function body: the values that they became. The names lie in the messages converted.
struct Scope {
  explicit Scope(Graph& graph_in, Scope* outer_in = nullptr) : graph(graph_in), outer(outer_in) {}

  Graph& graph;
  Scope* outer;
  StringViewMap<ValueIndex> values;
  /// Values of the graph that the body still has to compute: outputs of a function's call.
  StringViewMap<ValueIndex> results;
  /// Put before the names of new nodes and values; a model's own names stay as they are.
  std::string prefix;
  /// New nodes run where this one did.
  NodeIndex place = kNone;
};

/// Throws Error(kInvalidGraph) for a node of a domain, or with an attribute, that Tessera keeps to itself
/// (graph/private_names.h).
void CheckNames(const onnx::NodeProto& node);

/// Adds a node that makes `to` a copy of `from`.
void AddIdentity(ValueIndex from, ValueIndex to, Scope& scope);

/// Turns protobuf graphs and nodes into a Graph. Throws Error(kInvalidGraph) naming node, value and reason: unknown
/// operators and values, wrong numbers of inputs or outputs, missing or mistyped attributes, cycles.
class GraphConversion {
 public:
  /// Attributes of the call whose body is converted, defaults included.
  using Bindings = std::map<std::string, AttributeValue, std::less<>>;

  /// `more_imports`: of domains that `imports` does not have; outlives the conversion. Each of a hundred thousand calls of
  /// a function would copy the model's.
  GraphConversion(const TensorDataSource& source, OpsetImports imports, const Bindings* bindings = nullptr,
                  const OpsetImports* more_imports = nullptr)
      : source_(source), imports_(std::move(imports)), more_imports_(more_imports), bindings_(bindings) {}

  /// Initializers of models before IR version 4 are inputs too, in name only: callers cannot set them.
  void set_initializers_are_constant(bool constant) { initializers_are_constant_ = constant; }

  /// Fills the empty graph of `scope`.
  void ConvertGraph(const onnx::GraphProto& proto, Scope& scope);
  /// Adds nodes in any order.
  void ConvertNodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, Scope& scope,
                    const StringViewMap<const onnx::TypeProto*>& types = {});

  /// Nothing for a reference to an attribute that the call leaves out.
  AttributeValue ConvertAttribute(const onnx::AttributeProto& attribute, Scope& scope);

 private:
  void AddInputsAndInitializers(const onnx::GraphProto& proto, Scope& scope);
  void AddOutputs(const onnx::GraphProto& proto, Scope& scope);
  /// The new value of a name; it must not have one yet.
  ValueIndex Define(std::string_view name, Scope& scope, TypeInfo type = {});
  ValueIndex Resolve(std::string_view name, Scope& scope);
  void DefineOutputs(const onnx::NodeProto& proto, Scope& scope, const StringViewMap<const onnx::TypeProto*>& types);
  Tensor ConstantOf(const onnx::NodeProto& proto, Scope& scope);
  void AddNode(const onnx::NodeProto& proto, Scope& scope);
  /// The names in a Gradient's attributes become those that the tensors have in the graph.
  void NameTensors(Node& node, Scope& scope);
  /// Gives the outputs that the operator always has, and that the model leaves out, values that nobody reads: kernels write
  /// them.
  static void AddRequiredOutputs(const onnx::OpSchema& schema, Node& node, Graph& graph);
  /// Null where the operator has no schema of its own.
  const onnx::OpSchema* CheckAgainstSchema(const onnx::NodeProto& proto, Node& node, const Graph& graph) const;
  void CheckAttributes(const onnx::NodeProto& proto, const onnx::OpSchema& schema) const;
  /// What the call gives for a reference; null where it leaves it out. Throws Error where it is of another type.
  const AttributeValue* Bound(const onnx::AttributeProto& attribute) const;
  AttributeValue ConvertBound(const onnx::AttributeProto& attribute, Scope& scope);
  std::shared_ptr<Graph> ConvertNested(const onnx::GraphProto& proto, Scope& scope);

  const TensorDataSource& source_;
  OpsetImports imports_;
  const OpsetImports* more_imports_;
  const Bindings* bindings_;
  bool initializers_are_constant_ = false;
  int depth_ = 0;
  std::deque<onnx::GraphProto> bound_graphs_;  // scopes hold views of their names
};

}  // namespace tessera
