#include "graph/graph.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "base/check.h"
#include "base/load_limits.h"

namespace tessera {

namespace {

size_t BytesOf(const TypeInfo& type) {
  size_t bytes = type.inner == nullptr ? 0 : sizeof(TypeInfo);
  if (type.shape) {
    bytes += type.shape->size() * sizeof(Dimension);
    for (const Dimension& dim : *type.shape) bytes += dim.symbol.size();
  }
  return bytes;
}

size_t BytesOf(const Node& node) {
  size_t bytes = sizeof(Node) + node.name.size() + (node.inputs.size() + node.outputs.size() + node.implicit_inputs.size()) * 2 * sizeof(ValueIndex);
  for (const Attribute& attribute : node.attributes) {
    bytes += sizeof(Attribute) + attribute.name.size();
    if (const auto* text = std::get_if<std::string>(&attribute.value)) bytes += text->size();
    if (const auto* numbers = std::get_if<std::vector<int64_t>>(&attribute.value)) bytes += numbers->size() * sizeof(int64_t);
    if (const auto* numbers = std::get_if<std::vector<float>>(&attribute.value)) bytes += numbers->size() * sizeof(float);
    if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute.value)) {
      for (const std::string& text : *texts) bytes += sizeof(std::string) + text.size();
    }
  }
  return bytes;
}

}  // namespace

const LoadLimits& Graph::limits() const noexcept {
  static const LoadLimits& none = *new LoadLimits;  // outlives graphs in static storage
  const std::shared_ptr<LoadLimits>& held = root().limits_;
  return held == nullptr ? none : *held;
}

void Graph::set_limits(std::shared_ptr<LoadLimits> limits) {
  charge_ = MemoryCharge(limits == nullptr ? HostAllocator() : limits->memory());
  limits_ = std::move(limits);
}

void Graph::Charge(size_t bytes) const { root().charge_.Add(bytes); }

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
  limits().Check();
  Charge(sizeof(GraphValue) + 2 * name.size() + BytesOf(type));
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
  const auto found = value_names_.find(name);
  return found == value_names_.end() ? kNone : found->second;
}

ValueIndex Graph::Capture(ValueIndex outer) {
  const auto held = captures_.find(outer);
  if (held != captures_.end()) return held->second;
  const GraphValue& source = parent_->value(outer);
  const ValueIndex index = AddValue(FindValue(source.name) == kNone ? source.name : std::string(), source.type);
  value(index).outer = outer;
  captures_.emplace(outer, index);
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
      auto& consumers = value(input).consumers;  // a node that reads a value twice is at the end already
      if (consumers.empty() || consumers.back() != index) consumers.push_back(index);
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

NodeIndex Graph::AddNode(Node node, NodeIndex place) {
  const auto index = static_cast<NodeIndex>(nodes_.size());
  node.index = index;
  for (ValueIndex output : node.outputs) {
    if (output == kNone) continue;
    const GraphValue& defined = value(output);
    if (defined.producer != kNone || defined.is_input || defined.constant || defined.outer != kNone) {
      Fail(ErrorCode::kInvalidGraph, "{} writes '{}', which is already defined", node.Label(), defined.name);
    }
  }
  limits().Check();
  Charge(BytesOf(node));
  nodes_.push_back(std::make_unique<Node>(std::move(node)));
  places_.push_back(place == kNone ? index : places_[static_cast<size_t>(place)]);
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

void Graph::RefreshImplicitInputs(NodeIndex index) {
  Unlink(index);
  Node& holder = node(index);
  holder.implicit_inputs.clear();
  for (const auto& [name, graph] : Subgraphs(index)) {
    std::vector<ValueIndex> captured;
    for (const auto& [outer, local] : graph->captures_) {
      const GraphValue& stand_in = graph->value(local);
      if (!stand_in.consumers.empty() || stand_in.is_output) captured.push_back(outer);
    }
    std::sort(captured.begin(), captured.end());
    for (ValueIndex outer : captured) {
      auto& held = holder.implicit_inputs;
      if (std::find(held.begin(), held.end(), outer) == held.end()) held.push_back(outer);
    }
  }
  Link(index);
}

void Graph::MoveTo(Graph& parent, const std::function<ValueIndex(ValueIndex)>& moved) {
  parent_ = &parent;
  const auto captures = std::exchange(captures_, {});
  for (const auto& [outer, local] : captures) {
    const ValueIndex now = moved(outer);
    value(local).outer = now;
    // Two that were apart may be one there.
    if (const auto [known, first] = captures_.emplace(now, local); !first) ReplaceUses(local, known->second);
  }
}

void Graph::RenameCapture(ValueIndex from, ValueIndex to) {
  const auto held = captures_.extract(from);
  if (held.empty()) return;
  if (const auto known = captures_.find(to); known != captures_.end()) {
    ReplaceUses(held.mapped(), known->second);
  } else {
    value(held.mapped()).outer = to;
    captures_.emplace(to, held.mapped());
  }
}

void Graph::ReplaceUses(ValueIndex from, ValueIndex to) {
  const std::vector<NodeIndex> consumers = value(from).consumers;
  for (NodeIndex consumer : consumers) {
    Unlink(consumer);
    Node& user = node(consumer);
    std::replace(user.inputs.begin(), user.inputs.end(), from, to);
    if (std::find(user.implicit_inputs.begin(), user.implicit_inputs.end(), from) != user.implicit_inputs.end()) {
      for (auto& [name, graph] : Subgraphs(consumer)) graph->RenameCapture(from, to);
      auto& held = user.implicit_inputs;
      if (std::find(held.begin(), held.end(), to) == held.end()) {
        std::replace(held.begin(), held.end(), from, to);
      } else {
        std::erase(held, from);
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
  // Kahn's algorithm; the first ready place first keeps the model's own order where it is one.
  std::vector<int> waiting(nodes_.size(), 0);
  using Ready = std::pair<NodeIndex, NodeIndex>;  // place, index
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const auto push = [&](size_t index) { ready.emplace(places_[index], static_cast<NodeIndex>(index)); };
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
    if (waiting[i] == 0) push(i);
  }
  order_.clear();
  order_.reserve(total);
  while (!ready.empty()) {
    const NodeIndex index = ready.top().second;
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
      if (--waiting[static_cast<size_t>(follower)] == 0) push(static_cast<size_t>(follower));
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
