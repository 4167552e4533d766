#include <algorithm>
#include <unordered_set>

#include "base/check.h"
#include "base/shortened.h"
#include "graph/graph.h"
#include "graph/node_label.h"
#include "graph/private_names.h"
#include "graph/telling_output.h"

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
  if (domain == kFusedDomain) return fmt::format("subgraph '{}'", Shortened(name));
  const ValueIndex output = graph == nullptr ? kNone : TellingOutput(*graph, *this);
  if (!name.empty() || output != kNone)
    return NodeLabel(domain, op_type, name, output == kNone ? std::string() : graph->value(output).name);
  return fmt::format("{}{}{} #{}", Shortened(domain), domain.empty() ? "" : ".", Shortened(op_type), index);
}

GraphViewer::GraphViewer(const Graph& graph)
    : graph_(&graph),
      nodes_(graph.TopologicalOrder()),
      inputs_(graph.inputs().begin(), graph.inputs().end()),
      outputs_(graph.outputs().begin(), graph.outputs().end()) {}

GraphViewer::GraphViewer(const Graph& graph, std::span<const NodeIndex> nodes) : graph_(&graph) {
  // By what the window holds, not by what is around it: there may be as many windows as nodes.
  const std::vector<int32_t>& positions = graph.OrderPositions();
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(nodes_),
               [&](NodeIndex index) { return graph.has_node(index); });
  std::sort(nodes_.begin(), nodes_.end(), [&](NodeIndex a, NodeIndex b) {
    return positions[static_cast<size_t>(a)] < positions[static_cast<size_t>(b)];
  });
  nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
  std::unordered_set<ValueIndex> listed_inputs, listed_outputs;
  const auto add_once = [](std::vector<ValueIndex>& list, std::unordered_set<ValueIndex>& listed, ValueIndex index) {
    if (listed.insert(index).second) list.push_back(index);
  };
  for (NodeIndex index : nodes_) {
    const Node& held = graph.node(index);
    for (const auto* list : {&held.inputs, &held.implicit_inputs}) {
      for (ValueIndex input : *list) {
        if (input == kNone || graph.constant(input) != nullptr) continue;
        const NodeIndex producer = graph.value(input).producer;
        if (producer == kNone || !contains(producer)) add_once(inputs_, listed_inputs, input);
      }
    }
    for (ValueIndex output : held.outputs) {
      if (output == kNone) continue;
      const GraphValue& value = graph.value(output);
      const bool used_outside = std::any_of(value.consumers.begin(), value.consumers.end(),
                                            [&](NodeIndex consumer) { return !contains(consumer); });
      if (value.is_output || used_outside) add_once(outputs_, listed_outputs, output);
    }
  }
}

std::string_view GraphViewer::name() const noexcept { return graph_->name(); }
const Node& GraphViewer::node(NodeIndex index) const noexcept { return graph_->node(index); }
const GraphValue& GraphViewer::value(ValueIndex index) const noexcept { return graph_->value(index); }
size_t GraphViewer::num_values() const noexcept { return graph_->num_values(); }
bool GraphViewer::contains(NodeIndex index) const noexcept {
  if (!graph_->has_node(index)) return false;
  const std::vector<int32_t>& positions = graph_->OrderPositions();
  const auto before = [&](NodeIndex node, NodeIndex wanted) {
    return positions[static_cast<size_t>(node)] < positions[static_cast<size_t>(wanted)];
  };
  return std::binary_search(nodes_.begin(), nodes_.end(), index, before);
}
const Tensor* GraphViewer::constant(ValueIndex index) const noexcept { return graph_->constant(index); }
const Graph* GraphViewer::parent() const noexcept { return graph_->parent(); }
int GraphViewer::opset_version(std::string_view domain) const noexcept { return graph_->opset_version(domain); }

}  // namespace tessera
