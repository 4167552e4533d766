#include <algorithm>
#include <unordered_set>

#include "base/check.h"
#include "graph/graph.h"

namespace tessera {

AttributeValue::AttributeValue() noexcept = default;
AttributeValue::AttributeValue(const AttributeValue& other) = default;
AttributeValue::AttributeValue(AttributeValue&& other) noexcept = default;
AttributeValue& AttributeValue::operator=(const AttributeValue& other) = default;
AttributeValue& AttributeValue::operator=(AttributeValue&& other) noexcept = default;
AttributeValue::~AttributeValue() = default;

const AttributeValue* Node::FindAttribute(std::string_view attribute) const noexcept {
  for (const Attribute& held : attributes) {
    if (held.name == attribute) return &held.value;
  }
  return nullptr;
}

std::string Node::Label(const GraphViewer* graph) const {
  const std::string type = domain.empty() ? op_type : domain + "." + op_type;
  if (!name.empty()) return fmt::format("{} '{}'", type, name);
  for (ValueIndex output : outputs) {
    if (output != kNone && graph != nullptr) return fmt::format("{} -> '{}'", type, graph->value(output).name);
  }
  return fmt::format("{} #{}", type, index);
}

GraphViewer::GraphViewer(const Graph& graph)
    : graph_(&graph),
      nodes_(graph.TopologicalOrder()),
      inputs_(graph.inputs().begin(), graph.inputs().end()),
      outputs_(graph.outputs().begin(), graph.outputs().end()) {}

GraphViewer::GraphViewer(const Graph& graph, std::span<const NodeIndex> nodes) : graph_(&graph) {
  const std::unordered_set<NodeIndex> inside(nodes.begin(), nodes.end());
  for (NodeIndex index : graph.TopologicalOrder()) {
    if (inside.contains(index)) nodes_.push_back(index);
  }
  const auto add_once = [](std::vector<ValueIndex>& list, ValueIndex index) {
    if (std::find(list.begin(), list.end(), index) == list.end()) list.push_back(index);
  };
  for (NodeIndex index : nodes_) {
    const Node& held = graph.node(index);
    for (const auto* list : {&held.inputs, &held.implicit_inputs}) {
      for (ValueIndex input : *list) {
        if (input == kNone || graph.constant(input) != nullptr) continue;
        const NodeIndex producer = graph.value(input).producer;
        if (producer == kNone || !inside.contains(producer)) add_once(inputs_, input);
      }
    }
    for (ValueIndex output : held.outputs) {
      if (output == kNone) continue;
      const GraphValue& value = graph.value(output);
      const bool used_outside = std::any_of(value.consumers.begin(), value.consumers.end(),
                                            [&](NodeIndex consumer) { return !inside.contains(consumer); });
      if (value.is_output || used_outside) add_once(outputs_, output);
    }
  }
}

std::string_view GraphViewer::name() const noexcept { return graph_->name(); }
const Node& GraphViewer::node(NodeIndex index) const noexcept { return graph_->node(index); }
const GraphValue& GraphViewer::value(ValueIndex index) const noexcept { return graph_->value(index); }
size_t GraphViewer::num_values() const noexcept { return graph_->num_values(); }
bool GraphViewer::contains(NodeIndex index) const noexcept {
  return std::find(nodes_.begin(), nodes_.end(), index) != nodes_.end();
}
const Tensor* GraphViewer::constant(ValueIndex index) const noexcept { return graph_->constant(index); }
const Graph* GraphViewer::parent() const noexcept { return graph_->parent(); }
int GraphViewer::opset_version(std::string_view domain) const noexcept { return graph_->opset_version(domain); }

}  // namespace tessera
