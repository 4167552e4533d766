#include "model/convert.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/check.h"
#include "base/load_limits.h"
#include "graph/formal_parameters.h"
#include "graph/microsoft/compiled.h"
#include "graph/microsoft/schemas.h"
#include "graph/node_label.h"
#include "graph/operator_definitions.h"
#include "graph/private_names.h"
#include "graph/schema.h"
#include "model/functions.h"
#include "onnx/defs/schema.h"

namespace tessera {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::NodeProto;

std::string Label(const NodeProto& node) {
  return NodeLabel(node.domain(), node.op_type(), node.name(), node.output_size() > 0 ? node.output(0) : std::string());
}

/// Nobody but the optimizer writes these; what they mean is not checked again.
void RequirePublicNames(const NodeProto& node) {
  if (IsPrivateDomain(node.domain())) {
    Fail(ErrorCode::kInvalidGraph,
         "domain '{}' is private to Tessera: its operators exist inside of a session and stand in no model file; load the "
         "model that this one "
         "was made of",
         node.domain());
  }
  for (const AttributeProto& attribute : node.attribute()) {
    if (!IsPrivateAttribute(attribute.name())) continue;
    Fail(ErrorCode::kInvalidGraph,
         "attribute '{}' is private to Tessera: names that begin with 'tessera_' stand in no model file; leave it out",
         attribute.name());
  }
}

/// A sparse tensor of a model as a dense one. A tiny message must not ask for terabytes: the dense form may be so many
/// times larger than what the model holds of it, or this large.
constexpr size_t kMostExpansion = 10000;
constexpr size_t kSmallDense = size_t{16} << 20;

Tensor Expand(const SparseTensor& sparse, std::string_view name, const Graph& graph) {
  const size_t held = sparse.values.byte_size() + sparse.indices.byte_size();
  const size_t dense = ByteSize(sparse.values.type(), sparse.dense_shape.num_elements());
  if (dense > kSmallDense && dense / kMostExpansion > held) {
    Fail(ErrorCode::kInvalidGraph,
         "sparse tensor '{}': shape {} takes {} bytes, more than {} times the {} bytes of its values and indices; store it "
         "dense, or "
         "compute it in the model",
         name, sparse.dense_shape, dense, kMostExpansion, held);
  }
  try {
    graph.limits().Check();
    graph.Charge(dense);
    return sparse.ToDense();
  } catch (const Error& error) {
    throw error.At(fmt::format("sparse tensor '{}'", name));
  }
}

/// What does not lie in its file as kernels read it is copied when one does.
void ChargeAlignedCopy(const Tensor& tensor, const Graph& graph) {
  const bool shared =
      tensor.byte_size() > 0 && reinterpret_cast<uintptr_t>(tensor.unaligned_raw()) % RequiredAlignment(tensor.type()) != 0;
  if (shared) graph.Charge(tensor.byte_size());
}

bool IsConstantNode(const NodeProto& node) { return node.op_type() == "Constant" && NormalDomain(node.domain()).empty(); }

void CheckInputs(const NodeProto& proto, const Node& node, const onnx::OpSchema& schema) {
  const auto inputs = static_cast<int>(node.inputs.size()), outputs = static_cast<int>(node.outputs.size());
  if (inputs > schema.max_input() || proto.input_size() < schema.min_input()) {
    Fail(ErrorCode::kInvalidGraph, "it has {} inputs; {} of version {} takes {} to {}", proto.input_size(), node.op_type,
         node.since_version, schema.min_input(), schema.max_input());
  }
  if (outputs > schema.max_output() || outputs < schema.min_output()) {
    Fail(ErrorCode::kInvalidGraph, "it has {} outputs; {} of version {} gives {} to {}", outputs, node.op_type,
         node.since_version, schema.min_output(), schema.max_output());
  }
  const auto& formals = schema.inputs();
  for (size_t i = 0; i < formals.size(); ++i) {
    const bool given = i < node.inputs.size() && node.inputs[i] != kNone;
    if (formals[i].GetOption() == onnx::OpSchema::Single && !given) {
      Fail(ErrorCode::kInvalidGraph, "input {} ('{}') is required", i, formals[i].GetName());
    }
  }
  if (!IsVariadic(formals)) return;
  for (size_t i = formals.size() - 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNone)
      Fail(ErrorCode::kInvalidGraph, "input {} ('{}') cannot be left out", i, formals.back().GetName());
  }
}

/// What callers may put in an input's place has the declared shape; so must what stands there without them.
void CheckDefault(const GraphValue& input, const Tensor& initializer) {
  const TypeInfo& type = input.type;
  if (!type.is_tensor()) return;
  if (type.element != initializer.type()) {
    Fail(ErrorCode::kInvalidGraph, "initializer '{}' is {}; the input of that name is {}", input.name,
         ElementTypeName(initializer.type()), type.ToString());
  }
  if (!type.shape) return;
  const Shape& shape = initializer.shape();
  const bool fits =
      std::equal(type.shape->begin(), type.shape->end(), shape.begin(), shape.end(),
                 [](const Dimension& declared, int64_t size) { return !declared.known() || declared.value == size; });
  if (!fits) {
    Fail(ErrorCode::kInvalidGraph, "initializer '{}' has shape {}; the input of that name is declared as {}", input.name,
         shape, ToString(*type.shape));
  }
}

}  // namespace

void CheckNames(const NodeProto& node) {
  try {
    RequirePublicNames(node);
  } catch (const Error& error) {
    throw error.At(Label(node));
  }
}

void AddIdentity(ValueIndex from, ValueIndex to, Scope& scope) {
  const onnx::OpSchema* schema = FindSchema("Identity", scope.graph.opset_version(""), "");
  Node node;
  node.op_type = "Identity";
  node.name = scope.prefix.empty() ? std::string() : scope.prefix + node.op_type;
  node.since_version = schema == nullptr ? 1 : schema->SinceVersion();
  node.inputs = {from};
  node.outputs = {to};
  scope.graph.AddNode(std::move(node), scope.place);
}

void GraphConversion::ConvertGraph(const GraphProto& proto, Scope& scope) {
  Graph& graph = scope.graph;
  graph.set_name(proto.name());
  StringViewMap<const onnx::TypeProto*> types;
  for (const auto& info : proto.value_info()) types[info.name()] = &info.type();
  for (const auto& info : proto.output()) types[info.name()] = &info.type();
  AddInputsAndInitializers(proto, scope);
  ConvertNodes(proto.node(), scope, types);
  AddOutputs(proto, scope);
  graph.TopologicalOrder();  // finds cycles now
}

void GraphConversion::AddOutputs(const GraphProto& proto, Scope& scope) {
  Graph& graph = scope.graph;
  for (const auto& output : proto.output()) {
    ValueIndex index = Resolve(output.name(), scope);
    if (index == kNone)
      Fail(ErrorCode::kInvalidGraph, "output '{}' of graph '{}' is never computed", output.name(), proto.name());
    TypeInfo& declared = graph.value(index).type;
    if (declared.kind == ValueKind::kNone) declared = FromProto(output.type());
    if (graph.value(index).is_output) {
      if (scope.outer == nullptr) {
        Fail(ErrorCode::kInvalidGraph, "output '{}' of graph '{}' is listed twice: outputs are told by their names",
             output.name(), proto.name());
      }
      const ValueIndex copy = graph.AddValue({}, TypeInfo(declared));  // outputs of nested graphs are told by their places
      AddIdentity(index, copy, scope);
      index = copy;
    }
    graph.AddOutput(index);
  }
}

void GraphConversion::ConvertNodes(const google::protobuf::RepeatedPtrField<NodeProto>& nodes, Scope& scope,
                                   const StringViewMap<const onnx::TypeProto*>& types) {
  for (const NodeProto& node : nodes) DefineOutputs(node, scope, types);
  for (const NodeProto& node : nodes) {
    if (!IsConstantNode(node)) AddNode(node, scope);
  }
}

void GraphConversion::AddInputsAndInitializers(const GraphProto& proto, Scope& scope) {
  StringViewMap<Tensor> initializers;
  std::vector<std::string_view> order;
  const auto add = [&](const std::string& name, Tensor tensor) {
    if (name.empty()) Fail(ErrorCode::kInvalidGraph, "graph '{}' has an initializer without a name", proto.name());
    if (!initializers.emplace(name, std::move(tensor)).second) {
      Fail(ErrorCode::kInvalidGraph, "initializer '{}' is defined twice in graph '{}'", name, proto.name());
    }
    order.push_back(name);
  };
  const LoadLimits& limits = scope.graph.limits();
  for (const auto& tensor : proto.initializer()) {
    add(tensor.name(), FromProto(tensor, source_, limits));
    ChargeAlignedCopy(initializers.at(tensor.name()), scope.graph);
  }
  for (const auto& tensor : proto.sparse_initializer()) {
    const std::string& name = tensor.values().name();
    add(name, Expand(FromProto(tensor, source_, limits), name, scope.graph));
  }

  for (const auto& input : proto.input()) {
    if (input.name().empty()) Fail(ErrorCode::kInvalidGraph, "graph '{}' has an input without a name", proto.name());
    const auto initializer = initializers.find(input.name());
    if (initializer != initializers.end() && initializers_are_constant_) continue;
    const ValueIndex index = Define(input.name(), scope, FromProto(input.type()));
    scope.graph.AddInput(index);
    if (initializer != initializers.end()) {
      GraphValue& value = scope.graph.value(index);
      CheckDefault(value, initializer->second);
      value.default_value = std::move(initializer->second);
      initializers.erase(initializer);
    }
  }
  for (std::string_view name : order) {
    const auto found = initializers.find(name);
    if (found != initializers.end()) scope.graph.SetConstant(Define(name, scope), std::move(found->second));
  }
}

ValueIndex GraphConversion::Define(std::string_view name, Scope& scope, TypeInfo type) {
  if (const auto result = scope.results.find(name); result != scope.results.end()) {
    const ValueIndex index = result->second;
    scope.values.emplace(result->first, index);
    scope.results.erase(result);
    return index;
  }
  if (scope.values.contains(name)) {
    Fail(ErrorCode::kInvalidGraph, "value '{}' is defined twice in graph '{}'", name, scope.graph.name());
  }
  std::string full = scope.prefix + std::string(name);
  if (!scope.prefix.empty() && scope.graph.FindValue(full) != kNone) full.clear();
  const ValueIndex index = scope.graph.AddValue(std::move(full), std::move(type));
  scope.values.emplace(name, index);
  return index;
}

ValueIndex GraphConversion::Resolve(std::string_view name, Scope& scope) {
  const auto own = scope.values.find(name);
  if (own != scope.values.end()) return own->second;
  if (scope.outer == nullptr) return kNone;
  const ValueIndex outer = Resolve(name, *scope.outer);
  if (outer == kNone) return kNone;
  const ValueIndex captured = &scope.outer->graph == &scope.graph ? outer : scope.graph.Capture(outer);
  scope.values.emplace(name, captured);
  return captured;
}

void GraphConversion::DefineOutputs(const NodeProto& node, Scope& scope,
                                    const StringViewMap<const onnx::TypeProto*>& types) {
  try {
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      const auto type = types.find(output);
      const ValueIndex index = Define(output, scope, type == types.end() ? TypeInfo() : FromProto(*type->second));
      if (!IsConstantNode(node)) continue;
      if (scope.graph.value(index).producer != kNone || scope.graph.constant(index) != nullptr) {
        Fail(ErrorCode::kInvalidGraph, "value '{}' is defined twice", output);
      }
      scope.graph.SetConstant(index, ConstantOf(node, scope));
    }
  } catch (const Error& error) {
    throw error.At(Label(node));
  }
}

Tensor GraphConversion::ConstantOf(const NodeProto& node, Scope& scope) {
  if (node.attribute_size() != 1)
    Fail(ErrorCode::kInvalidGraph, "a Constant has one attribute, not {}", node.attribute_size());
  const std::string& name = node.attribute(0).name();
  const AttributeValue value = ConvertAttribute(node.attribute(0), scope);
  const auto list = [&]<class T>(const std::vector<T>& values) {
    return Tensor::Of<T>(Shape{static_cast<int64_t>(values.size())}, std::span<const T>(values));
  };
  if (name == "value") {
    if (const auto* tensor = std::get_if<Tensor>(&value)) return *tensor;
  } else if (name == "sparse_value") {
    if (const auto* sparse = std::get_if<SparseTensor>(&value)) return Expand(*sparse, node.output(0), scope.graph);
  } else if (name == "value_float") {
    if (const auto* number = std::get_if<float>(&value)) return Tensor::Of<float>({}, std::array{*number});
  } else if (name == "value_int") {
    if (const auto* number = std::get_if<int64_t>(&value)) return Tensor::Of<int64_t>({}, std::array{*number});
  } else if (name == "value_string") {
    if (const auto* text = std::get_if<std::string>(&value)) return Tensor::Of<std::string>({}, std::array{*text});
  } else if (name == "value_floats") {
    if (const auto* numbers = std::get_if<std::vector<float>>(&value)) return list(*numbers);
  } else if (name == "value_ints") {
    if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) return list(*numbers);
  } else if (name == "value_strings") {
    if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) return list(*texts);
  } else {
    Fail(ErrorCode::kInvalidGraph, "a Constant has no attribute '{}'", name);
  }
  Fail(ErrorCode::kInvalidGraph, "attribute '{}' has another type than its name says", name);
}

void GraphConversion::AddNode(const NodeProto& proto, Scope& scope) {
  try {
    RequirePublicNames(proto);
    Graph& graph = scope.graph;
    Node node;
    node.name = proto.name().empty() && !scope.prefix.empty() ? scope.prefix + proto.op_type()
                : proto.name().empty()                        ? std::string()
                                                              : scope.prefix + proto.name();
    node.domain = NormalDomain(proto.domain());
    node.op_type = proto.op_type();
    node.overload = proto.overload();
    for (const std::string& input : proto.input()) {
      ValueIndex index = kNone;
      if (!input.empty()) {
        index = Resolve(input, scope);
        if (index == kNone && !scope.values.contains(input)) {
          Fail(ErrorCode::kInvalidGraph, "input '{}' is not defined in graph '{}'", input, graph.name());
        }
      }
      node.inputs.push_back(index);
    }
    // Trailing omitted inputs and outputs say nothing.
    while (!node.inputs.empty() && node.inputs.back() == kNone) node.inputs.pop_back();
    for (const std::string& output : proto.output()) {
      node.outputs.push_back(output.empty() ? kNone : scope.values.at(output));
    }
    const onnx::OpSchema* schema = CheckAgainstSchema(proto, node, graph);
    if (schema != nullptr) AddRequiredOutputs(*schema, node, graph);
    const bool any_attribute = schema == nullptr || TakesAnyAttribute(node.op_type);
    for (const AttributeProto& attribute : proto.attribute()) {
      // What the operator does not have must not become an attribute of one that a rewrite makes of it.
      if (!any_attribute && !schema->attributes().contains(attribute.name())) continue;
      AttributeValue value = ConvertAttribute(attribute, scope);
      if (value.index() != 0) node.attributes.push_back({attribute.name(), std::move(value)});
    }
    if (node.op_type == "Gradient" && node.domain == "ai.onnx.preview.training") NameTensors(node, scope);
    const NodeIndex index = graph.AddNode(std::move(node), scope.place);
    if (!graph.Subgraphs(index).empty()) graph.RefreshImplicitInputs(index);
  } catch (const Error& error) {
    throw error.At(Label(proto));
  }
}

void GraphConversion::AddRequiredOutputs(const onnx::OpSchema& schema, Node& node, Graph& graph) {
  const auto& formals = schema.outputs();
  for (size_t i = 0; i < formals.size() && formals[i].GetOption() != onnx::OpSchema::Variadic; ++i) {
    if (formals[i].GetOption() != onnx::OpSchema::Single) continue;
    if (node.outputs.size() <= i) node.outputs.resize(i + 1, kNone);
    if (node.outputs[i] == kNone) node.outputs[i] = graph.AddValue({});
  }
}

void GraphConversion::NameTensors(Node& node, Scope& scope) {
  const auto rename = [&](std::string& name) {
    const ValueIndex index = Resolve(name, scope);
    if (index == kNone)
      Fail(ErrorCode::kInvalidGraph, "an attribute names '{}', which graph '{}' does not have", name, scope.graph.name());
    name = scope.graph.value(index).name;
  };
  for (Attribute& attribute : node.attributes) {
    if (auto* names = std::get_if<std::vector<std::string>>(&attribute.value))
      std::for_each(names->begin(), names->end(), rename);
    if (auto* name = std::get_if<std::string>(&attribute.value)) rename(*name);
  }
}

const onnx::OpSchema* GraphConversion::CheckAgainstSchema(const NodeProto& proto, Node& node, const Graph& graph) const {
  auto import = imports_.find(node.domain);
  bool imported = import != imports_.end();
  if (!imported && more_imports_ != nullptr) {
    import = more_imports_->find(node.domain);
    imported = import != more_imports_->end();
  }
  const int opset = imported ? import->second : 0;
  node.since_version = opset;
  if (const onnx::FunctionProto* function = FindLocalFunction(graph, node)) {
    if (proto.input_size() > function->input_size() || proto.output_size() > function->output_size()) {
      Fail(ErrorCode::kInvalidGraph, "it has {} inputs and {} outputs; the function has {} and {}", proto.input_size(),
           proto.output_size(), function->input_size(), function->output_size());
    }
    return nullptr;
  }
  if (DefinerOf(graph, node) != nullptr) return nullptr;
  const std::string_view domain = node.domain.empty() ? "ai.onnx" : std::string_view(node.domain);
  if (!imported && node.domain != kMicrosoftDomain) {    // some exporters forget to import that one
    if (!IsStandardDomain(node.domain)) return nullptr;  // a provider may know it all the same
    Fail(ErrorCode::kInvalidGraph, "operator {} is of domain {}, which the model does not import", node.op_type, domain);
  }
  const onnx::OpSchema* schema = FindSchema(node.op_type, opset, node.domain);
  if (schema == nullptr) {
    if (!IsStandardDomain(node.domain)) return nullptr;
    Fail(ErrorCode::kInvalidGraph, "opset {} of domain {} has no operator '{}'", opset, domain, node.op_type);
  }
  node.since_version = schema->SinceVersion();
  if (schema->Deprecated()) {
    Fail(ErrorCode::kInvalidGraph, "operator {} of domain {} does not exist any more since opset {}; the model imports {}",
         node.op_type, domain, node.since_version, opset);
  }
  CheckInputs(proto, node, *schema);
  CheckAttributes(proto, *schema);
  return schema;
}

std::shared_ptr<Graph> GraphConversion::ConvertNested(const GraphProto& proto, Scope& scope) {
  auto nested = std::make_shared<Graph>(&scope.graph);
  Scope inner(*nested, &scope);
  ConvertGraph(proto, inner);
  return nested;
}

}  // namespace tessera
