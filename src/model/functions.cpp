#include "model/functions.h"

#include <array>
#include <atomic>
#include <optional>
#include <unordered_map>

#include "base/check.h"
#include "onnx/defs/schema.h"

namespace tessera {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::NodeProto;

/// Bodies inside bodies; a longer chain is recursion.
constexpr int kDeepestCall = 64;
/// Nodes that inlining may make: a few calls inside each other could otherwise double without end.
constexpr size_t kMostNodes = 2'000'000;

std::string Domain(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }

/// Copies a function's body for one call, with names made unique and attribute references bound.
class BodyCopy {
 public:
  BodyCopy(const FunctionProto& function, const NodeProto& call, const onnx::OpSchema* schema, std::string prefix)
      : function_(function), call_(call), schema_(schema), prefix_(std::move(prefix)) {}

  std::vector<NodeProto> Make() {
    std::vector<NodeProto> nodes;
    for (int i = 0; i < function_.input_size(); ++i) {
      names_[function_.input(i)] = i < call_.input_size() ? call_.input(i) : std::string();
    }
    for (int i = 0; i < function_.output_size(); ++i) {
      const std::string& formal = function_.output(i);
      const std::string actual = i < call_.output_size() ? call_.output(i) : std::string();
      if (actual.empty()) continue;
      if (!names_.contains(formal)) {
        names_[formal] = actual;
        continue;
      }
      NodeProto& copy = nodes.emplace_back();  // the same value leaves twice, or an input leaves as it is
      copy.set_op_type("Identity");
      copy.add_input(names_[formal]);
      copy.add_output(actual);
    }
    std::vector<NodeProto> tail;
    tail.swap(nodes);
    for (const NodeProto& node : function_.node()) {
      NodeProto copy = node;
      Rewrite(copy);
      if (copy.name().empty()) copy.set_name(prefix_ + copy.op_type());
      nodes.push_back(std::move(copy));
    }
    nodes.insert(nodes.end(), tail.begin(), tail.end());
    return nodes;
  }

 private:
  std::string Renamed(const std::string& name) {
    if (name.empty()) return name;
    return names_.try_emplace(name, prefix_ + name).first->second;
  }

  void Rewrite(NodeProto& node) {
    if (!node.name().empty()) node.set_name(prefix_ + node.name());
    for (std::string& input : *node.mutable_input()) input = Renamed(input);
    for (std::string& output : *node.mutable_output()) output = Renamed(output);
    SetOpset(node);
    google::protobuf::RepeatedPtrField<AttributeProto> bound;
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (!attribute.ref_attr_name().empty()) {
        if (const AttributeProto* actual = FindActual(attribute.ref_attr_name())) {
          AttributeProto& copy = *bound.Add();
          copy = *actual;
          copy.set_name(attribute.name());
        }
        continue;
      }
      if (attribute.has_g()) Rewrite(*attribute.mutable_g());
      for (GraphProto& graph : *attribute.mutable_graphs()) Rewrite(graph);
      *bound.Add() = std::move(attribute);
    }
    node.mutable_attribute()->Swap(&bound);
  }

  void Rewrite(GraphProto& graph) {
    for (auto& input : *graph.mutable_input()) input.set_name(Renamed(input.name()));
    for (auto& output : *graph.mutable_output()) output.set_name(Renamed(output.name()));
    for (auto& info : *graph.mutable_value_info()) info.set_name(Renamed(info.name()));
    for (auto& tensor : *graph.mutable_initializer()) tensor.set_name(Renamed(tensor.name()));
    for (auto& tensor : *graph.mutable_sparse_initializer()) tensor.mutable_values()->set_name(Renamed(tensor.values().name()));
    for (NodeProto& node : *graph.mutable_node()) Rewrite(node);
  }

  void SetOpset(NodeProto& node) {
    for (const auto& import : function_.opset_import()) {
      if (Domain(import.domain()) != Domain(node.domain())) continue;
      for (const auto& entry : node.metadata_props()) {
        if (entry.key() == kBodyOpsetKey) return;
      }
      auto& entry = *node.add_metadata_props();
      entry.set_key(kBodyOpsetKey);
      entry.set_value(std::to_string(import.version()));
    }
  }

  /// The call's attribute, else the function's or the schema's default, else null.
  const AttributeProto* FindActual(const std::string& name) const {
    for (const AttributeProto& attribute : call_.attribute()) {
      if (attribute.name() == name) return &attribute;
    }
    for (const AttributeProto& attribute : function_.attribute_proto()) {
      if (attribute.name() == name) return &attribute;
    }
    if (schema_ != nullptr) {
      const auto found = schema_->attributes().find(name);
      if (found != schema_->attributes().end() && found->second.default_value.type() != AttributeProto::UNDEFINED) {
        return &found->second.default_value;
      }
    }
    return nullptr;
  }

  const FunctionProto& function_;
  const NodeProto& call_;
  const onnx::OpSchema* schema_;
  std::string prefix_;
  std::unordered_map<std::string, std::string> names_;
};

/// Replaces nodes of a graph and its nested graphs; `expand` returns a node's replacement, or nothing to keep it.
template <class Expand>
bool ReplaceNodes(GraphProto& graph, const Expand& expand) {
  bool changed = false;
  google::protobuf::RepeatedPtrField<NodeProto> nodes;
  for (NodeProto& node : *graph.mutable_node()) {
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) changed |= ReplaceNodes(*attribute.mutable_g(), expand);
      for (GraphProto& nested : *attribute.mutable_graphs()) changed |= ReplaceNodes(nested, expand);
    }
    std::optional<std::vector<NodeProto>> body = expand(graph, node);
    if (!body) {
      *nodes.Add() = std::move(node);
      continue;
    }
    changed = true;
    for (NodeProto& inner : *body) *nodes.Add() = std::move(inner);
  }
  graph.mutable_node()->Swap(&nodes);
  return changed;
}

/// Domains that only function bodies import become the model's, so that inference finds their schemas.
void AddImports(onnx::ModelProto& model, const FunctionProto& function) {
  for (const auto& import : function.opset_import()) {
    bool known = false;
    for (const auto& held : model.opset_import()) known = known || Domain(held.domain()) == Domain(import.domain());
    if (!known) *model.add_opset_import() = import;
  }
}

using TypeMap = std::unordered_map<std::string, onnx::TypeProto>;

/// Types of the values that a graph itself names.
void CollectTypes(const GraphProto& graph, TypeMap& types) {
  for (const auto& input : graph.input()) types[input.name()] = input.type();
  for (const auto& info : graph.value_info()) types[info.name()] = info.type();
  for (const auto& output : graph.output()) types[output.name()] = output.type();
  for (const auto& tensor : graph.initializer()) {
    auto& type = *types[tensor.name()].mutable_tensor_type();
    type.set_elem_type(tensor.data_type());
    type.clear_shape();
    for (int64_t dim : tensor.dims()) type.mutable_shape()->add_dim()->set_dim_value(dim);
  }
  for (const NodeProto& node : graph.node()) {
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) CollectTypes(attribute.g(), types);
    }
  }
}

}  // namespace

int NodeOpset(const NodeProto& node, const std::map<std::string, int, std::less<>>& imports) {
  for (const auto& entry : node.metadata_props()) {
    if (entry.key() == kBodyOpsetKey) return std::atoi(entry.value().c_str());
  }
  const auto found = imports.find(Domain(node.domain()));
  return found == imports.end() ? 0 : found->second;
}

void InlineLocalFunctions(onnx::ModelProto& model) {
  if (model.functions_size() == 0) return;
  std::map<std::array<std::string, 3>, const FunctionProto*> functions;
  for (const FunctionProto& function : model.functions()) {
    functions[{Domain(function.domain()), function.name(), function.overload()}] = &function;
  }
  size_t calls = 0, made = 0;
  bool changed = true;
  for (int depth = 0; changed; ++depth) {
    if (depth > kDeepestCall || made > kMostNodes) {
      Fail(ErrorCode::kInvalidGraph, "the model's functions call each other without end");
    }
    changed = ReplaceNodes(*model.mutable_graph(), [&](GraphProto&, const NodeProto& node) -> std::optional<std::vector<NodeProto>> {
      const auto found = functions.find({Domain(node.domain()), node.op_type(), node.overload()});
      if (found == functions.end() || made > kMostNodes) return std::nullopt;
      const FunctionProto& function = *found->second;
      if (node.input_size() > function.input_size() || node.output_size() > function.output_size()) {
        Fail(ErrorCode::kInvalidGraph, "node '{}' calls function {} with {} inputs and {} outputs; it has {} and {}", node.name(),
             function.name(), node.input_size(), node.output_size(), function.input_size(), function.output_size());
      }
      AddImports(model, function);
      auto body = BodyCopy(function, node, nullptr, fmt::format("{}#{}/", function.name(), calls++)).Make();
      made += body.size();
      return body;
    });
  }
}

bool InlineSchemaFunctions(onnx::ModelProto& model, const decltype(LoadOptions::keep_function)& keep) {
  if (!keep) return false;
  std::map<std::string, int, std::less<>> imports;
  for (const auto& import : model.opset_import()) imports[Domain(import.domain())] = static_cast<int>(import.version());
  TypeMap types;
  CollectTypes(model.graph(), types);
  static std::atomic<size_t> calls = 0;  // unique across the rounds of one model; gaps do no harm
  return ReplaceNodes(*model.mutable_graph(), [&](GraphProto&, const NodeProto& node) -> std::optional<std::vector<NodeProto>> {
    const int opset = NodeOpset(node, imports);
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset, Domain(node.domain()));
    if (schema == nullptr || (!schema->HasFunction() && !schema->HasContextDependentFunction())) return std::nullopt;
    std::vector<onnx::TypeProto> input_types;
    std::vector<ElementType> element_types;
    for (const std::string& input : node.input()) {
      const auto found = types.find(input);
      input_types.push_back(found == types.end() ? onnx::TypeProto() : found->second);
      element_types.push_back(static_cast<ElementType>(input_types.back().tensor_type().elem_type()));
    }
    if (keep(Domain(node.domain()), node.op_type(), schema->SinceVersion(), element_types)) return std::nullopt;
    FunctionProto function;
    if (schema->HasContextDependentFunction()) {
      onnx::FunctionBodyBuildContextImpl context(node, input_types);
      if (!schema->BuildContextDependentFunction(context, function, opset)) return std::nullopt;
    } else if (const FunctionProto* body = schema->GetFunction(opset)) {
      function = *body;
    } else {
      return std::nullopt;
    }
    AddImports(model, function);
    return BodyCopy(function, node, schema, fmt::format("{}#{}/", node.op_type(), calls++)).Make();
  });
}

}  // namespace tessera
