#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "base/load_limits.h"
#include "model/proto.h"

namespace tessera {
namespace {

using onnx::AttributeProto;

/// Fills the message's field for each kind of attribute value.
struct AttributeWriter {
  AttributeProto& proto;
  const NameCapture& capture;
  const FindOpaquePart& parts;

  void operator()(std::monostate) const {}
  void operator()(int64_t value) const { proto.set_i(value); }
  void operator()(float value) const { proto.set_f(value); }
  void operator()(const std::string& value) const { proto.set_s(value); }
  void operator()(const Tensor& value) const { *proto.mutable_t() = ToProto(value, ""); }
  void operator()(const SparseTensor& value) const { *proto.mutable_sparse_tensor() = ToProto(value); }
  void operator()(const TypeInfo& value) const { *proto.mutable_tp() = ToProto(value); }
  void operator()(const std::shared_ptr<Graph>& value) const { *proto.mutable_g() = ToProto(*value, capture, parts); }
  void operator()(const std::vector<int64_t>& values) const { proto.mutable_ints()->Add(values.begin(), values.end()); }
  void operator()(const std::vector<float>& values) const { proto.mutable_floats()->Add(values.begin(), values.end()); }
  void operator()(const std::vector<std::string>& values) const {
    for (const std::string& value : values) proto.add_strings(value);
  }
  void operator()(const std::vector<Tensor>& values) const {
    for (const Tensor& value : values) *proto.add_tensors() = ToProto(value, "");
  }
  void operator()(const std::vector<TypeInfo>& values) const {
    for (const TypeInfo& value : values) *proto.add_type_protos() = ToProto(value);
  }
};

AttributeProto ToAttributeProto(const Attribute& attribute, const NameCapture& capture, const FindOpaquePart& parts) {
  AttributeProto proto;
  proto.set_name(attribute.name);
  proto.set_type(TypeOf(attribute.value));
  std::visit(AttributeWriter{proto, capture, parts}, attribute.value);
  return proto;
}

/// Captured values take their names from outside.
std::string NameIn(const Graph& graph, ValueIndex index, const NameCapture& capture) {
  if (index == kNone) return {};
  const GraphValue& value = graph.value(index);
  if (value.outer == kNone) return value.name;
  if (capture) return capture(graph, index);
  return graph.parent() == nullptr ? value.name : NameIn(*graph.parent(), value.outer, nullptr);
}

/// Writes one graph, and the graphs of its opaque nodes, whose nodes become its own.
class GraphWriter {
 public:
  GraphWriter(const Graph& graph, const NameCapture& capture, const FindOpaquePart& parts, const StoreWeight& store)
      : graph_(graph), capture_(capture), parts_(parts), store_(store), proto_(own_.proto), written_(own_.initializers) {}

  onnx::GraphProto Write() {
    proto_.set_name(graph_.name().empty() ? "graph" : graph_.name());
    for (ValueIndex input : graph_.inputs()) {
      Declare(input, *proto_.add_input());
      if (graph_.value(input).default_value) AddInitializer(NameOf(input), *graph_.value(input).default_value);
    }
    WriteNodes();
    for (ValueIndex output : graph_.outputs()) {
      UseConstant(output);
      Declare(output, *proto_.add_output());
    }
    return std::move(proto_);
  }

 private:
  struct Written {
    onnx::GraphProto proto;
    std::unordered_set<std::string> initializers;
  };

  /// For a part of another writer's graph.
  GraphWriter(const Graph& part, GraphWriter& around, const Node& opaque)
      : graph_(part),
        capture_(none_),
        parts_(around.parts_),
        store_(around.store_),
        proto_(around.proto_),
        written_(around.written_) {
    for (size_t i = 0; i < opaque.inputs.size(); ++i) renamed_[part.inputs()[i]] = around.NameOf(opaque.inputs[i]);
    for (size_t i = 0; i < opaque.outputs.size(); ++i) renamed_[part.outputs()[i]] = around.NameOf(opaque.outputs[i]);
  }

  std::string NameOf(ValueIndex index) const {
    if (const auto renamed = renamed_.find(index); renamed != renamed_.end()) return renamed->second;
    return NameIn(graph_, index, capture_);
  }

  void Declare(ValueIndex index, onnx::ValueInfoProto& info) const {
    info.set_name(NameOf(index));
    const TypeInfo& type = graph_.value(index).type;
    if (type.kind != ValueKind::kNone) *info.mutable_type() = ToProto(type);
  }

  void AddInitializer(const std::string& name, const Tensor& tensor) {
    if (!written_.insert(name).second) return;
    onnx::TensorProto& initializer = *proto_.add_initializer();
    const std::optional<WeightPlace> place = store_ && IsStoredRaw(tensor.type()) ? store_(name, tensor) : std::nullopt;
    initializer = place ? ToProto(tensor, name, *place) : ToProto(tensor, name);
  }

  void UseConstant(ValueIndex index) {
    if (index != kNone && graph_.value(index).constant) AddInitializer(NameOf(index), *graph_.value(index).constant);
  }

  void WriteNodes() {
    for (const NodeIndex index : graph_.TopologicalOrder()) {
      graph_.limits().Check();
      const Node& node = graph_.node(index);
      const std::optional<OpaquePart> part = parts_ ? parts_(node) : std::nullopt;
      if (!part) {
        WriteNode(node);
      } else if (part->node->op_type.empty()) {
        GraphWriter(*part->graph, *this, node).WriteNodes();
      } else {
        WriteContext(node, *part);
      }
    }
  }

  /// The values are told by their names, which are the same here.
  void WriteContext(const Node& opaque, const OpaquePart& part) {
    onnx::NodeProto& written = *proto_.add_node();
    written.set_name(part.node->name);
    written.set_domain(part.node->domain);
    written.set_op_type(part.node->op_type);
    for (const std::string& input : part.node->inputs) {
      written.add_input(input);
      const ValueIndex value = part.graph->FindValue(input);
      const Tensor* constant = value == kNone ? nullptr : part.graph->constant(value);
      if (constant != nullptr) AddInitializer(input, *constant);
    }
    for (const std::string& output : part.node->outputs) written.add_output(output);
    for (const ValueIndex output : opaque.outputs) DeclareBetween(output);
    for (const Attribute& attribute : part.node->attributes)
      *written.add_attribute() = ToAttributeProto(attribute, nullptr, nullptr);
  }

  void DeclareBetween(ValueIndex output) {
    if (output == kNone) return;
    const GraphValue& value = graph_.value(output);
    const bool declared = value.is_output && renamed_.empty();  // a part's outputs are none of the graph's around it
    if (value.type.kind != ValueKind::kNone && !declared) Declare(output, *proto_.add_value_info());
  }

  void WriteNode(const Node& node) {
    onnx::NodeProto& written = *proto_.add_node();
    written.set_name(node.name);
    written.set_domain(node.domain);
    written.set_op_type(node.op_type);
    written.set_overload(node.overload);
    for (ValueIndex input : node.inputs) {
      UseConstant(input);
      written.add_input(NameOf(input));
    }
    // Constants that only nested graphs read are theirs by name, and live here.
    for (ValueIndex captured : node.implicit_inputs) UseConstant(captured);
    for (ValueIndex output : node.outputs) {
      written.add_output(NameOf(output));
      DeclareBetween(output);
    }
    for (const Attribute& attribute : node.attributes) {
      // What this graph captures, its nested graphs name alike.
      const NameCapture nested = [this](const Graph& inner, ValueIndex local) { return NameOf(inner.value(local).outer); };
      const bool named_outside = capture_ || !renamed_.empty();
      *written.add_attribute() = ToAttributeProto(attribute, named_outside ? nested : NameCapture(), parts_);
    }
  }

  const Graph& graph_;
  const NameCapture none_;
  const NameCapture& capture_;
  const FindOpaquePart& parts_;
  const StoreWeight& store_;
  std::unordered_map<ValueIndex, std::string> renamed_;  // a part's inputs and outputs: the names that they have outside
  Written own_;
  onnx::GraphProto& proto_;
  std::unordered_set<std::string>& written_;
};

}  // namespace

AttributeProto::AttributeType TypeOf(const AttributeProto& attribute) {
  if (attribute.type() != AttributeProto::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return AttributeProto::FLOAT;
  if (attribute.has_i()) return AttributeProto::INT;
  if (attribute.has_s()) return AttributeProto::STRING;
  if (attribute.has_t()) return AttributeProto::TENSOR;
  if (attribute.has_g()) return AttributeProto::GRAPH;
  if (attribute.has_tp()) return AttributeProto::TYPE_PROTO;
  if (attribute.has_sparse_tensor()) return AttributeProto::SPARSE_TENSOR;
  if (attribute.floats_size() > 0) return AttributeProto::FLOATS;
  if (attribute.ints_size() > 0) return AttributeProto::INTS;
  if (attribute.strings_size() > 0) return AttributeProto::STRINGS;
  if (attribute.tensors_size() > 0) return AttributeProto::TENSORS;
  if (attribute.type_protos_size() > 0) return AttributeProto::TYPE_PROTOS;
  return AttributeProto::UNDEFINED;
}

AttributeProto::AttributeType TypeOf(const AttributeValue& value) {
  using Type = AttributeProto;
  static constexpr AttributeProto::AttributeType kTypes[] = {
      Type::UNDEFINED, Type::INT,  Type::FLOAT,  Type::STRING,  Type::TENSOR,  Type::SPARSE_TENSOR, Type::TYPE_PROTO,
      Type::GRAPH,     Type::INTS, Type::FLOATS, Type::STRINGS, Type::TENSORS, Type::TYPE_PROTOS};
  static_assert(std::size(kTypes) == std::variant_size_v<AttributeVariant>);
  return kTypes[value.index()];
}

AttributeProto ToProto(const Attribute& attribute) { return ToAttributeProto(attribute, nullptr, nullptr); }

onnx::GraphProto ToProto(const Graph& graph, const NameCapture& capture, const FindOpaquePart& parts,
                         const StoreWeight& store) {
  return GraphWriter(graph, capture, parts, store).Write();
}

}  // namespace tessera
