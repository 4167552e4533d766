#include "graph/check_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/load_limits.h"
#include "graph/check_types.h"
#include "graph/graph.h"
#include "graph/operator_definitions.h"
#include "graph/private_names.h"
#include "onnx/defs/schema.h"

namespace tessera {
namespace {

std::string LabelOf(NodeIndex index, const Node& node) {
  return fmt::format("node {} ({} '{}')", index, node.op_type, node.name);
}

/// Kernels read nodes by their schemas, so that anything beyond these would be overlooked.
std::string BeyondSchema(const onnx::OpSchema& schema, const Node& node, const std::string& label, bool attributes) {
  if (node.inputs.size() > static_cast<size_t>(schema.max_input()) ||
      node.outputs.size() > static_cast<size_t>(schema.max_output()))
    return fmt::format("{} has {} inputs and {} outputs, its schema fewer", label, node.inputs.size(), node.outputs.size());
  if (!attributes) return {};
  const auto more = std::ranges::find_if(
      node.attributes, [&](const Attribute& attribute) { return !schema.attributes().contains(attribute.name); });
  return more == node.attributes.end() ? ""
                                       : fmt::format("{} has an attribute '{}', its schema has none", label, more->name);
}

class Check {
 public:
  explicit Check(const Graph& graph) : graph_(graph) {}

  std::string Run() {
    for (size_t i = 0; fault_.empty() && i < graph_.num_node_slots(); ++i) {
      if (graph_.has_node(static_cast<NodeIndex>(i))) OfNode(static_cast<NodeIndex>(i));
    }
    for (size_t i = 0; fault_.empty() && i < graph_.num_values(); ++i) OfValue(static_cast<ValueIndex>(i));
    if (fault_.empty()) OfBorder();
    return fault_;
  }

 private:
  template <class... Args>
  void Require(bool holds, fmt::format_string<Args...> text, Args&&... args) {
    if (!holds && fault_.empty()) fault_ = fmt::format(text, std::forward<Args>(args)...);
  }
  /// What `check` throws is a fault; that the load was stopped says nothing of the graph.
  template <class F>
  void Expect(const F& check, std::string_view where) {
    try {
      check();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kModelLoadCanceled) throw;
      fault_ = fmt::format("{}{}", where, error.what());
    }
  }
  bool IsValue(ValueIndex index) const { return index >= 0 && static_cast<size_t>(index) < graph_.num_values(); }

  void OfNode(NodeIndex index) {
    const Node& node = graph_.node(index);
    const std::string label = LabelOf(index, node);
    Require(node.index == index, "{} says that it is node {}", label, node.index);
    const auto reads = [&](ValueIndex value) {
      if (value == kNone) return;
      graph_.limits().Check();
      Require(IsValue(value), "{} reads value {}, which does not exist", label, value);
      if (!fault_.empty()) return;
      const GraphValue& read = graph_.value(value);
      Require(std::ranges::find(read.consumers, index) != read.consumers.end(), "{} is no consumer of '{}', which it reads",
              label, read.name);
    };
    for (const ValueIndex value : node.inputs) reads(value);
    for (const ValueIndex value : node.implicit_inputs) reads(value);
    std::unordered_set<ValueIndex> written;
    for (const ValueIndex value : node.outputs) {
      if (value == kNone) continue;
      Require(IsValue(value) && written.insert(value).second,
              "{} writes value {}, which does not exist or is written twice", label, value);
      if (!fault_.empty()) return;
      Require(graph_.value(value).producer == index, "{} writes '{}', whose producer is node {}", label,
              graph_.value(value).name, graph_.value(value).producer);
    }
    for (const auto& [name, nested] : graph_.Subgraphs(index)) OfNested(node, label, *nested);
    OfSchema(node, label);
  }

  void OfNested(const Node& node, const std::string& label, const Graph& nested) {
    Require(nested.parent() == &graph_, "the graph of {} has another parent", label);
    for (size_t i = 0; fault_.empty() && i < nested.num_values(); ++i) {
      const GraphValue& inner = nested.value(static_cast<ValueIndex>(i));
      if (inner.outer == kNone || (inner.consumers.empty() && !inner.is_output)) continue;
      Require(std::ranges::find(node.implicit_inputs, inner.outer) != node.implicit_inputs.end(),
              "{} does not say that its graph reads '{}'", label, inner.name);
    }
    if (fault_.empty()) fault_ = FindFault(nested);
  }

  void OfSchema(const Node& node, const std::string& label) {
    const onnx::OpSchema* schema = FindSchema(graph_, node);
    const bool is_private = node.domain == kTesseraDomain;
    Require(schema != nullptr || !is_private, "{} has no schema", label);
    if (schema == nullptr) return;
    if (fault_.empty()) fault_ = BeyondSchema(*schema, node, label, is_private);
    if (!fault_.empty()) return;
    Expect([&] { CheckTypes(graph_, node); }, label + ": ");
  }

  void OfValue(ValueIndex index) {
    const GraphValue& value = graph_.value(index);
    Require(graph_.FindValue(value.name) == index, "'{}' is not found by its name", value.name);
    for (const NodeIndex reader : value.consumers) {
      Require(graph_.has_node(reader), "a consumer of '{}', node {}, is gone", value.name, reader);
      if (!fault_.empty()) return;
      const Node& node = graph_.node(reader);
      Require(std::ranges::find(node.inputs, index) != node.inputs.end() ||
                  std::ranges::find(node.implicit_inputs, index) != node.implicit_inputs.end(),
              "'{}' has a consumer, node {} ({}), which does not read it", value.name, reader, node.op_type);
    }
    if (value.producer != kNone) {
      Require(graph_.has_node(value.producer), "the producer of '{}', node {}, is gone", value.name, value.producer);
      if (!fault_.empty()) return;
      const auto& outputs = graph_.node(value.producer).outputs;
      Require(std::ranges::find(outputs, index) != outputs.end(), "'{}' has a producer, node {}, which does not write it",
              value.name, value.producer);
      Require(!value.constant && !value.is_input && value.outer == kNone, "'{}' is computed and is given, too", value.name);
    } else {
      const bool read = !value.consumers.empty() || value.is_output;
      Require(!read || value.constant || value.is_input || value.outer != kNone, "'{}' is read, and nobody makes it",
              value.name);
    }
  }

  void OfBorder() {
    for (const ValueIndex input : graph_.inputs())
      Require(IsValue(input) && graph_.value(input).is_input, "input {}", input);
    for (const ValueIndex output : graph_.outputs())
      Require(IsValue(output) && graph_.value(output).is_output, "output {}", output);
    if (!fault_.empty()) return;
    Expect([&] { (void)graph_.TopologicalOrder(); }, "");
  }

  const Graph& graph_;
  std::string fault_;
};

}  // namespace

std::string FindFault(const Graph& graph) { return Check(graph).Run(); }

std::string FindBeyondSchemas(const Graph& graph) {
  for (const NodeIndex index : graph.TopologicalOrder()) {
    const Node& node = graph.node(index);
    const onnx::OpSchema* schema = FindSchema(graph, node);
    std::string beyond = schema == nullptr ? "" : BeyondSchema(*schema, node, LabelOf(index, node), true);
    for (const auto& [name, nested] : graph.Subgraphs(index)) {
      if (beyond.empty()) beyond = FindBeyondSchemas(*nested);
    }
    if (!beyond.empty()) return beyond;
  }
  return {};
}

}  // namespace tessera
