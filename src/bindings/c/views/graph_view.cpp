// How views are made.

#include "bindings/c/views/graph_view.h"

#include <unordered_set>

#include "graph/graph.h"
#include "graph/schema.h"

namespace tessera::c_abi {

struct GraphView::Enclosing {
  std::unique_ptr<GraphView> view;
  const OrtNode* holder = nullptr;
};

GraphView::GraphView(const GraphViewer& its_viewer, std::shared_ptr<const ModelFacts> its_facts, const OrtNode* its_parent)
    : viewer(its_viewer),
      facts(std::move(its_facts)),
      name(viewer.name()),
      is_window(viewer.nodes().size() != viewer.graph().TopologicalOrder().size()),
      parent_(its_parent) {
  AddAll(nullptr);
}

GraphView::GraphView(const GraphView& nested, const Graph& around)
    : viewer(around), facts(nested.facts), name(viewer.name()), is_window(false), parent_(nullptr) {
  AddAll(nested.is_window ? nullptr : &nested);
}

GraphView::~GraphView() = default;

const OrtNode* GraphView::parent() const {
  const Graph* around = viewer.parent();
  if (parent_ != nullptr || around == nullptr) return parent_;
  std::call_once(enclosing_made_, [&] {
    auto made = std::make_unique<Enclosing>();
    made->view.reset(new GraphView(*this, *around));
    for (const OrtNode* node : made->view->nodes) {
      for (const OrtNode::Nested& nested : node->nested) {
        if (&nested.graph->viewer.graph() == &viewer.graph()) made->holder = node;
      }
    }
    enclosing_ = std::move(made);
  });
  return enclosing_->holder;
}

void GraphView::AddAll(const GraphView* known) {
  inputs = FindAll(viewer.inputs());
  outputs = FindAll(viewer.outputs());
  for (const ValueIndex index : viewer.inputs()) {
    OrtValueInfo& input = *Find(index);
    input.is_required_input = !input.is_constant && !input.is_optional_input;
  }
  for (const ValueIndex index : viewer.outputs()) Find(index)->is_output = true;
  nodes.reserve(viewer.nodes().size());
  own_nodes_.reserve(viewer.nodes().size());
  for (const NodeIndex index : viewer.nodes()) AddNode(viewer.node(index), known);
  AddInitializers();
}

void GraphView::AddNode(const Node& node, const GraphView* known) {
  OrtNode& added = *own_nodes_.emplace_back(std::make_unique<OrtNode>(node, *this));
  nodes.push_back(&added);
  added.inputs = FindAll(node.inputs);
  added.outputs = FindAll(node.outputs);
  added.implicit_inputs = FindAll(node.implicit_inputs);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != kNone) Find(node.inputs[i])->consumers.push_back({&added, static_cast<int64_t>(i)});
  }
  for (const ValueIndex index : node.implicit_inputs) Find(index)->consumers.push_back({&added, -1});
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNone) continue;
    OrtValueInfo& output = *Find(node.outputs[i]);
    output.producer = &added;
    output.output = i;
  }
  for (const Attribute& attribute : node.attributes) {
    added.attributes.emplace_back(attribute);
    const auto* graph = std::get_if<std::shared_ptr<Graph>>(&attribute.value);
    if (graph == nullptr) continue;
    OrtNode::Nested nested{attribute.name.c_str(), known, nullptr};
    if (known == nullptr || &known->viewer.graph() != graph->get()) {
      nested.own = std::make_shared<const GraphView>(GraphViewer(**graph), facts, &added);
      nested.graph = nested.own.get();
    }
    added.nested.push_back(std::move(nested));
  }
  // Providers rely on it that ONNX Runtime has put them there.
  for (Attribute& attribute : DefaultAttributes(node)) added.attributes.emplace_back(std::move(attribute));
}

/// All that a graph has of its own and needs; for a window all that its nodes read.
void GraphView::AddInitializers() {
  if (is_window) {
    std::unordered_set<const OrtValueInfo*> listed;
    for (const OrtNode* node : nodes) {
      for (const auto* list : {&node->inputs, &node->implicit_inputs}) {
        for (const OrtValueInfo* value : *list) {
          if (value != nullptr && !value->initializer.is_none() && listed.insert(value).second)
            initializers.push_back(value);
        }
      }
    }
    return;
  }
  for (size_t i = 0; i < viewer.num_values(); ++i) {
    const auto index = static_cast<ValueIndex>(i);
    const GraphValue& value = viewer.value(index);
    const bool is_initializer = value.constant.has_value() || value.default_value.has_value();
    const bool is_used = !value.consumers.empty() || value.is_input || value.is_output;
    if (is_initializer && is_used) initializers.push_back(Find(index));
  }
}

OrtValueInfo* GraphView::Find(ValueIndex index) {
  if (index == kNone) return nullptr;
  std::unique_ptr<OrtValueInfo>& value = values_[index];
  if (value == nullptr) value = std::make_unique<OrtValueInfo>(viewer.graph(), index, this);
  return value.get();
}

std::vector<const OrtValueInfo*> GraphView::FindAll(std::span<const ValueIndex> indices) {
  std::vector<const OrtValueInfo*> found;
  found.reserve(indices.size());
  for (const ValueIndex index : indices) found.push_back(Find(index));
  return found;
}

std::unique_ptr<OrtGraph> ViewOf(const GraphViewer& graph, std::shared_ptr<const ModelFacts> facts) {
  if (facts == nullptr) facts = std::make_shared<const ModelFacts>();
  return std::make_unique<GraphView>(graph, std::move(facts));
}

std::unique_ptr<OrtNode> DetachedNode(const Node& node, const GraphViewer& graph) {
  auto copy = std::make_unique<Node>();
  copy->index = node.index;
  copy->name = node.name;
  copy->domain = node.domain;
  copy->op_type = node.op_type;
  copy->overload = node.overload;
  copy->since_version = node.since_version;
  copy->provider = node.provider;
  auto detached = std::make_unique<OrtNode>(std::move(copy));
  std::unordered_map<ValueIndex, const OrtValueInfo*> known;
  const auto add = [&](std::span<const ValueIndex> indices, std::vector<const OrtValueInfo*>& list) {
    for (const ValueIndex index : indices) {
      if (index != kNone && !known.contains(index)) {
        detached->own_values.push_back(std::make_unique<OrtValueInfo>(graph.graph(), index, nullptr));
        known.emplace(index, detached->own_values.back().get());
      }
      list.push_back(index == kNone ? nullptr : known.at(index));
    }
  };
  add(node.inputs, detached->inputs);
  add(node.outputs, detached->outputs);
  return detached;
}

NodeIndex IndexOf(const OrtNode& node) noexcept { return node.node.index; }
const Graph& GraphOf(const OrtNode& node) noexcept { return node.view->viewer.graph(); }
const GraphViewer& ViewerOf(const OrtGraph& view) noexcept { return static_cast<const GraphView&>(view).viewer; }

}  // namespace tessera::c_abi
