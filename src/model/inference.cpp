#include "model/inference.h"

#include <deque>
#include <map>
#include <unordered_map>

#include "base/check.h"
#include "model/functions.h"
#include "onnx/defs/schema.h"
#include "onnx/shape_inference/implementation.h"

namespace tessera {
namespace {

using onnx::GraphProto;
using onnx::NodeProto;
using onnx::TypeProto;

using Imports = std::map<std::string, int, std::less<>>;
using TypesByName = std::unordered_map<std::string, TypeProto*>;
using TensorsByName = std::unordered_map<std::string, const onnx::TensorProto*>;

std::string Domain(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }

Imports ImportsOf(const onnx::ModelProto& model) {
  Imports imports;
  for (const auto& import : model.opset_import()) imports[Domain(import.domain())] = static_cast<int>(import.version());
  return imports;
}

const onnx::OpSchema* SchemaOf(const NodeProto& node, const Imports& imports) {
  return onnx::OpSchemaRegistry::Schema(node.op_type(), NodeOpset(node, imports), Domain(node.domain()));
}

bool IsUnknown(const TypeProto& type) { return type.value_case() == TypeProto::VALUE_NOT_SET; }

/// One model's inference: what is known of every name. ONNX's names are unique in a graph and what it encloses.
class Inference {
 public:
  explicit Inference(const onnx::ModelProto& model) : imports_(ImportsOf(model)), overridable_(model.ir_version() >= 4) {}

  void Infer(GraphProto& graph) {
    for (auto& input : *graph.mutable_input()) Declare(input.name(), input.type());
    for (auto& info : *graph.mutable_value_info()) Declare(info.name(), info.type());
    for (auto& output : *graph.mutable_output()) Declare(output.name(), output.type());
    for (const auto& tensor : graph.initializer()) {
      TypeProto type;
      type.mutable_tensor_type()->set_elem_type(tensor.data_type());
      for (int64_t dim : tensor.dims()) type.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(dim);
      // An input's declared type stands, so that overriding it with other sizes stays possible.
      if (IsUnknown(Type(tensor.name()))) Declare(tensor.name(), type);
      if (!type.tensor_type().has_shape()) Type(tensor.name()).mutable_tensor_type()->mutable_shape();
      if (!overridable_ || !IsInput(graph, tensor.name())) data_[tensor.name()] = &tensor;
    }
    for (NodeProto& node : *graph.mutable_node()) InferNode(node);
    Store(graph);
  }

  /// Of a nested graph whose inputs have these types (null: unknown); the types of its outputs.
  std::vector<const TypeProto*> InferNested(GraphProto& graph, const std::vector<const TypeProto*>& inputs) {
    for (int i = 0; i < graph.input_size() && static_cast<size_t>(i) < inputs.size(); ++i) {
      if (inputs[static_cast<size_t>(i)] == nullptr || IsUnknown(*inputs[static_cast<size_t>(i)])) continue;
      Merge(*inputs[static_cast<size_t>(i)], *graph.mutable_input(i)->mutable_type());
    }
    Infer(graph);
    std::vector<const TypeProto*> outputs;
    for (const auto& output : graph.output()) outputs.push_back(&Type(output.name()));
    return outputs;
  }

 private:
  /// Gives schemas our inference for nested graphs.
  class NestedInferencer final : public onnx::GraphInferencer {
   public:
    NestedInferencer(Inference& inference, GraphProto& graph) : inference_(inference), graph_(graph) {}
    std::vector<const TypeProto*> doInferencing(const std::vector<const TypeProto*>& inputs, const std::vector<const onnx::TensorProto*>&) override {
      return inference_.InferNested(graph_, inputs);
    }

   private:
    Inference& inference_;
    GraphProto& graph_;
  };

  struct Context final : onnx::shape_inference::InferenceContextImpl {
    Context(Inference& owner, NodeProto& node, const onnx::ShapeInferenceOptions& options)
        : InferenceContextImpl(node, owner.types_, owner.data_, {}, options, &owner.shape_data_), inference(owner) {}

    onnx::GraphInferencer* getGraphAttributeInferencer(const std::string& name) override {
      const auto found = graphProtoAttributesByName_.find(name);
      if (found == graphProtoAttributesByName_.end()) return nullptr;
      return &nested.try_emplace(name, inference, *found->second).first->second;
    }

    Inference& inference;
    std::map<std::string, NestedInferencer> nested;
  };

  static bool IsInput(const GraphProto& graph, const std::string& name) {
    for (const auto& input : graph.input()) {
      if (input.name() == name) return true;
    }
    return false;
  }

  /// The type held for a name; unknown names get one that says so, because inference functions read through pointers.
  TypeProto& Type(const std::string& name) {
    TypeProto*& type = types_[name];
    if (type == nullptr) type = &held_.emplace_back();
    return *type;
  }

  void Declare(const std::string& name, const TypeProto& type) {
    if (!name.empty() && !IsUnknown(type)) Type(name) = type;
  }

  /// What is inferred wins over what was declared; dimensions known to either side stay known.
  static void Merge(const TypeProto& inferred, TypeProto& declared) {
    if (IsUnknown(declared) || inferred.value_case() != declared.value_case()) {
      declared = inferred;
      return;
    }
    try {
      onnx::shape_inference::checkShapesAndTypes(inferred, declared);
      TypeProto merged = inferred;
      onnx::shape_inference::mergeShapesAndTypes(declared, &merged);
      declared = merged;
    } catch (const std::exception&) {
      declared = inferred;
    }
  }

  void InferNode(NodeProto& node) {
    for (const std::string& input : node.input()) {
      if (!input.empty()) Type(input);
    }
    if (node.op_type() == "Constant" && Domain(node.domain()).empty() && node.output_size() == 1) {
      for (const auto& attribute : node.attribute()) {
        if (attribute.name() == "value") data_[node.output(0)] = &attribute.t();
      }
    }
    const onnx::OpSchema* schema = SchemaOf(node, imports_);
    const onnx::ShapeInferenceOptions options(false, 0, true);
    if (schema == nullptr || !schema->has_type_and_shape_inference_function()) return InferChildren(node);
    Context context(*this, node, options);
    try {
      schema->GetTypeAndShapeInferenceFunction()(context);
    } catch (const std::exception&) {
      // What was inferred before the failure still holds.
    }
    for (int i = 0; i < node.output_size(); ++i) {
      const TypeProto& inferred = context.allOutputTypes_[static_cast<size_t>(i)];
      if (node.output(i).empty() || IsUnknown(inferred)) continue;
      if (inferred.has_tensor_type() && inferred.tensor_type().elem_type() == onnx::TensorProto::UNDEFINED) continue;
      Merge(inferred, Type(node.output(i)));
    }
    PropagateData(node, *schema);
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g() && !context.nested.contains(attribute.name())) Infer(*attribute.mutable_g());
    }
  }

  /// Nested graphs of operators that nobody knows are inferred on their own.
  void InferChildren(NodeProto& node) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) Infer(*attribute.mutable_g());
    }
  }

  /// Follows shape arithmetic: what Shape, Gather, Concat... compute of shapes that are known.
  void PropagateData(NodeProto& node, const onnx::OpSchema& schema) {
    if (!schema.has_data_propagation_function()) return;
    try {
      onnx::shape_inference::DataPropagationContextImpl context(node, types_, data_, shape_data_);
      schema.GetDataPropagationFunction()(context);
    } catch (const std::exception&) {
      // Values stay unknown.
    }
  }

  void Store(GraphProto& graph) {
    std::unordered_map<std::string, int> stored;
    for (const auto& output : graph.output()) stored[output.name()];
    for (auto& output : *graph.mutable_output()) {
      if (!IsUnknown(Type(output.name()))) *output.mutable_type() = Type(output.name());
    }
    for (auto& info : *graph.mutable_value_info()) {
      *info.mutable_type() = Type(info.name());
      stored[info.name()];
    }
    for (const NodeProto& node : graph.node()) {
      for (const std::string& output : node.output()) {
        if (output.empty() || IsUnknown(Type(output)) || !stored.try_emplace(output).second) continue;
        auto& info = *graph.add_value_info();
        info.set_name(output);
        *info.mutable_type() = Type(output);
      }
    }
  }

  Imports imports_;
  bool overridable_;  // may callers replace initializers that are inputs too (IR version 4 and later)?
  std::deque<TypeProto> held_;
  TypesByName types_;
  TensorsByName data_;
  onnx::shape_inference::DataValueMap shape_data_;
};

void CheckNode(const NodeProto& node, const onnx::OpSchema& schema) {
  try {
    schema.Verify(node);
  } catch (const std::exception& error) {
    Fail(ErrorCode::kInvalidGraph, "{} '{}': {}", node.op_type(), node.name(), error.what());
  }
  for (size_t i = 0; i < schema.inputs().size(); ++i) {
    const bool given = i < static_cast<size_t>(node.input_size()) && !node.input(static_cast<int>(i)).empty();
    if (schema.inputs()[i].GetOption() == onnx::OpSchema::Single && !given) {
      Fail(ErrorCode::kInvalidGraph, "{} '{}': input {} ('{}') is required", node.op_type(), node.name(), i, schema.inputs()[i].GetName());
    }
  }
}

void CheckGraph(const GraphProto& graph, const Imports& imports) {
  for (const NodeProto& node : graph.node()) {
    if (const onnx::OpSchema* schema = SchemaOf(node, imports)) CheckNode(node, *schema);
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) CheckGraph(attribute.g(), imports);
      for (const GraphProto& nested : attribute.graphs()) CheckGraph(nested, imports);
    }
  }
}

}  // namespace

void CheckNodes(const onnx::ModelProto& model) { CheckGraph(model.graph(), ImportsOf(model)); }

void InferTypes(onnx::ModelProto& model) { Inference(model).Infer(*model.mutable_graph()); }

}  // namespace tessera
