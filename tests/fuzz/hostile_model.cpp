#include "hostile_model.h"

#include <limits>

#include "model/proto.h"

namespace tessera::fuzz {
namespace {

void DropShape(onnx::TypeProto& type) {
  if (type.has_tensor_type()) type.mutable_tensor_type()->clear_shape();
  if (type.has_sparse_tensor_type()) type.mutable_sparse_tensor_type()->clear_shape();
  if (type.has_sequence_type()) DropShape(*type.mutable_sequence_type()->mutable_elem_type());
  if (type.has_optional_type()) DropShape(*type.mutable_optional_type()->mutable_elem_type());
  if (type.has_map_type()) DropShape(*type.mutable_map_type()->mutable_value_type());
}

float HostileFloat(Random& random) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float numbers[] = {0.F,
                               -0.F,
                               1.F,
                               -1.F,
                               0.5F,
                               1e-30F,
                               -1e-30F,
                               1e30F,
                               -1e30F,
                               3e9F,
                               kInfinity,
                               -kInfinity,
                               std::numeric_limits<float>::quiet_NaN()};
  return numbers[Below(random, std::size(numbers))];
}

void DamageAttribute(onnx::AttributeProto& attribute, Random& random);

void DamageGraph(onnx::GraphProto& graph, Random& random) {
  if (graph.node_size() == 0) return;
  onnx::NodeProto& node = *graph.mutable_node(static_cast<int>(Below(random, static_cast<size_t>(graph.node_size()))));
  const int attributes = node.attribute_size();
  switch (random() % 8) {
    case 0:
      if (attributes > 0)
        node.mutable_attribute()->DeleteSubrange(static_cast<int>(Below(random, static_cast<size_t>(attributes))), 1);
      break;
    case 1:
      if (node.input_size() > 0)
        *node.mutable_input(static_cast<int>(Below(random, static_cast<size_t>(node.input_size())))) = "";
      break;
    case 2:  // two inputs become one value, or one more is read
      if (node.input_size() > 0) {
        const std::string name = node.input(static_cast<int>(Below(random, static_cast<size_t>(node.input_size()))));
        if (OneIn(random, 2)) {
          node.add_input(name);
        } else {
          *node.mutable_input(static_cast<int>(Below(random, static_cast<size_t>(node.input_size())))) = name;
        }
      }
      break;
    default:
      if (attributes > 0)
        DamageAttribute(*node.mutable_attribute(static_cast<int>(Below(random, static_cast<size_t>(attributes)))), random);
  }
}

void DamageAttribute(onnx::AttributeProto& attribute, Random& random) {
  const auto size = static_cast<size_t>(attribute.ints_size());
  switch (attribute.type()) {
    case onnx::AttributeProto::INT: attribute.set_i(HostileInteger(random)); break;
    case onnx::AttributeProto::FLOAT: attribute.set_f(HostileFloat(random)); break;
    case onnx::AttributeProto::STRING: {
      static const std::string strings[] = {
          "",        "x",          "\xff",      "SAME_UPPER", "SAME_LOWER", "VALID", "linear",        "cubic",
          "nearest", "reflect",    "wrap",      "sum",        "none",       "max",   "bidirectional", "reverse",
          "i->j",    "...i->i...", "ii,jj->ij", "i",          "->"};
      attribute.set_s(strings[Below(random, std::size(strings))]);
      break;
    }
    case onnx::AttributeProto::INTS:
      switch (random() % 5) {
        case 0: attribute.clear_ints(); break;
        case 1: attribute.add_ints(HostileInteger(random)); break;
        case 2:
          if (size > 0) attribute.mutable_ints()->RemoveLast();
          break;
        default:
          if (size > 0) attribute.set_ints(static_cast<int>(Below(random, size)), HostileInteger(random));
      }
      break;
    case onnx::AttributeProto::FLOATS:
      if (OneIn(random, 3)) {
        attribute.add_floats(HostileFloat(random));
      } else if (attribute.floats_size() > 0 && OneIn(random, 2)) {
        attribute.mutable_floats()->RemoveLast();
      } else if (attribute.floats_size() > 0) {
        attribute.set_floats(static_cast<int>(Below(random, static_cast<size_t>(attribute.floats_size()))),
                             HostileFloat(random));
      }
      break;
    case onnx::AttributeProto::STRINGS:
      if (attribute.strings_size() > 0 && OneIn(random, 2)) {
        attribute.mutable_strings()->RemoveLast();
      } else {
        attribute.add_strings(std::string(Below(random, 2), 'x'));
      }
      break;
    case onnx::AttributeProto::TENSOR:
      try {
        *attribute.mutable_t() = ToProto(Damage(FromProto(attribute.t()), random).tensor(), attribute.t().name());
      } catch (const Error&) {  // stays as it is
      }
      break;
    case onnx::AttributeProto::GRAPH: DamageGraph(*attribute.mutable_g(), random); break;
    default: break;
  }
}

}  // namespace

void DropShapes(onnx::ModelProto& model) {
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.clear_value_info();
  for (auto& input : *graph.mutable_input()) DropShape(*input.mutable_type());
  for (auto& output : *graph.mutable_output()) DropShape(*output.mutable_type());
}

void DeclareShapes(onnx::ModelProto& model, std::span<const Value> inputs) {
  for (size_t i = 0; i < inputs.size() && i < static_cast<size_t>(model.graph().input_size()); ++i) {
    onnx::TypeProto& type = *model.mutable_graph()->mutable_input(static_cast<int>(i))->mutable_type();
    const Tensor* tensor = inputs[i].tensor_if();
    if (tensor == nullptr || !type.has_tensor_type()) continue;
    onnx::TensorShapeProto& shape = *type.mutable_tensor_type()->mutable_shape();
    for (const int64_t dim : tensor->shape()) shape.add_dim()->set_dim_value(dim);
  }
}

void DeclareUnchecked(onnx::ModelProto& model, std::vector<Value>& inputs, Random& random) {
  onnx::GraphProto& graph = *model.mutable_graph();
  google::protobuf::RepeatedPtrField<onnx::NodeProto> reshapes;
  const size_t given = std::min(inputs.size(), static_cast<size_t>(graph.input_size()));
  for (size_t i = 0; i < given; ++i) {
    const Tensor* tensor = inputs[i].tensor_if();
    onnx::ValueInfoProto& input = *graph.mutable_input(static_cast<int>(i));
    if (tensor == nullptr || !input.type().has_tensor_type()) continue;
    onnx::ValueInfoProto& declared = *graph.add_value_info();
    declared = input;
    for (auto& dim : *declared.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      if (OneIn(random, 2)) dim.clear_value();
    }
    input.set_name(input.name() + ".given");
    DropShape(*input.mutable_type());
    onnx::ValueInfoProto& shape = *graph.add_input();
    shape.set_name(declared.name() + ".shape");
    shape.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
    onnx::NodeProto& reshape = *reshapes.Add();
    reshape.set_op_type("Reshape");
    reshape.add_input(graph.input(static_cast<int>(i)).name());
    reshape.add_input(shape.name());
    reshape.add_output(declared.name());
    const std::vector<int64_t> dims(tensor->shape().begin(), tensor->shape().end());
    inputs.push_back(Tensor::Of<int64_t>({static_cast<int64_t>(dims.size())}, dims));
  }
  for (auto& node : *graph.mutable_node()) *reshapes.Add() = std::move(node);
  graph.mutable_node()->Swap(&reshapes);
}

void LeaveTypesOpen(onnx::ModelProto& model, Random& random) {
  onnx::GraphProto& graph = *model.mutable_graph();
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  for (auto& input : *graph.mutable_input()) {
    if (OneIn(random, 3)) continue;
    onnx::NodeProto& open = *nodes.Add();
    open.set_op_type("Untyped");
    open.set_domain("toy");
    open.add_input(input.name() + ".given");
    open.add_output(input.name());
    if (OneIn(random, 4)) *graph.add_value_info() = input;
    input.set_name(input.name() + ".given");
  }
  for (auto& node : *graph.mutable_node()) *nodes.Add() = std::move(node);
  graph.mutable_node()->Swap(&nodes);
  for (auto& output : *graph.mutable_output()) {
    onnx::TypeProto& type = *output.mutable_type();
    if (OneIn(random, 3)) {
      output.clear_type();
    } else if (type.has_tensor_type() && OneIn(random, 3)) {
      type.mutable_tensor_type()->set_elem_type(static_cast<int>(1 + Below(random, kElementTypeCount - 1)));
    }
  }
  onnx::OperatorSetIdProto& import = *model.add_opset_import();
  import.set_domain("toy");
  import.set_version(1);
}

void MakeConstant(onnx::ModelProto& model, const std::string& name, const Tensor& tensor) {
  onnx::GraphProto& graph = *model.mutable_graph();
  for (int i = 0; i < graph.input_size(); ++i) {
    if (graph.input(i).name() == name) {
      graph.mutable_input()->DeleteSubrange(i, 1);
      break;
    }
  }
  *graph.add_initializer() = ToProto(tensor, name);
}

void DamageNode(onnx::ModelProto& model, Random& random) { DamageGraph(*model.mutable_graph(), random); }

ElementType ChangeInputType(onnx::ModelProto& model, size_t input, Random& random) {
  if (input >= static_cast<size_t>(model.graph().input_size())) return ElementType::kUndefined;
  onnx::TypeProto& type = *model.mutable_graph()->mutable_input(static_cast<int>(input))->mutable_type();
  if (!type.has_tensor_type()) return ElementType::kUndefined;
  const auto element = static_cast<int>(1 + Below(random, kElementTypeCount - 1));
  type.mutable_tensor_type()->set_elem_type(element);
  // What the node makes of it is for inference to say.
  for (auto& output : *model.mutable_graph()->mutable_output()) output.clear_type();
  return static_cast<ElementType>(element);
}

}  // namespace tessera::fuzz
