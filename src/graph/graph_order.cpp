// The execution order of a graph: that of the model's file as far as it is one.

#include <algorithm>
#include <functional>
#include <queue>

#include "base/check.h"
#include "base/load_limits.h"
#include "graph/graph.h"

namespace tessera {

const std::vector<NodeIndex>& Graph::TopologicalOrder() const {
  if (order_valid_) return order_;
  SortByPlace();
  if (!OrderHolds()) SortByReadiness();
  order_valid_ = true;
  return order_;
}

void Graph::SortByPlace() const {
  const LoadLimits& limits = this->limits();
  starts_.assign(nodes_.size() + 1, 0);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i] != nullptr) ++starts_[static_cast<size_t>(places_[i]) + 1];
  }
  limits.Check();
  for (size_t place = 1; place < starts_.size(); ++place) starts_[place] += starts_[place - 1];
  order_.resize(static_cast<size_t>(starts_.back()));
  order_positions_.assign(nodes_.size(), 0);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i] == nullptr) continue;
    const int32_t at = starts_[static_cast<size_t>(places_[i])]++;
    order_[static_cast<size_t>(at)] = static_cast<NodeIndex>(i);
    order_positions_[i] = at;
  }
}

bool Graph::OrderHolds() const {
  const LoadLimits& limits = this->limits();
  for (size_t i = 0; i < order_.size(); ++i) {
    limits.Check();
    const Node& reader = node(order_[i]);
    for (const auto* list : {&reader.inputs, &reader.implicit_inputs}) {
      for (const ValueIndex input : *list) {
        const NodeIndex producer = input == kNone ? kNone : value(input).producer;
        if (producer != kNone && order_positions_[static_cast<size_t>(producer)] >= static_cast<int32_t>(i)) return false;
      }
    }
  }
  return true;
}

void Graph::SortByReadiness() const {
  // Kahn's algorithm; the first ready place first keeps the model's own order as far as it is one.
  std::vector<uint32_t> waiting(nodes_.size(), 0);  // reads of values whose producers come first
  using Ready = std::pair<NodeIndex, NodeIndex>;    // place, index
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const auto push = [&](size_t index) { ready.emplace(places_[index], static_cast<NodeIndex>(index)); };
  const LoadLimits& limits = this->limits();
  const size_t total = order_.size();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i] == nullptr) continue;
    limits.Check();
    for (const auto* list : {&nodes_[i]->inputs, &nodes_[i]->implicit_inputs}) {
      for (const ValueIndex input : *list) waiting[i] += input != kNone && value(input).producer != kNone;
    }
    if (waiting[i] == 0) push(i);
  }
  order_.clear();
  while (!ready.empty()) {
    const NodeIndex index = ready.top().second;
    ready.pop();
    limits.Check();
    order_.push_back(index);
    for (const ValueIndex output : node(index).outputs) {
      if (output == kNone) continue;
      const auto& consumers = value(output).consumers;
      const auto& reads = uses_[static_cast<size_t>(output)].counts;
      for (size_t i = 0; i < consumers.size(); ++i) {
        const auto follower = static_cast<size_t>(consumers[i]);
        if ((waiting[follower] -= reads[i]) == 0) push(follower);
      }
    }
  }
  if (order_.size() != total) FailOfCycle(waiting);
  for (size_t i = 0; i < order_.size(); ++i) order_positions_[static_cast<size_t>(order_[i])] = static_cast<int32_t>(i);
}

void Graph::FailOfCycle(std::span<const uint32_t> waiting) const {
  std::string cycle;
  for (size_t i = 0; i < nodes_.size() && cycle.size() < 300; ++i) {
    if (nodes_[i] != nullptr && waiting[i] > 0) cycle += (cycle.empty() ? "" : ", ") + nodes_[i]->Label();
  }
  Fail(ErrorCode::kInvalidGraph, "graph '{}' has a cycle through {}", name_, cycle);
}

const std::vector<int32_t>& Graph::OrderPositions() const {
  TopologicalOrder();
  return order_positions_;
}

}  // namespace tessera
