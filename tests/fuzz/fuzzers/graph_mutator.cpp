#include "graph_mutator.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "../hostile_model.h"
#include "model/proto.h"
#include "vocabulary.h"

namespace tessera::fuzz {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

template <class Repeated>
auto* Any(Repeated& entries, Random& random) {
  return entries.empty() ? nullptr : entries.Mutable(static_cast<int>(Below(random, static_cast<size_t>(entries.size()))));
}

template <class Repeated>
void RemoveAny(Repeated& entries, Random& random) {
  if (!entries.empty()) entries.DeleteSubrange(static_cast<int>(Below(random, static_cast<size_t>(entries.size()))), 1);
}

template <class Repeated>
void SwapAny(Repeated& entries, Random& random) {
  if (entries.size() < 2) return;
  const auto any = [&] { return static_cast<int>(Below(random, static_cast<size_t>(entries.size()))); };
  entries.SwapElements(any(), any());
}

void CollectGraphs(onnx::GraphProto& graph, std::vector<onnx::GraphProto*>& graphs) {
  graphs.push_back(&graph);
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) CollectGraphs(*attribute.mutable_g(), graphs);
    }
  }
}

/// A graph of the model, where there are several most likely not the main one, and the nodes of it or of a function.
struct Place {
  onnx::ModelProto& model;
  onnx::GraphProto& graph;
  Nodes& nodes;
};

Place AnyPlace(onnx::ModelProto& model, Random& random) {
  std::vector<onnx::GraphProto*> graphs;
  CollectGraphs(*model.mutable_graph(), graphs);
  onnx::GraphProto& graph = *graphs[Below(random, graphs.size())];
  Nodes* nodes = graph.mutable_node();
  if (model.functions_size() > 0 && OneIn(random, 3)) nodes = Any(*model.mutable_functions(), random)->mutable_node();
  return {model, graph, *nodes};
}

/// A name that is in scope more often than not.
std::string AnyName(const Place& place, Random& random) {
  std::vector<std::string> names = {"", "unknown"};
  for (const auto& node : place.nodes) names.insert(names.end(), node.output().begin(), node.output().end());
  for (const onnx::GraphProto* graph : {&std::as_const(place.graph), &place.model.graph()}) {
    for (const auto& input : graph->input()) names.push_back(input.name());
    for (const auto& constant : graph->initializer()) names.push_back(constant.name());
  }
  return names[Below(random, names.size())];
}

int AnyElementType(Random& random) {
  constexpr int common[] = {onnx::TensorProto::FLOAT, onnx::TensorProto::INT64,     onnx::TensorProto::STRING,
                            onnx::TensorProto::BOOL,  onnx::TensorProto::UNDEFINED, onnx::TensorProto::FLOAT16,
                            onnx::TensorProto::UINT8};
  return OneIn(random, 2) ? common[Below(random, std::size(common))]
                          : static_cast<int>(Below(random, kElementTypeCount + 1));
}

void MutateShape(onnx::TensorShapeProto& shape, Random& random) {
  onnx::TensorShapeProto::Dimension* dim = Any(*shape.mutable_dim(), random);
  switch (random() % 6) {
    case 0: return RemoveAny(*shape.mutable_dim(), random);
    case 1: return shape.add_dim()->set_dim_value(static_cast<int64_t>(Below(random, 6)));
    case 2: return SwapAny(*shape.mutable_dim(), random);
    case 3:
      if (dim != nullptr) dim->set_dim_param(OneIn(random, 2) ? "N" : "M");
      return;
    case 4:
      if (dim != nullptr) dim->clear_value();
      return;
    default:
      if (dim != nullptr)
        dim->set_dim_value(OneIn(random, 3) ? HostileInteger(random) : static_cast<int64_t>(Below(random, 9)));
  }
}

void MutateType(onnx::TypeProto& type, Random& random) {
  if (OneIn(random, 24)) return type.Clear();
  if (OneIn(random, 12)) {  // inside of something
    onnx::TypeProto inner = type;
    switch (random() % 3) {
      case 0: *type.mutable_sequence_type()->mutable_elem_type() = inner; return;
      case 1: *type.mutable_optional_type()->mutable_elem_type() = inner; return;
      default:
        type.mutable_map_type()->set_key_type(OneIn(random, 2) ? onnx::TensorProto::INT64 : onnx::TensorProto::STRING);
        *type.mutable_map_type()->mutable_value_type() = inner;
        return;
    }
  }
  if (type.has_sequence_type() && !OneIn(random, 4))
    return MutateType(*type.mutable_sequence_type()->mutable_elem_type(), random);
  if (type.has_optional_type() && !OneIn(random, 4))
    return MutateType(*type.mutable_optional_type()->mutable_elem_type(), random);
  if (type.has_map_type() && !OneIn(random, 4)) return MutateType(*type.mutable_map_type()->mutable_value_type(), random);
  auto& tensor = *type.mutable_tensor_type();
  if (OneIn(random, 3)) return tensor.set_elem_type(AnyElementType(random));
  if (OneIn(random, 4)) return tensor.clear_shape();
  MutateShape(*tensor.mutable_shape(), random);
}

// What follows is one kind of change each.

void ChangeOperator(const Place& place, Random& random) {
  onnx::NodeProto* node = Any(place.nodes, random);
  if (node == nullptr) return;
  const OperatorName& name = Operators()[Below(random, Operators().size())];
  node->set_domain(name.domain);
  node->set_op_type(name.op_type);
  if (std::ranges::none_of(place.model.opset_import(), [&](const auto& opset) { return opset.domain() == name.domain; })) {
    auto* opset = place.model.add_opset_import();
    opset->set_domain(name.domain);
    opset->set_version(std::max(name.version, 1));
  }
}

void ChangeAttributes(const Place& place, Random& random) {
  onnx::NodeProto* node = Any(place.nodes, random);
  if (node == nullptr) return;
  onnx::AttributeProto* attribute = Any(*node->mutable_attribute(), random);
  switch (random() % 5) {
    case 0: return RemoveAny(*node->mutable_attribute(), random);
    case 1:
      if (attribute != nullptr) attribute->set_type(static_cast<onnx::AttributeProto::AttributeType>(Below(random, 15)));
      return;
    case 2:
      if (attribute != nullptr) *node->add_attribute() = *attribute;
      return;
    default: {
      onnx::AttributeProto made = RandomAttribute({node->domain(), node->op_type(), 1}, random);
      const auto old = std::ranges::find(*node->mutable_attribute(), made.name(), [](const auto& a) { return a.name(); });
      *(old == node->mutable_attribute()->end() ? node->add_attribute() : &*old) = std::move(made);
    }
  }
}

void ChangeEdges(const Place& place, Random& random) {
  onnx::NodeProto* node = Any(place.nodes, random);
  if (node == nullptr) return;
  const std::string name = AnyName(place, random);
  switch (random() % 8) {
    case 0: return RemoveAny(*node->mutable_input(), random);
    case 1: return node->add_input(name);
    case 2: return SwapAny(*node->mutable_input(), random);
    case 3: return RemoveAny(*node->mutable_output(), random);
    case 4: return node->add_output(OneIn(random, 3) ? name : name + "'");
    case 5:
      if (std::string* output = Any(*node->mutable_output(), random)) *output = name;
      return;
    default:
      if (std::string* input = Any(*node->mutable_input(), random)) *input = name;
  }
}

void ChangeNodes(const Place& place, Random& random) {
  onnx::NodeProto* node = Any(place.nodes, random);
  if (node == nullptr) return;
  if (OneIn(random, 4)) return RemoveAny(place.nodes, random);
  if (OneIn(random, 4)) return SwapAny(place.nodes, random);
  // A node between this one and what it reads.
  std::string* const read = Any(*node->mutable_input(), random);
  if (read == nullptr) return;
  const std::string before = *read, between = before + "~";
  *read = between;
  onnx::NodeProto made;
  static const std::string plain[] = {"Identity",  "Neg",
                                      "Abs",       "Shape",
                                      "Transpose", "Relu",
                                      "Flatten",   "Not",
                                      "Unsqueeze", "Squeeze",
                                      "Cast",      "SequenceConstruct",
                                      "Optional",  "OptionalGetElement",
                                      "Reshape",   "StringNormalizer",
                                      "Size",      "NonZero"};
  made.set_op_type(plain[Below(random, std::size(plain))]);
  made.add_input(before);
  made.add_output(between);
  if (made.op_type() == "Cast") *made.add_attribute() = RandomAttribute({"", "Cast", 13}, random);
  if (made.op_type() == "Reshape") made.add_input(AnyName(place, random));
  *place.nodes.Add() = std::move(made);
  std::rotate(place.nodes.pointer_begin(), std::prev(place.nodes.pointer_end()), place.nodes.pointer_end());
}

void ChangeTypes(const Place& place, Random& random) {
  onnx::GraphProto& graph = place.graph;
  onnx::ValueInfoProto* value =
      OneIn(random, 3) ? Any(*graph.mutable_output(), random) : Any(*graph.mutable_input(), random);
  switch (random() % 8) {
    case 0: return graph.clear_value_info();
    case 1: return DropShapes(place.model);
    case 2:
      for (auto& output : *graph.mutable_output()) output.clear_type();
      return;
    case 3: {  // of a value inside, which inference would have to contradict
      onnx::ValueInfoProto& declared = *graph.add_value_info();
      if (value != nullptr) declared = *value;
      declared.set_name(AnyName(place, random));
      return MutateType(*declared.mutable_type(), random);
    }
    default:
      if (value != nullptr) MutateType(*value->mutable_type(), random);
  }
}

void ChangeSignature(const Place& place, Random& random) {
  onnx::GraphProto& graph = place.graph;
  switch (random() % 5) {
    case 0: return RemoveAny(*graph.mutable_input(), random);
    case 1: return RemoveAny(*graph.mutable_output(), random);
    case 2: return graph.add_output()->set_name(AnyName(place, random));
    case 3: {
      onnx::ValueInfoProto& input = *graph.add_input();
      input.set_name(AnyName(place, random));
      return MutateType(*input.mutable_type(), random);
    }
    default: return OneIn(random, 2) ? SwapAny(*graph.mutable_input(), random) : SwapAny(*graph.mutable_output(), random);
  }
}

void ChangeInitializers(const Place& place, Random& random) {
  onnx::GraphProto& graph = place.graph;
  onnx::TensorProto* constant = Any(*graph.mutable_initializer(), random);
  const onnx::ValueInfoProto* input = Any(*graph.mutable_input(), random);
  if (constant == nullptr || OneIn(random, 4)) {  // an input becomes one
    if (input == nullptr || !input->type().has_tensor_type()) return;
    const onnx::AttributeProto made = RandomAttribute({"", "Constant", 1}, random);
    onnx::TensorProto& added = *graph.add_initializer();
    if (made.has_t()) added = made.t();
    added.set_name(input->name());
    return;
  }
  std::string& raw = *constant->mutable_raw_data();
  switch (random() % 8) {
    case 0: return constant->set_data_type(AnyElementType(random));
    case 1: return constant->add_dims(static_cast<int64_t>(Below(random, 4)));
    case 2:
      if (constant->dims_size() > 0) constant->set_dims(0, HostileInteger(random));
      return;
    case 3:
      if (constant->dims_size() > 0) constant->mutable_dims()->RemoveLast();
      return;
    case 4: return raw.resize(Below(random, raw.size() + 9));
    case 5: return RemoveAny(*graph.mutable_initializer(), random);
    default: try { *constant = ToProto(Damage(FromProto(*constant), random).tensor(), constant->name());
      } catch (const Error&) {  // stays as it is
      }
  }
}

void ChangeVersions(const Place& place, Random& random) {
  auto& opsets = *place.model.mutable_opset_import();
  static const std::string domains[] = {"",           "ai.onnx",  "ai.onnx.ml", "com.microsoft", "ai.onnx.preview.training",
                                        "ai.tessera", "tessera.x"};
  onnx::OperatorSetIdProto* opset = OneIn(random, 4) ? opsets.Add() : Any(opsets, random);
  if (opset == nullptr) return;
  if (OneIn(random, 4)) opset->set_domain(domains[Below(random, std::size(domains))]);
  opset->set_version(OneIn(random, 8) ? HostileInteger(random) : static_cast<int64_t>(1 + Below(random, 28)));
}

/// A node becomes the body of If, Loop or a function, in its own place.
void Nest(const Place& place, Random& random) {
  onnx::NodeProto* node = Any(place.nodes, random);
  if (node == nullptr || node->output_size() == 0) return;
  const onnx::NodeProto inner = *node;
  node->clear_attribute();
  if (OneIn(random, 2)) {
    onnx::FunctionProto& function = *place.model.add_functions();
    function.set_name("f" + std::to_string(place.model.functions_size()));
    function.set_domain("fuzz");
    for (const auto& name : inner.input()) function.add_input(name);
    for (const auto& name : inner.output()) function.add_output(name);
    *function.add_node() = inner;
    *function.mutable_opset_import() = place.model.opset_import();
    node->set_domain("fuzz");
    node->set_op_type(function.name());
    auto* opset = place.model.add_opset_import();
    opset->set_domain("fuzz");
    opset->set_version(1);
    return;
  }
  node->set_domain("");
  node->set_op_type("If");
  node->clear_input();
  node->add_input(AnyName(place, random));
  for (const char* branch : {"then_branch", "else_branch"}) {
    onnx::AttributeProto& attribute = *node->add_attribute();
    attribute.set_name(branch);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    onnx::GraphProto& graph = *attribute.mutable_g();
    graph.set_name(branch);
    *graph.add_node() = inner;
    for (auto& name : *graph.mutable_node(0)->mutable_output()) {
      name += "_inner";
      graph.add_output()->set_name(name);
    }
  }
}

void DamageAttributes(const Place& place, Random& random) { DamageNode(place.model, random); }

}  // namespace

void MutateModel(onnx::ModelProto& model, Random& random) {
  using Change = void (*)(const Place&, Random&);
  constexpr Change changes[] = {ChangeOperator,     ChangeAttributes,
                                ChangeAttributes,   DamageAttributes,
                                ChangeEdges,        ChangeEdges,
                                ChangeNodes,        ChangeTypes,
                                ChangeTypes,        ChangeSignature,
                                ChangeInitializers, ChangeInitializers,
                                ChangeVersions,     Nest};
  const Place place = AnyPlace(model, random);
  changes[Below(random, std::size(changes))](place, random);
}

void Splice(onnx::ModelProto& model, const onnx::ModelProto& from, Random& random) {
  onnx::ModelProto other = from;
  const Place source = AnyPlace(other, random), place = AnyPlace(model, random);
  const onnx::NodeProto* const taken = Any(source.nodes, random);
  if (taken == nullptr) return;
  for (const auto& opset : from.opset_import()) {
    if (std::ranges::none_of(model.opset_import(), [&](const auto& have) { return have.domain() == opset.domain(); }))
      *model.add_opset_import() = opset;
  }
  onnx::NodeProto* const node = Any(place.nodes, random);
  if (node != nullptr && OneIn(random, 2)) {  // the operator, between the values that are there
    onnx::NodeProto made = *taken;
    *made.mutable_output() = node->output();
    if (OneIn(random, 2)) *made.mutable_input() = node->input();
    for (auto& input : *made.mutable_input()) {
      if (OneIn(random, 2)) input = AnyName(place, random);
    }
    *node = std::move(made);
    return;
  }
  *place.nodes.Add() = *taken;
  for (const auto& input : taken->input()) {
    const auto declared = std::ranges::find(source.graph.input(), input, [](const auto& value) { return value.name(); });
    if (declared != source.graph.input().end()) *place.graph.add_input() = *declared;
    const auto constant =
        std::ranges::find(source.graph.initializer(), input, [](const auto& value) { return value.name(); });
    if (constant != source.graph.initializer().end()) *place.graph.add_initializer() = *constant;
  }
  if (taken->output_size() > 0) place.graph.add_output()->set_name(taken->output(0));
}

}  // namespace tessera::fuzz
