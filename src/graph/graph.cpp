#include "graph/graph.h"

#include <algorithm>
#include <queue>

#include "base/check.h"

namespace tessera {

ValueIndex Graph::AddValue(std::string name, TypeInfo type) {
  const auto index = static_cast<ValueIndex>(values_.size());
  if (name.empty()) {
    do {
      name = fmt::format("_{}", next_name_++);
    } while (value_names_.contains(name));
  }
  if (!value_names_.emplace(name, index).second) {
    Fail(ErrorCode::kInvalidGraph, "value '{}' is defined twice in graph '{}'", name, name_);
  }
  values_.emplace_back();
  values_.back().name = std::move(name);
  values_.back().type = std::move(type);
  return index;
}

ValueIndex Graph::AddConstant(std::string name, Tensor tensor) {
  const ValueIndex index = AddValue(std::move(name));
  SetConstant(index, std::move(tensor));
  return index;
}

void Graph::SetConstant(ValueIndex index, Tensor tensor) {
  value(index).type = Value(tensor).type();
  value(index).constant = std::move(tensor);
}

ValueIndex Graph::FindValue(std::string_view name) const noexcept {
  const auto found = value_names_.find(std::string(name));
  return found == value_names_.end() ? kNone : found->second;
}

ValueIndex Graph::Capture(ValueIndex outer) {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].outer == outer) return static_cast<ValueIndex>(i);
  }
  const GraphValue& source = parent_->value(outer);
  const ValueIndex index = AddValue(FindValue(source.name) == kNone ? source.name : std::string(), source.type);
  value(index).outer = outer;
  return index;
}

const Tensor* Graph::constant(ValueIndex index) const noexcept {
  const GraphValue& held = value(index);
  if (held.constant) return &*held.constant;
  return held.outer != kNone && parent_ != nullptr ? parent_->constant(held.outer) : nullptr;
}

void Graph::Link(NodeIndex index) {
  const Node& linked = node(index);
  for (const auto* list : {&linked.inputs, &linked.implicit_inputs}) {
    for (ValueIndex input : *list) {
      if (input == kNone) continue;
      auto& consumers = value(input).consumers;
      if (std::find(consumers.begin(), consumers.end(), index) == consumers.end()) consumers.push_back(index);
    }
  }
  for (ValueIndex output : linked.outputs) {
    if (output != kNone) value(output).producer = index;
  }
  order_valid_ = false;
}

void Graph::Unlink(NodeIndex index) {
  const Node& linked = node(index);
  for (const auto* list : {&linked.inputs, &linked.implicit_inputs}) {
    for (ValueIndex input : *list) {
      if (input != kNone) std::erase(value(input).consumers, index);
    }
  }
  for (ValueIndex output : linked.outputs) {
    if (output != kNone && value(output).producer == index) value(output).producer = kNone;
  }
  order_valid_ = false;
}

NodeIndex Graph::AddNode(Node node) {
  const auto index = static_cast<NodeIndex>(nodes_.size());
  node.index = index;
  for (ValueIndex output : node.outputs) {
    if (output == kNone) continue;
    const GraphValue& defined = value(output);
    if (defined.producer != kNone || defined.is_input || defined.constant || defined.outer != kNone) {
      Fail(ErrorCode::kInvalidGraph, "{} writes '{}', which is already defined", node.Label(), defined.name);
    }
  }
  nodes_.push_back(std::make_unique<Node>(std::move(node)));
  Link(index);
  return index;
}

void Graph::RemoveNode(NodeIndex index) {
  Unlink(index);
  nodes_[static_cast<size_t>(index)].reset();
}

void Graph::SetInput(NodeIndex index, size_t input, ValueIndex replacement) {
  Unlink(index);
  node(index).inputs[input] = replacement;
  Link(index);
}

void Graph::SetOutput(NodeIndex index, size_t output, ValueIndex replacement) {
  Unlink(index);
  node(index).outputs[output] = replacement;
  Link(index);
}

void Graph::ReplaceUses(ValueIndex from, ValueIndex to) {
  const std::vector<NodeIndex> consumers = value(from).consumers;
  for (NodeIndex consumer : consumers) {
    Unlink(consumer);
    Node& user = node(consumer);
    std::replace(user.inputs.begin(), user.inputs.end(), from, to);
    if (std::find(user.implicit_inputs.begin(), user.implicit_inputs.end(), from) != user.implicit_inputs.end()) {
      std::replace(user.implicit_inputs.begin(), user.implicit_inputs.end(), from, to);
      for (auto& [name, graph] : Subgraphs(consumer)) {
        for (size_t i = 0; i < graph->num_values(); ++i) {
          if (graph->value(static_cast<ValueIndex>(i)).outer == from) graph->value(static_cast<ValueIndex>(i)).outer = to;
        }
      }
    }
    Link(consumer);
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i] == from) SetGraphOutput(i, to);
  }
}

void Graph::AddInput(ValueIndex index) {
  value(index).is_input = true;
  inputs_.push_back(index);
}

void Graph::AddOutput(ValueIndex index) {
  value(index).is_output = true;
  outputs_.push_back(index);
}

void Graph::SetGraphOutput(size_t i, ValueIndex index) {
  const ValueIndex old = outputs_[i];
  outputs_[i] = index;
  value(index).is_output = true;
  value(old).is_output = std::find(outputs_.begin(), outputs_.end(), old) != outputs_.end();
}

int Graph::opset_version(std::string_view domain) const noexcept {
  const auto& imports = opsets();
  const auto found = imports.find(domain == "ai.onnx" ? std::string_view() : domain);
  return found == imports.end() ? 0 : found->second;
}

const std::map<std::string, int, std::less<>>& Graph::opsets() const noexcept {
  return opsets_.empty() && parent_ != nullptr ? parent_->opsets() : opsets_;
}

const std::vector<NodeIndex>& Graph::TopologicalOrder() const {
  if (order_valid_) return order_;
  // Kahn's algorithm; the smallest ready index first keeps the model's own order where it is one.
  std::vector<int> waiting(nodes_.size(), 0);
  std::priority_queue<NodeIndex, std::vector<NodeIndex>, std::greater<>> ready;
  size_t total = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i] == nullptr) continue;
    ++total;
    std::vector<NodeIndex> producers;
    for (const auto* list : {&nodes_[i]->inputs, &nodes_[i]->implicit_inputs}) {
      for (ValueIndex input : *list) {
        if (input != kNone && value(input).producer != kNone) producers.push_back(value(input).producer);
      }
    }
    std::sort(producers.begin(), producers.end());
    waiting[i] = static_cast<int>(std::unique(producers.begin(), producers.end()) - producers.begin());
    if (waiting[i] == 0) ready.push(static_cast<NodeIndex>(i));
  }
  order_.clear();
  order_.reserve(total);
  while (!ready.empty()) {
    const NodeIndex index = ready.top();
    ready.pop();
    order_.push_back(index);
    std::vector<NodeIndex> followers;
    for (ValueIndex output : node(index).outputs) {
      if (output == kNone) continue;
      const auto& consumers = value(output).consumers;
      followers.insert(followers.end(), consumers.begin(), consumers.end());
    }
    std::sort(followers.begin(), followers.end());
    followers.erase(std::unique(followers.begin(), followers.end()), followers.end());
    for (NodeIndex follower : followers) {
      if (--waiting[static_cast<size_t>(follower)] == 0) ready.push(follower);
    }
  }
  if (order_.size() != total) {
    std::string cycle;
    for (size_t i = 0; i < nodes_.size() && cycle.size() < 300; ++i) {
      if (nodes_[i] != nullptr && waiting[i] > 0) cycle += (cycle.empty() ? "" : ", ") + nodes_[i]->Label();
    }
    Fail(ErrorCode::kInvalidGraph, "graph '{}' has a cycle through {}", name_, cycle);
  }
  order_valid_ = true;
  return order_;
}

std::vector<std::pair<std::string_view, Graph*>> Graph::Subgraphs(NodeIndex index) const {
  std::vector<std::pair<std::string_view, Graph*>> graphs;
  for (const Attribute& attribute : node(index).attributes) {
    if (const auto* graph = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) {
      graphs.emplace_back(attribute.name, graph->get());
    }
  }
  return graphs;
}

}  // namespace tessera
