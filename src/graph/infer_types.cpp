#include "graph/infer_types.h"

#include <algorithm>
#include <deque>
#include <new>
#include <set>
#include <unordered_map>

#include "base/check.h"
#include "base/held_bytes.h"
#include "base/load_limits.h"
#include "base/seeded_hash.h"
#include "base/value_type.h"
#include "graph/check_types.h"
#include "graph/corrected_inference.h"
#include "graph/declared_rows.h"
#include "graph/formal_parameters.h"
#include "graph/impossible_sizes.h"
#include "graph/infer_windows.h"
#include "graph/operator_definitions.h"
#include "graph/schema.h"
#include "graph/shape_values.h"
#include "model/proto.h"
#include "onnx/defs/schema.h"
#include "ops/movement/split.h"

namespace tessera {
namespace {

/// Larger constants do not tell a shape.
constexpr int64_t kMostData = 4096;

constexpr std::string_view kInferredName = "_d";  // and a number

/// Names for dimensions that nothing tells, so that equal ones are seen to be equal.
class Symbols {
 public:
  explicit Symbols(const Graph& graph) { Collect(graph); }

  std::string Make() {
    std::string name;
    do {
      name = fmt::format("{}{}", kInferredName, next_++);
    } while (taken_.contains(name));
    return name;
  }

 private:
  void Collect(const Graph& graph) {
    for (size_t i = 0; i < graph.num_values(); ++i) {
      const TypeInfo& type = graph.value(static_cast<ValueIndex>(i)).type;
      if (!type.shape) continue;
      for (const Dimension& dim : *type.shape) {
        if (!dim.symbol.empty()) taken_.insert(dim.symbol);
      }
    }
    for (size_t i = 0; i < graph.num_node_slots(); ++i) {
      if (!graph.has_node(static_cast<NodeIndex>(i))) continue;
      for (const auto& [name, nested] : graph.Subgraphs(static_cast<NodeIndex>(i))) Collect(*nested);
    }
  }

  std::set<std::string> taken_;
  int next_ = 0;
};

/// What inference says refines what was declared: known beats unknown, inferred beats declared.
TypeInfo Merge(const TypeInfo& declared, const TypeInfo& inferred) {
  if (inferred.kind == ValueKind::kNone) return declared;
  TypeInfo merged = inferred;
  if (declared.kind == ValueKind::kNone) {
    ForgetImpossible(merged);
    return merged;
  }
  const bool elements_differ = declared.element != inferred.element && declared.element != ElementType::kUndefined &&
                               inferred.element != ElementType::kUndefined;
  if (declared.kind != inferred.kind || elements_differ) {
    Fail(ErrorCode::kInvalidGraph, "{} where {} is declared", inferred.ToString(), declared.ToString());
  }
  if (merged.element == ElementType::kUndefined) merged.element = declared.element;
  if (!merged.shape) {
    merged.shape = declared.shape;
  } else if (declared.shape && declared.shape->size() == merged.shape->size()) {
    for (size_t i = 0; i < merged.shape->size(); ++i) {
      Dimension& dim = (*merged.shape)[i];
      if (!dim.known() && dim.symbol.empty()) dim = (*declared.shape)[i];
    }
  }
  if (declared.inner && inferred.inner) {
    merged.inner = std::make_shared<const TypeInfo>(Merge(*declared.inner, *inferred.inner));
  } else if (declared.inner) {
    merged.inner = declared.inner;
  }
  ForgetImpossible(merged);
  return merged;
}

class GraphInference {
 public:
  GraphInference(Graph& graph, GraphInference* outer, Symbols& symbols)
      : graph_(graph), symbols_(symbols), shape_values_(graph, outer == nullptr ? nullptr : &outer->shape_values_) {}

  void Run();
  void InferNode(const Node& node);
  void InferDefined(const ExecutionProvider& provider, const Node& node);

  /// The type of a nested graph's inputs as its node gives them, then of all that it computes.
  std::vector<onnx::TypeProto> RunNested(Graph& nested, const std::vector<const onnx::TypeProto*>& inputs);

  /// Lives as long as the inference of the node that asks.
  const onnx::TypeProto& TypeOf(ValueIndex index) {
    const auto [held, first] = types_.try_emplace(index);
    if (!first) return held->second;
    const TypeInfo& type = graph_.value(index).type;
    held->second = ToProto(type);
    type_bytes_ += sizeof(*held) + 4 * HeldBytes(type);
    return held->second;
  }

  Graph& graph() { return graph_; }
  ShapeValues& shape_values() { return shape_values_; }

 private:
  void SetType(ValueIndex index, const TypeInfo& inferred);

  Graph& graph_;
  Symbols& symbols_;
  ShapeValues shape_values_;
  std::unordered_map<ValueIndex, onnx::TypeProto> types_;
  size_t type_bytes_ = 0;  // of types_, about
  static constexpr size_t kMostTypeBytes = size_t{32} << 20;
};

/// Lets an operator's schema infer a nested graph.
class NestedInference final : public onnx::GraphInferencer {
 public:
  NestedInference(GraphInference& outer, Graph& nested) : outer_(outer), nested_(nested) {}

  std::vector<const onnx::TypeProto*> doInferencing(const std::vector<const onnx::TypeProto*>& input_types,
                                                    const std::vector<const onnx::TensorProto*>&) override {
    outputs_ = outer_.RunNested(nested_, input_types);
    std::vector<const onnx::TypeProto*> result;
    result.reserve(outputs_.size());
    for (const auto& type : outputs_) result.push_back(&type);
    return result;
  }

  Graph& nested() { return nested_; }

 private:
  GraphInference& outer_;
  Graph& nested_;
  std::vector<onnx::TypeProto> outputs_;
};

/// A node as its schema's inference function sees it.
class NodeInference final : public onnx::InferenceContext {
 public:
  NodeInference(GraphInference& owner, const Node& node, const onnx::OpSchema& schema)
      : owner_(owner),
        node_(node),
        num_inputs_(std::max(node.inputs.size(), static_cast<size_t>(schema.min_input()))),
        outputs_(node.outputs.size()) {}

  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    const auto held = attributes_.find(name);
    if (held != attributes_.end()) return &held->second;
    const AttributeValue* value = node_.FindAttribute(name);
    return value == nullptr ? nullptr : &attributes_.emplace(name, ToProto(Attribute{name, *value})).first->second;
  }

  size_t getNumInputs() const override { return num_inputs_; }
  bool hasInput(size_t i) const override { return i < node_.inputs.size() && node_.inputs[i] != kNone; }
  const onnx::TypeProto* getInputType(size_t i) const override {
    CheckIndex(i, num_inputs_);
    return hasInput(i) ? &owner_.TypeOf(node_.inputs[i]) : nullptr;
  }

  const onnx::TensorProto* getInputData(size_t i) const override {
    CheckIndex(i, num_inputs_);
    if (!hasInput(i)) return nullptr;
    const auto held = data_.find(i);
    if (held != data_.end()) return &held->second;
    if (const Tensor* constant = owner_.graph().constant(node_.inputs[i])) {
      return constant->num_elements() > kMostData ? nullptr : &data_.emplace(i, ToProto(*constant, "")).first->second;
    }
    const auto computed = ComputedData(i);
    return computed ? &data_.emplace(i, *computed).first->second : nullptr;
  }
  const onnx::SparseTensorProto* getInputSparseData(size_t) const override { return nullptr; }

  const onnx::TensorShapeProto* getSymbolicInput(size_t i) const override {
    CheckIndex(i, num_inputs_);
    const ShapeValue* value = hasInput(i) ? owner_.shape_values().Find(node_.inputs[i]) : nullptr;
    if (value == nullptr) return nullptr;
    onnx::TensorShapeProto& shape = symbolic_[i];
    shape.Clear();
    for (const ShapeElement& element : *value) {
      auto* dim = shape.add_dim();
      if (element.known) dim->set_dim_value(element.value);
      if (!element.symbol.empty()) dim->set_dim_param(element.symbol);
    }
    return &shape;
  }

  size_t getNumOutputs() const override { return outputs_.size(); }
  bool hasOutput(size_t i) override { return i < outputs_.size() && node_.outputs[i] != kNone; }
  onnx::TypeProto* getOutputType(size_t i) override {
    CheckIndex(i, outputs_.size());
    return &outputs_[i];
  }

  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string& name) override {
    const AttributeValue* value = node_.FindAttribute(name);
    const auto* nested = value == nullptr ? nullptr : std::get_if<std::shared_ptr<Graph>>(value);
    if (nested == nullptr) fail_type_inference("attribute ", name, " is not a graph");
    return &inferencers_.emplace_back(owner_, **nested);
  }

  std::string getDisplayName() const override { return node_.Label(); }

  bool Inferred(const Graph& nested) const {
    return std::any_of(inferencers_.begin(), inferencers_.end(),
                       [&](auto& held) { return &const_cast<NestedInference&>(held).nested() == &nested; });
  }

 private:
  static void CheckIndex(size_t i, size_t size) {
    if (i >= size) fail_shape_inference("index ", i, " of ", size);
  }

  /// Shape arithmetic whose result is all known serves as data.
  std::optional<onnx::TensorProto> ComputedData(size_t i) const {
    const ShapeValue* value = owner_.shape_values().Find(node_.inputs[i]);
    const TypeInfo& type = owner_.graph().value(node_.inputs[i]).type;
    if (value == nullptr || !type.shape || type.element == ElementType::kBool) return std::nullopt;
    onnx::TensorProto data;
    data.set_data_type(static_cast<int32_t>(type.element));
    if (!type.shape->empty()) data.add_dims(static_cast<int64_t>(value->size()));
    for (const ShapeElement& element : *value) {
      if (!element.known) return std::nullopt;
      if (type.element == ElementType::kInt64) data.add_int64_data(element.value);
      if (type.element == ElementType::kInt32) data.add_int32_data(static_cast<int32_t>(element.value));
    }
    return data;
  }

  GraphInference& owner_;
  const Node& node_;
  size_t num_inputs_;
  std::vector<onnx::TypeProto> outputs_;
  mutable StringMap<onnx::AttributeProto> attributes_;
  mutable std::unordered_map<size_t, onnx::TensorProto> data_;
  mutable std::unordered_map<size_t, onnx::TensorShapeProto> symbolic_;
  std::deque<NestedInference> inferencers_;
};

/// The type, without its shape, that an output shares with an input by the operator's type parameters.
TypeInfo TypeByParameter(const Graph& graph, const Node& node, const onnx::OpSchema& schema, size_t output) {
  const FormalParameter* formal = FormalOf(schema.outputs(), output);
  if (formal == nullptr || !formal->GetIsHomogeneous()) return {};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const FormalParameter* input = FormalOf(schema.inputs(), i);
    if (input == nullptr || node.inputs[i] == kNone || input->GetTypeStr() != formal->GetTypeStr()) continue;
    TypeInfo type = graph.value(node.inputs[i]).type;
    type.shape.reset();
    if (type.is_tensor()) return type;
  }
  const auto& allowed = formal->GetTypes();
  const std::string_view prefix = "tensor(";
  if (allowed.size() == 1 && (*allowed.begin())->starts_with(prefix)) {
    const std::string& name = **allowed.begin();
    return TypeInfo::OfTensor(ElementTypeFromName(name.substr(prefix.size(), name.size() - prefix.size() - 1)));
  }
  return {};
}

/// True when everything that a type error could be blamed on is known.
bool InputsAreComplete(const Graph& graph, const Node& node) {
  for (ValueIndex input : node.inputs) {
    if (input != kNone && !IsComplete(graph.value(input).type)) return false;
  }
  for (const auto& [name, nested] : graph.Subgraphs(node.index)) {
    for (ValueIndex output : nested->outputs()) {
      if (!IsComplete(nested->value(output).type)) return false;
    }
  }
  return true;
}

void GraphInference::Run() {
  for (NodeIndex index : graph_.TopologicalOrder()) {
    graph_.limits().Check();
    const Node& node = graph_.node(index);
    if (type_bytes_ > kMostTypeBytes) {
      types_.clear();
      type_bytes_ = 0;
    }
    try {
      InferNode(node);
    } catch (const Error& error) {
      const GraphViewer viewer(graph_);
      throw error.At(node.Label(&viewer));
    }
  }
}

std::vector<onnx::TypeProto> GraphInference::RunNested(Graph& nested, const std::vector<const onnx::TypeProto*>& inputs) {
  if (inputs.size() != nested.inputs().size()) {
    Fail(ErrorCode::kInvalidGraph, "nested graph '{}' has {} inputs; the node gives it {}", nested.name(),
         nested.inputs().size(), inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    GraphValue& value = nested.value(nested.inputs()[i]);
    value.type = Merge(value.type, FromProto(*inputs[i]));
  }
  for (size_t i = 0; i < nested.num_values(); ++i) {
    GraphValue& value = nested.value(static_cast<ValueIndex>(i));
    if (value.outer == kNone) continue;
    const TypeInfo& type = graph_.value(value.outer).type;
    if (const size_t before = HeldBytes(value.type), now = HeldBytes(type); now > before) graph_.Charge(now - before);
    value.type = type;
  }
  GraphInference inference(nested, this, symbols_);
  inference.Run();
  std::vector<onnx::TypeProto> outputs;
  for (ValueIndex output : nested.outputs()) outputs.push_back(ToProto(nested.value(output).type));
  return outputs;
}

/// Schemas' inference functions use these attributes as indices, some before they look at them.
void CheckIndexAttributes(const Node& node) {
  for (const char* name : {"axis", "batch_axis", "time_axis", "batch_dims"}) {
    const AttributeValue* value = node.FindAttribute(name);
    const int64_t* index = value == nullptr ? nullptr : std::get_if<int64_t>(value);
    if (index == nullptr) continue;
    constexpr int64_t kMostDimensions = int64_t{1} << 30;
    const bool negative = name == std::string_view("batch_dims") && *index < 0 && node.op_type == "GatherND";
    if (negative || *index < -kMostDimensions || *index > kMostDimensions) {
      Fail(ErrorCode::kInvalidGraph, "attribute '{}' is {}, no tensor has that many dimensions", name, *index);
    }
  }
  // Split's function reserves memory for as many outputs as it is told.
  if (node.domain.empty() && node.op_type == "Split") SplitAttributes{node};
}

/// What the provider says that defines the node's operator.
void GraphInference::InferDefined(const ExecutionProvider& provider, const Node& node) {
  std::vector<TypeInfo> outputs(node.outputs.size());
  provider.InferOutputs(GraphViewer(graph_), node, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (node.outputs[i] != kNone && outputs[i].kind != ValueKind::kNone) SetType(node.outputs[i], outputs[i]);
  }
}

void GraphInference::InferNode(const Node& node) {
  CheckIndexAttributes(node);
  const ExecutionProvider* definer = DefinerOf(graph_, node);
  const onnx::OpSchema* schema = definer == nullptr ? FindSchema(node) : nullptr;
  const DeclaredRows declared_rows(graph_, node);
  std::set<const Graph*> done;
  if (definer != nullptr) InferDefined(*definer, node);
  if (schema != nullptr) {
    NodeInference context(*this, node, *schema);
    bool failed = true;
    try {
      InferenceOf(node, *schema)(context);
      if (SlidesWindows(node)) CorrectWindows(node, context);
      failed = false;
    } catch (const Error&) {
      throw;
    } catch (const std::bad_alloc&) {  // which says nothing of the model
      throw;
    } catch (const std::exception& error) {
      // Where only the shape cannot be told, the rest of the model still runs; kernels check what they are given.
      const std::string_view text = error.what();
      if (text.starts_with("[TypeInferenceError]") && InputsAreComplete(graph_, node)) {
        Fail(ErrorCode::kInvalidGraph, "types do not fit: {}", text);
      }
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNone) continue;
      TypeInfo inferred = FromProto(*context.getOutputType(i));
      if (failed) inferred.shape.reset();  // it may be half of one
      if (!IsComplete(inferred)) inferred = Merge(TypeByParameter(graph_, node, *schema, i), inferred);
      SetType(node.outputs[i], inferred);
    }
    for (const auto& [name, nested] : graph_.Subgraphs(node.index)) {
      if (context.Inferred(*nested)) done.insert(nested);
    }
  }
  for (const auto& [name, nested] : graph_.Subgraphs(node.index)) {
    if (!done.contains(nested)) RunNested(*nested, std::vector<const onnx::TypeProto*>(nested->inputs().size()));
  }
  declared_rows.Restore();
  CheckTypes(graph_, node);
  shape_values_.Propagate(node);
}

void GraphInference::SetType(ValueIndex index, const TypeInfo& inferred) {
  GraphValue& value = graph_.value(index);
  const size_t before = HeldBytes(value.type);
  try {
    value.type = Merge(value.type, inferred);
  } catch (const Error& error) {
    throw error.At(fmt::format("'{}'", value.name));
  }
  if (!value.type.is_tensor() || !value.type.shape) return;
  for (Dimension& dim : *value.type.shape) {
    if (!dim.known() && dim.symbol.empty()) dim.symbol = symbols_.Make();
  }
  if (const size_t now = HeldBytes(value.type); now > before) graph_.Charge(now - before);
}

}  // namespace

bool IsInferredName(std::string_view symbol) {
  if (!symbol.starts_with(kInferredName)) return false;
  symbol.remove_prefix(kInferredName.size());
  return !symbol.empty() && std::ranges::all_of(symbol, [](char c) { return c >= '0' && c <= '9'; });
}

void InferTypes(Graph& graph) {
  Symbols symbols(graph);
  GraphInference inference(graph, nullptr, symbols);
  inference.Run();
}

void InferNodeTypes(Graph& graph, const Node& node) {
  Symbols symbols(graph);
  GraphInference(graph, nullptr, symbols).InferNode(node);
}

}  // namespace tessera
