#include "bindings/c/editor/write_graph.h"

#include <limits>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "bindings/c/editor/made_types.h"
#include "graph/microsoft/schemas.h"
#include "model/convert.h"
#include "model/proto.h"
#include "onnx/defs/schema.h"

namespace tessera::c_abi {
namespace {

/// Bytes from which on weights stay outside of the message, whose size is limited.
constexpr size_t kLeastOutside = 128;

void WriteWeight(const std::string& name, const MadeGraph::Weight& weight, onnx::TensorProto& proto,
                 WeightsInMemory& weights) {
  const Tensor& tensor = weight.value->tensor();
  if (tensor.byte_size() < kLeastOutside || !IsStoredRaw(tensor.type())) {
    proto = ToProto(tensor, name);
    return;
  }
  const auto kept = std::make_shared<const Tensor>(weight.is_external ? tensor : tensor.Clone());
  const std::span bytes(static_cast<const std::byte*>(kept->unaligned_raw()), kept->byte_size());
  proto = ToProto(*kept, name, WeightPlace{weights.Add(bytes, kept), 0, bytes.size()});
}

/// The name of Constant's attribute for a number, or numbers, of the type; null for others.
const char* ConstantName(onnx::AttributeProto::AttributeType type) {
  switch (type) {
    case onnx::AttributeProto::FLOAT: return "value_float";
    case onnx::AttributeProto::INT: return "value_int";
    case onnx::AttributeProto::STRING: return "value_string";
    case onnx::AttributeProto::FLOATS: return "value_floats";
    case onnx::AttributeProto::INTS: return "value_ints";
    case onnx::AttributeProto::STRINGS: return "value_strings";
    default: return nullptr;
  }
}

/// Clients cannot make tensors as attributes, and ONNX Runtime takes a number under the name of one.
void NameConstant(onnx::NodeProto& node) {
  if (node.op_type() != "Constant" || !node.domain().empty() || node.attribute_size() != 1) return;
  onnx::AttributeProto& attribute = *node.mutable_attribute(0);
  const char* name = attribute.name() == "value" ? ConstantName(attribute.type()) : nullptr;
  if (name != nullptr) attribute.set_name(name);
}

void WriteNode(const OrtNode& made, onnx::NodeProto& proto) {
  const Node& node = made.node;
  if (node.op_type.empty()) Fail(ErrorCode::kInvalidGraph, "node '{}' has no operator", node.name);
  proto.set_op_type(node.op_type);
  proto.set_domain(node.domain);
  proto.set_name(node.name);
  for (const std::string& name : made.input_names) proto.add_input(name);
  for (const std::string& name : made.output_names) proto.add_output(name);
  for (const Attribute& attribute : node.attributes) *proto.add_attribute() = ToProto(attribute);
  NameConstant(proto);
}

void WriteValues(const std::vector<Owned<OrtValueInfo>>& made,
                 google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values) {
  if (made.empty()) return;
  values.Clear();
  for (const auto& value : made) {
    onnx::ValueInfoProto& proto = *values.Add();
    proto.set_name(value->name);
    *proto.mutable_type() = ToProto(TypeOf(*value->type));
  }
}

/// The version of a domain that the model says nothing of.
int64_t NewestOf(const std::string& domain) {
  const auto& known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  const auto found = known.find(domain);
  if (found != known.end()) return found->second.second;
  if (domain != kMicrosoftDomain)
    Fail(ErrorCode::kInvalidGraph, "the model imports no version of domain '{}', which its nodes are of", domain);
  return 1;
}

}  // namespace

std::string WeightsInMemory::Add(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  std::string name = "//memory/" + std::to_string(files.size());
  files.emplace(name, bytes);
  if (owner != nullptr) owners.push_back(std::move(owner));
  return name;
}

void PointTo(const std::string& file, onnx::TensorProto& tensor) {
  tensor.clear_raw_data();
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  tensor.clear_external_data();
  onnx::StringStringEntryProto& entry = *tensor.add_external_data();
  entry.set_key("location");
  entry.set_value(file);
}

void WriteGraph(const MadeGraph& made, onnx::GraphProto& graph, WeightsInMemory& weights) {
  WriteValues(made.inputs, *graph.mutable_input());
  WriteValues(made.outputs, *graph.mutable_output());
  for (const auto& [name, weight] : made.weights) WriteWeight(name, weight, *graph.add_initializer(), weights);
  for (const auto& node : made.nodes) WriteNode(*node, *graph.add_node());
}

void ImportDomains(const MadeGraph& made, onnx::ModelProto& model) {
  std::unordered_set<std::string> known;
  for (const onnx::OperatorSetIdProto& import : model.opset_import()) known.insert(NormalDomain(import.domain()));
  for (const auto& node : made.nodes) {
    const std::string& domain = node->node.domain;
    if (!known.insert(domain).second) continue;
    onnx::OperatorSetIdProto& import = *model.add_opset_import();
    import.set_domain(domain);
    import.set_version(NewestOf(domain));
  }
}

void CheckValues(const onnx::GraphProto& graph) {
  std::unordered_set<std::string_view> made, given;
  for (const auto& input : graph.input()) {
    if (!made.insert(input.name()).second) Fail(ErrorCode::kInvalidGraph, "two inputs are called '{}'", input.name());
  }
  for (const auto& weight : graph.initializer()) given.insert(weight.name());
  for (const auto& weight : graph.sparse_initializer()) given.insert(weight.values().name());
  for (const auto& node : graph.node()) {
    for (const std::string& output : node.output()) {
      if (output.empty() || (!given.contains(output) && made.insert(output).second)) continue;
      Fail(ErrorCode::kInvalidGraph, "value '{}' is there before {} '{}' makes it; call one of them otherwise", output,
           node.op_type(), node.name());
    }
  }
  for (const auto& node : graph.node()) {
    for (const std::string& input : node.input()) {
      Require(input.empty() || made.contains(input) || given.contains(input),
              "{} '{}' reads '{}', which is no input, no weight and no output of a node", node.op_type(), node.name(),
              input);
    }
  }
}

}  // namespace tessera::c_abi
