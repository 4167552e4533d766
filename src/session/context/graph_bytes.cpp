#include "session/context/graph_bytes.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/load_limits.h"
#include "graph/provenance.h"
#include "model/functions.h"
#include "session/context/provenance_bytes.h"

namespace tessera {
namespace {

constexpr int kDeepest = 100;

constexpr auto kKindEnd = static_cast<ValueKind>(static_cast<int>(ValueKind::kOptional) + 1);
constexpr auto kElementEnd = static_cast<ElementType>(kElementTypeCount);

void WriteType(const TypeInfo& type, ByteWriter& out) {
  out.Put(type.kind);
  out.Put(type.element);
  out.Put<uint8_t>(type.shape.has_value());
  if (type.shape) {
    out.Put<uint64_t>(type.shape->size());
    for (const Dimension& dim : *type.shape) {
      out.Put(dim.value);
      out.PutText(dim.symbol);
    }
  }
  out.Put<uint8_t>(type.inner != nullptr);
  if (type.inner != nullptr) WriteType(*type.inner, out);
}

TypeInfo ReadType(ByteReader& in, int depth = 0) {
  if (depth > kDeepest) ByteReader::Damaged();
  TypeInfo type;
  type.kind = in.GetEnum(kKindEnd);
  type.element = in.GetEnum(kElementEnd);
  if (in.GetFlag()) {
    type.shape.emplace(in.GetCount(sizeof(int64_t)));
    for (Dimension& dim : *type.shape) {
      dim.value = in.Get<int64_t>();
      dim.symbol = in.GetText();
      if (dim.value < -1) ByteReader::Damaged();
    }
  }
  if (in.GetFlag()) type.inner = std::make_shared<const TypeInfo>(ReadType(in, depth + 1));
  const bool nests = type.kind == ValueKind::kSequence || type.kind == ValueKind::kOptional || type.kind == ValueKind::kMap;
  if (nests != (type.inner != nullptr)) ByteReader::Damaged();
  return type;
}

void WriteShape(const Shape& shape, ByteWriter& out) { out.PutList(shape.dims()); }

Shape ReadShape(ByteReader& in) {
  const auto dims = in.GetList<int64_t>();
  if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; })) ByteReader::Damaged();
  return Shape(std::span<const int64_t>(dims));
}

class GraphWriter {
 public:
  GraphWriter(const Graph& graph, ByteWriter& out, TensorTable& tensors,
              const std::unordered_map<ValueIndex, uint32_t>* outer)
      : graph_(graph), out_(out), tensors_(tensors), outer_(outer) {}

  void Write() {
    out_.PutText(graph_.name());
    out_.Put<uint64_t>(graph_.opsets().size());
    for (const auto& [domain, version] : graph_.opsets()) {
      out_.PutText(domain);
      out_.Put<int32_t>(version);
    }
    NumberValues();
    out_.Put<uint64_t>(values_.size());
    for (const ValueIndex index : values_) WriteValue(graph_.value(index));
    WriteIndices(graph_.inputs());
    WriteIndices(graph_.outputs());
    out_.Put<uint64_t>(graph_.TopologicalOrder().size());
    for (const NodeIndex index : graph_.TopologicalOrder()) WriteNode(graph_.node(index));
  }

  void operator()(std::monostate) {}
  void operator()(int64_t value) { out_.Put(value); }
  void operator()(float value) { out_.Put(value); }
  void operator()(const std::string& value) { out_.PutText(value); }
  void operator()(const Tensor& value) { out_.Put(tensors_.Add(value)); }
  void operator()(const SparseTensor& value) {
    out_.Put(tensors_.Add(value.values));
    out_.Put(tensors_.Add(value.indices));
    WriteShape(value.dense_shape, out_);
  }
  void operator()(const TypeInfo& value) { WriteType(value, out_); }
  void operator()(const std::shared_ptr<Graph>& value) { GraphWriter(*value, out_, tensors_, &numbers_).Write(); }
  void operator()(const std::vector<int64_t>& values) { out_.PutList(std::span(values)); }
  void operator()(const std::vector<float>& values) { out_.PutList(std::span(values)); }
  template <class T>
  void operator()(const std::vector<T>& values) {
    out_.Put<uint64_t>(values.size());
    for (const T& value : values) (*this)(value);
  }

 private:
  /// Own values first, then captured ones, which take a name that is free.
  void NumberValues() {
    std::set<ValueIndex> used(graph_.inputs().begin(), graph_.inputs().end());
    used.insert(graph_.outputs().begin(), graph_.outputs().end());
    for (const NodeIndex index : graph_.TopologicalOrder()) {
      const Node& node = graph_.node(index);
      for (const auto* list : {&node.inputs, &node.outputs, &node.implicit_inputs}) used.insert(list->begin(), list->end());
    }
    used.erase(kNone);
    for (const bool captured : {false, true}) {
      for (const ValueIndex index : used) {
        if ((graph_.value(index).outer != kNone) != captured) continue;
        numbers_.emplace(index, static_cast<uint32_t>(values_.size()));
        values_.push_back(index);
      }
    }
  }

  void WriteValue(const GraphValue& value) {
    out_.Put<uint8_t>(value.outer != kNone);
    if (value.outer != kNone) {
      out_.Put<uint32_t>(outer_->at(value.outer));
      return;
    }
    out_.PutText(value.name);
    WriteType(value.type, out_);
    const std::optional<Tensor>& held = value.constant ? value.constant : value.default_value;
    out_.Put<uint8_t>(value.constant ? 1 : value.default_value ? 2 : 0);
    if (held) out_.Put(tensors_.Add(*held));
  }

  void WriteIndices(std::span<const ValueIndex> indices) {
    out_.Put<uint64_t>(indices.size());
    for (const ValueIndex index : indices)
      out_.Put<int32_t>(index == kNone ? kNone : static_cast<int32_t>(numbers_.at(index)));
  }

  void WriteNode(const Node& node) {
    graph_.limits().Check();
    if (FindLocalFunction(graph_, node) != nullptr) {
      Fail(ErrorCode::kNotImplemented, "{} calls a function of the model, which a context does not hold", node.Label());
    }
    out_.PutText(node.name);
    out_.PutText(node.domain);
    out_.PutText(node.op_type);
    out_.PutText(node.overload);
    out_.Put<int32_t>(node.since_version);
    out_.Put<int32_t>(graph_.origin(node.index).index);
    out_.Put<uint8_t>(graph_.origin(node.index).inserted);
    WriteIndices(node.inputs);
    WriteIndices(node.outputs);
    WriteIndices(node.implicit_inputs);
    out_.Put<uint8_t>(static_cast<uint8_t>(node.hints.precision));
    out_.PutText(node.hints.algorithm);
    out_.Put<uint64_t>(node.attributes.size());
    for (const Attribute& attribute : node.attributes) {
      out_.PutText(attribute.name);
      out_.Put<uint8_t>(static_cast<uint8_t>(attribute.value.index()));
      std::visit(*this, attribute.value);
    }
  }

  const Graph& graph_;
  ByteWriter& out_;
  TensorTable& tensors_;
  const std::unordered_map<ValueIndex, uint32_t>* const outer_;
  std::vector<ValueIndex> values_;
  std::unordered_map<ValueIndex, uint32_t> numbers_;
};

class GraphReader {
 public:
  GraphReader(ByteReader& in, std::span<const Tensor> tensors, Graph& graph, int depth)
      : in_(in), tensors_(tensors), graph_(graph), depth_(depth) {
    if (depth > kDeepest) ByteReader::Damaged();
  }

  void Read() {
    graph_.set_name(in_.GetText());
    std::map<std::string, int, std::less<>> opsets;
    for (size_t i = in_.GetCount(); i > 0; --i) {
      std::string domain = in_.GetText();
      opsets[std::move(domain)] = in_.Get<int32_t>();
    }
    if (graph_.parent() == nullptr) graph_.set_opsets(std::move(opsets));
    for (size_t i = in_.GetCount(); i > 0; --i) ReadValue();
    for (const ValueIndex input : ReadIndices(false)) graph_.AddInput(input);
    for (const ValueIndex output : ReadIndices(false)) graph_.AddOutput(output);
    for (size_t i = in_.GetCount(); i > 0; --i) ReadNode();
    graph_.TopologicalOrder();  // finds cycles now
  }

 private:
  const Tensor& ReadTensor() {
    const auto number = in_.Get<uint32_t>();
    if (number >= tensors_.size()) ByteReader::Damaged();
    return tensors_[number];
  }

  void ReadValue() {
    if (in_.GetFlag()) {
      const auto outer = in_.Get<uint32_t>();
      if (graph_.parent() == nullptr || outer >= graph_.parent()->num_values()) ByteReader::Damaged();
      const size_t before = graph_.num_values();
      if (static_cast<size_t>(graph_.Capture(static_cast<ValueIndex>(outer))) != before) ByteReader::Damaged();
      return;
    }
    std::string name = in_.GetText();
    if (name.empty()) ByteReader::Damaged();
    const ValueIndex index = graph_.AddValue(std::move(name), ReadType(in_));
    const auto holds = in_.Get<uint8_t>();
    if (holds == 1) graph_.SetConstant(index, ReadTensor());
    if (holds == 2) graph_.value(index).default_value = ReadTensor();
  }

  std::vector<ValueIndex> ReadIndices(bool optional) {
    std::vector<ValueIndex> indices = in_.GetList<int32_t>();
    for (const ValueIndex index : indices) {
      const bool given = index >= 0 && static_cast<size_t>(index) < graph_.num_values();
      if (!given && !(optional && index == kNone)) ByteReader::Damaged();
    }
    return indices;
  }

  NodeOrigin ReadOrigin() {
    const NodeOrigin origin{.index = in_.Get<int32_t>(), .inserted = in_.GetFlag()};
    const size_t known = graph_.provenance() == nullptr ? 0 : graph_.provenance()->origins().size();
    if (origin.index != kNone && static_cast<uint32_t>(origin.index) >= known) ByteReader::Damaged();
    return origin;
  }

  void ReadNode() {
    Node node;
    node.name = in_.GetText();
    node.domain = in_.GetText();
    node.op_type = in_.GetText();
    node.overload = in_.GetText();
    node.since_version = in_.Get<int32_t>();
    const NodeOrigin origin = ReadOrigin();
    node.inputs = ReadIndices(true);
    node.outputs = ReadIndices(true);
    node.implicit_inputs = ReadIndices(false);
    const auto precision = in_.Get<uint8_t>();
    if (precision > static_cast<uint8_t>(Precision::kInt8Dynamic)) ByteReader::Damaged();
    node.hints = {static_cast<Precision>(precision), in_.GetText()};
    for (size_t i = in_.GetCount(); i > 0; --i) {
      std::string name = in_.GetText();
      const auto kind = in_.Get<uint8_t>();
      node.attributes.push_back({std::move(name), ReadAttribute(kind)});
    }
    graph_.SetOrigin(graph_.AddNode(std::move(node)), origin);
  }

  /// `kind`: which alternative of AttributeValue.
  AttributeValue ReadAttribute(uint8_t kind) {
    switch (kind) {
      case 1: return in_.Get<int64_t>();
      case 2: return in_.Get<float>();
      case 3: return in_.GetText();
      case 4: return ReadTensor();
      case 5: {
        SparseTensor sparse;
        sparse.values = ReadTensor();
        sparse.indices = ReadTensor();
        sparse.dense_shape = ReadShape(in_);
        return sparse;
      }
      case 6: return ReadType(in_);
      case 7: {
        auto nested = std::make_shared<Graph>(&graph_);
        GraphReader(in_, tensors_, *nested, depth_ + 1).Read();
        return nested;
      }
      case 8: return in_.GetList<int64_t>();
      case 9: return in_.GetList<float>();
      case 10: return ReadList<std::string>([&] { return in_.GetText(); });
      case 11: return ReadList<Tensor>([&] { return ReadTensor(); });
      case 12: return ReadList<TypeInfo>([&] { return ReadType(in_); });
      default: ByteReader::Damaged();
    }
  }

  template <class T, class Read>
  std::vector<T> ReadList(const Read& read) {
    std::vector<T> values;
    for (size_t i = in_.GetCount(); i > 0; --i) values.push_back(read());
    return values;
  }

  ByteReader& in_;
  const std::span<const Tensor> tensors_;
  Graph& graph_;
  const int depth_;
};

static_assert(std::is_same_v<std::variant_alternative_t<7, AttributeVariant>, std::shared_ptr<Graph>> &&
              std::is_same_v<std::variant_alternative_t<12, AttributeVariant>, std::vector<TypeInfo>>);

}  // namespace

uint32_t TensorTable::Add(const Tensor& tensor) {
  tensors_.push_back(tensor);
  return static_cast<uint32_t>(tensors_.size() - 1);
}

void WriteGraph(const Graph& graph, ByteWriter& out, TensorTable& tensors) {
  WriteProvenance(graph, out);
  GraphWriter(graph, out, tensors, nullptr).Write();
}

void ReadGraph(ByteReader& in, std::span<const Tensor> tensors, Graph& graph) {
  ReadProvenance(in, graph);
  GraphReader(in, tensors, graph, 0).Read();
}

}  // namespace tessera
