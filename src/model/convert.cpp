#include "model/convert.h"

#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "model/functions.h"
#include "onnx/defs/schema.h"

namespace tessera {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::NodeProto;

std::string Domain(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }

std::string Label(const NodeProto& node) {
  const std::string type = node.domain().empty() ? node.op_type() : node.domain() + "." + node.op_type();
  if (!node.name().empty()) return fmt::format("{} '{}'", type, node.name());
  return fmt::format("{} -> '{}'", type, node.output_size() > 0 ? node.output(0) : std::string());
}

/// Domains whose operators ONNX itself defines: an operator that is not among them does not exist.
bool IsStandardDomain(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx.ml" || domain == "ai.onnx.training" || domain == "ai.onnx.preview" ||
         domain == "ai.onnx.preview.training";
}

template <class T, class Field>
std::vector<T> ToVector(const Field& field) {
  return std::vector<T>(field.begin(), field.end());
}

class GraphConversion {
 public:
  GraphConversion(const onnx::ModelProto& model, const TensorDataSource& source)
      : source_(source), initializers_are_constant_(model.ir_version() < 4) {
    for (const auto& import : model.opset_import()) {
      imports_[Domain(import.domain())] = static_cast<int>(import.version());
    }
  }

  const std::map<std::string, int, std::less<>>& imports() const { return imports_; }

  void Convert(const GraphProto& proto, Graph& graph) {
    graph.set_name(proto.name());
    std::unordered_map<std::string, const onnx::TypeProto*> types;
    for (const auto& info : proto.value_info()) types[info.name()] = &info.type();
    for (const auto& info : proto.output()) types[info.name()] = &info.type();
    AddInputsAndInitializers(proto, graph);
    for (const NodeProto& node : proto.node()) AddOutputs(node, graph, types);
    for (const NodeProto& node : proto.node()) {
      if (!IsConstantNode(node)) AddNode(node, graph);
    }
    for (const auto& output : proto.output()) {
      const ValueIndex index = Resolve(output.name(), graph);
      if (index == kNone) Fail(ErrorCode::kInvalidGraph, "output '{}' of graph '{}' is never computed", output.name(), proto.name());
      graph.AddOutput(index);
      TypeInfo& type = graph.value(index).type;
      if (type.kind == ValueKind::kNone) type = FromProto(output.type());
    }
    graph.TopologicalOrder();  // finds cycles now
  }

 private:
  static bool IsConstantNode(const NodeProto& node) { return node.op_type() == "Constant" && Domain(node.domain()).empty(); }

  void AddInputsAndInitializers(const GraphProto& proto, Graph& graph) {
    std::unordered_map<std::string, Tensor> initializers;
    const auto add = [&](const std::string& name, Tensor tensor) {
      if (name.empty()) Fail(ErrorCode::kInvalidGraph, "graph '{}' has an initializer without a name", proto.name());
      if (!initializers.emplace(name, std::move(tensor)).second) {
        Fail(ErrorCode::kInvalidGraph, "initializer '{}' is defined twice in graph '{}'", name, proto.name());
      }
    };
    for (const auto& tensor : proto.initializer()) add(tensor.name(), FromProto(tensor, source_));
    for (const auto& tensor : proto.sparse_initializer()) add(tensor.values().name(), FromProto(tensor, source_).ToDense());

    for (const auto& input : proto.input()) {
      if (input.name().empty()) Fail(ErrorCode::kInvalidGraph, "graph '{}' has an input without a name", proto.name());
      const auto initializer = initializers.find(input.name());
      if (initializer != initializers.end() && initializers_are_constant_) continue;
      const ValueIndex index = graph.AddValue(input.name(), FromProto(input.type()));
      graph.AddInput(index);
      if (initializer != initializers.end()) {
        graph.value(index).default_value = std::move(initializer->second);
        initializers.erase(initializer);
      }
    }
    for (const auto& tensor : proto.initializer()) AddInitializer(tensor.name(), initializers, graph);
    for (const auto& tensor : proto.sparse_initializer()) AddInitializer(tensor.values().name(), initializers, graph);
  }

  static void AddInitializer(const std::string& name, std::unordered_map<std::string, Tensor>& initializers, Graph& graph) {
    const auto found = initializers.find(name);
    if (found != initializers.end()) graph.AddConstant(name, std::move(found->second));
  }

  void AddOutputs(const NodeProto& node, Graph& graph, const std::unordered_map<std::string, const onnx::TypeProto*>& types) {
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      const auto type = types.find(output);
      try {
        const ValueIndex index = graph.AddValue(output, type == types.end() ? TypeInfo() : FromProto(*type->second));
        if (IsConstantNode(node)) graph.SetConstant(index, ConstantOf(node));
      } catch (const Error& error) {
        throw error.At(Label(node));
      }
    }
  }

  Tensor ConstantOf(const NodeProto& node) const {
    if (node.attribute_size() != 1) Fail(ErrorCode::kInvalidGraph, "a Constant has one attribute, not {}", node.attribute_size());
    const AttributeProto& attribute = node.attribute(0);
    const std::string& name = attribute.name();
    if (name == "value") return FromProto(attribute.t(), source_);
    if (name == "sparse_value") return FromProto(attribute.sparse_tensor(), source_).ToDense();
    if (name == "value_float") return Tensor::Of<float>({}, std::array{attribute.f()});
    if (name == "value_int") return Tensor::Of<int64_t>({}, std::array{attribute.i()});
    if (name == "value_string") return Tensor::Of<std::string>({}, std::array{attribute.s()});
    const auto list = [&](const auto& field, auto zero) {
      const auto values = ToVector<decltype(zero)>(field);
      return Tensor::Of<decltype(zero)>(Shape{static_cast<int64_t>(values.size())}, std::span<const decltype(zero)>(values));
    };
    if (name == "value_floats") return list(attribute.floats(), float{});
    if (name == "value_ints") return list(attribute.ints(), int64_t{});
    if (name == "value_strings") return list(attribute.strings(), std::string{});
    Fail(ErrorCode::kInvalidGraph, "a Constant has no attribute '{}'", name);
  }

  /// The value that `name` means inside `graph`: its own, or one of an enclosing graph, captured; kNone when there is none.
  ValueIndex Resolve(const std::string& name, Graph& graph) {
    const ValueIndex own = graph.FindValue(name);
    if (own != kNone || graph.parent() == nullptr) return own;
    const ValueIndex outer = Resolve(name, *graph.parent());
    return outer == kNone ? kNone : graph.Capture(outer);
  }

  void AddNode(const NodeProto& proto, Graph& graph) {
    try {
      Node node;
      node.name = proto.name();
      node.domain = Domain(proto.domain());
      node.op_type = proto.op_type();
      node.overload = proto.overload();
      for (const std::string& input : proto.input()) {
        ValueIndex index = kNone;
        if (!input.empty()) {
          index = Resolve(input, graph);
          if (index == kNone) Fail(ErrorCode::kInvalidGraph, "input '{}' is not defined in graph '{}'", input, graph.name());
        }
        node.inputs.push_back(index);
      }
      // Trailing omitted inputs say nothing.
      while (!node.inputs.empty() && node.inputs.back() == kNone) node.inputs.pop_back();
      for (const std::string& output : proto.output()) node.outputs.push_back(output.empty() ? kNone : graph.FindValue(output));
      CheckAgainstSchema(proto, node);
      for (const AttributeProto& attribute : proto.attribute()) {
        node.attributes.push_back({attribute.name(), ConvertAttribute(attribute, graph)});
      }
      std::unordered_set<ValueIndex> captured;
      for (const Attribute& attribute : node.attributes) {
        const auto* nested = std::get_if<std::shared_ptr<Graph>>(&attribute.value);
        if (nested == nullptr) continue;
        for (size_t i = 0; i < (*nested)->num_values(); ++i) {
          const ValueIndex outer = (*nested)->value(static_cast<ValueIndex>(i)).outer;
          if (outer != kNone && captured.insert(outer).second) node.implicit_inputs.push_back(outer);
        }
      }
      graph.AddNode(std::move(node));
    } catch (const Error& error) {
      throw error.At(Label(proto));
    }
  }

  void CheckAgainstSchema(const NodeProto& proto, Node& node) const {
    const int opset = NodeOpset(proto, imports_);
    if (opset == 0 && IsStandardDomain(node.domain)) {
      Fail(ErrorCode::kInvalidGraph, "the model does not import the operator's domain '{}'",
           node.domain.empty() ? "ai.onnx" : node.domain);
    }
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type, opset, node.domain);
    if (schema == nullptr) {
      // Early exporters wrote experimental operators into ai.onnx; a provider may still know them.
      node.since_version = opset;
      return;
    }
    node.since_version = schema->SinceVersion();
    const auto count_inputs = static_cast<int>(node.inputs.size());
    if (count_inputs > schema->max_input() || proto.input_size() < schema->min_input()) {
      Fail(ErrorCode::kInvalidGraph, "it has {} inputs; {} of version {} takes {} to {}", proto.input_size(), node.op_type,
           node.since_version, schema->min_input(), schema->max_input());
    }
    const auto count_outputs = static_cast<int>(node.outputs.size());
    if (count_outputs > schema->max_output() || count_outputs < schema->min_output()) {
      Fail(ErrorCode::kInvalidGraph, "it has {} outputs; {} of version {} gives {} to {}", count_outputs, node.op_type,
           node.since_version, schema->min_output(), schema->max_output());
    }
    for (size_t i = 0; i < schema->inputs().size(); ++i) {
      if (schema->inputs()[i].GetOption() == onnx::OpSchema::Single && (i >= node.inputs.size() || node.inputs[i] == kNone)) {
        Fail(ErrorCode::kInvalidGraph, "input {} ('{}') is required", i, schema->inputs()[i].GetName());
      }
    }
    CheckAttributes(proto, *schema);
  }

  static void CheckAttributes(const NodeProto& proto, const onnx::OpSchema& schema) {
    std::unordered_set<std::string> seen;
    for (const AttributeProto& attribute : proto.attribute()) {
      if (!seen.insert(attribute.name()).second) Fail(ErrorCode::kInvalidGraph, "attribute '{}' is given twice", attribute.name());
      const auto found = schema.attributes().find(attribute.name());
      if (found == schema.attributes().end() || attribute.type() == AttributeProto::UNDEFINED) continue;
      if (found->second.type != attribute.type()) {
        Fail(ErrorCode::kInvalidGraph, "attribute '{}' is {}; the operator expects {}", attribute.name(),
             AttributeProto::AttributeType_Name(attribute.type()), AttributeProto::AttributeType_Name(found->second.type));
      }
    }
    for (const auto& [name, attribute] : schema.attributes()) {
      if (attribute.required && !seen.contains(name)) Fail(ErrorCode::kInvalidGraph, "attribute '{}' is required", name);
    }
  }

  AttributeValue ConvertAttribute(const AttributeProto& attribute, Graph& graph) {
    if (!attribute.ref_attr_name().empty()) {
      Fail(ErrorCode::kInvalidGraph, "attribute '{}' refers to '{}' outside a function", attribute.name(), attribute.ref_attr_name());
    }
    switch (TypeOf(attribute)) {
      case AttributeProto::FLOAT:
        return attribute.f();
      case AttributeProto::INT:
        return attribute.i();
      case AttributeProto::STRING:
        return attribute.s();
      case AttributeProto::TENSOR:
        return FromProto(attribute.t(), source_);
      case AttributeProto::SPARSE_TENSOR:
        return FromProto(attribute.sparse_tensor(), source_);
      case AttributeProto::TYPE_PROTO:
        return FromProto(attribute.tp());
      case AttributeProto::GRAPH: {
        auto nested = std::make_shared<Graph>(&graph);
        Convert(attribute.g(), *nested);
        return nested;
      }
      case AttributeProto::FLOATS:
        return ToVector<float>(attribute.floats());
      case AttributeProto::INTS:
        return ToVector<int64_t>(attribute.ints());
      case AttributeProto::STRINGS:
        return ToVector<std::string>(attribute.strings());
      case AttributeProto::TENSORS: {
        std::vector<Tensor> tensors;
        for (const auto& tensor : attribute.tensors()) tensors.push_back(FromProto(tensor, source_));
        return tensors;
      }
      case AttributeProto::TYPE_PROTOS: {
        std::vector<TypeInfo> types;
        for (const auto& type : attribute.type_protos()) types.push_back(FromProto(type));
        return types;
      }
      default:
        Fail(ErrorCode::kInvalidGraph, "attribute '{}' has no type that an operator of ONNX uses", attribute.name());
    }
  }

  /// IR versions before 3 did not write the type; it shows in the field that is set.
  static AttributeProto::AttributeType TypeOf(const AttributeProto& attribute) {
    if (attribute.type() != AttributeProto::UNDEFINED) return attribute.type();
    if (attribute.has_f()) return AttributeProto::FLOAT;
    if (attribute.has_i()) return AttributeProto::INT;
    if (attribute.has_s()) return AttributeProto::STRING;
    if (attribute.has_t()) return AttributeProto::TENSOR;
    if (attribute.has_g()) return AttributeProto::GRAPH;
    if (attribute.floats_size() > 0) return AttributeProto::FLOATS;
    if (attribute.ints_size() > 0) return AttributeProto::INTS;
    if (attribute.strings_size() > 0) return AttributeProto::STRINGS;
    return AttributeProto::UNDEFINED;
  }

  const TensorDataSource& source_;
  bool initializers_are_constant_;
  std::map<std::string, int, std::less<>> imports_;
};

}  // namespace

std::unique_ptr<Graph> ConvertModel(const onnx::ModelProto& model, const TensorDataSource& source) {
  GraphConversion conversion(model, source);
  auto graph = std::make_unique<Graph>();
  graph->set_opsets(conversion.imports());
  conversion.Convert(model.graph(), *graph);
  return graph;
}

}  // namespace tessera
