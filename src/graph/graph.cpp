#include "graph/graph.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "base/held_bytes.h"
#include "base/load_limits.h"
#include "graph/impossible_sizes.h"

namespace tessera {
namespace {

/// Values with more readers than this find them by an index, those with fewer by looking at each.
constexpr size_t kPopular = 64;
constexpr size_t kAbsent = static_cast<size_t>(-1);

/// Characters of a tensor of strings, which no allocator knows of.
size_t TextBytes(const Tensor& tensor) {
  return tensor.is(ElementType::kString) ? HeldBytes(Value(tensor)) - tensor.byte_size() : 0;
}

/// Of a value: its entry among the names, the list of its readers. Of a node: its own allocation, its places in orders. Of
/// a nested graph: its own allocation, its lists, which are small. Of a captured value: its entry among the captures.
constexpr size_t kAroundValue = 128, kAroundNode = 64, kAroundGraph = 1100, kAroundCapture = 64;

size_t BytesOf(const Node& node) {
  size_t bytes = sizeof(Node) + kAroundNode + node.name.size() +
                 (node.inputs.size() + node.outputs.size() + node.implicit_inputs.size()) * 2 * sizeof(ValueIndex);
  for (const Attribute& attribute : node.attributes) {
    bytes += sizeof(Attribute) + attribute.name.size();
    if (const auto* text = std::get_if<std::string>(&attribute.value)) bytes += text->size();
    if (const auto* numbers = std::get_if<std::vector<int64_t>>(&attribute.value))
      bytes += numbers->size() * sizeof(int64_t);
    if (const auto* numbers = std::get_if<std::vector<float>>(&attribute.value)) bytes += numbers->size() * sizeof(float);
    if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute.value)) {
      for (const std::string& text : *texts) bytes += sizeof(std::string) + text.size();
    }
    if (const auto* tensor = std::get_if<Tensor>(&attribute.value)) bytes += TextBytes(*tensor);
    if (const auto* type = std::get_if<TypeInfo>(&attribute.value)) bytes += HeldBytes(*type);
  }
  return bytes;
}

}  // namespace

Graph::Graph(Graph* parent) : parent_(parent), depth_(parent == nullptr ? 0 : parent->depth_ + 1) {
  if (depth_ > kDeepest) Fail(ErrorCode::kInvalidGraph, "graphs are nested more than {} deep", kDeepest);
  if (parent != nullptr) Charge(sizeof(Graph) + kAroundGraph);
}

void Graph::SetParent(Graph& parent) {
  parent_ = &parent;
  depth_ = parent.depth_ + 1;
  if (depth_ > kDeepest) Fail(ErrorCode::kInvalidGraph, "graphs are nested more than {} deep", kDeepest);
  if (!may_hold_graphs_) return;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i] == nullptr) continue;
    for (const auto& [name, nested] : Subgraphs(static_cast<NodeIndex>(i))) nested->SetParent(*this);
  }
}

const LoadLimits& Graph::limits() const noexcept {
  const std::shared_ptr<LoadLimits>& held = root().limits_;
  return held == nullptr ? LoadLimits::None() : *held;
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
  ForgetImpossible(type);
  Charge(sizeof(GraphValue) + kAroundValue + 2 * name.size() + HeldBytes(type));
  values_.emplace_back();
  uses_.emplace_back();
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
  Charge(TextBytes(tensor));
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
  Charge(kAroundCapture);
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

size_t Graph::FindUse(ValueIndex read, NodeIndex reader) const {
  const Uses& uses = uses_[static_cast<size_t>(read)];
  if (uses.at != nullptr) {
    const auto found = uses.at->find(reader);
    return found == uses.at->end() ? kAbsent : found->second;
  }
  const auto& consumers = value(read).consumers;
  const auto found = std::find(consumers.begin(), consumers.end(), reader);
  return found == consumers.end() ? kAbsent : static_cast<size_t>(found - consumers.begin());
}

void Graph::AddUse(ValueIndex read, NodeIndex reader) {
  Uses& uses = uses_[static_cast<size_t>(read)];
  if (const size_t at = FindUse(read, reader); at != kAbsent) {
    ++uses.counts[at];
    return;
  }
  auto& consumers = value(read).consumers;
  consumers.push_back(reader);
  uses.counts.push_back(1);
  if (uses.at != nullptr) {
    uses.at->emplace(reader, consumers.size() - 1);
  } else if (consumers.size() > kPopular) {
    uses.at = std::make_unique<std::unordered_map<NodeIndex, size_t>>();
    for (size_t i = 0; i < consumers.size(); ++i) uses.at->emplace(consumers[i], i);
  }
}

void Graph::RemoveUse(ValueIndex read, NodeIndex reader) {
  Uses& uses = uses_[static_cast<size_t>(read)];
  const size_t at = FindUse(read, reader);
  if (at == kAbsent || --uses.counts[at] > 0) return;
  auto& consumers = value(read).consumers;
  if (uses.at == nullptr) {
    consumers.erase(consumers.begin() + static_cast<ptrdiff_t>(at));
    uses.counts.erase(uses.counts.begin() + static_cast<ptrdiff_t>(at));
    return;
  }
  // Closing the gap in order would move all that follow: the last one comes there.
  uses.at->erase(reader);
  if (at + 1 < consumers.size()) {
    consumers[at] = consumers.back();
    uses.counts[at] = uses.counts.back();
    uses.at->at(consumers[at]) = at;
  }
  consumers.pop_back();
  uses.counts.pop_back();
  if (consumers.size() <= kPopular / 2) uses.at.reset();
}

void Graph::Link(NodeIndex index) {
  const Node& linked = node(index);
  for (const auto* list : {&linked.inputs, &linked.implicit_inputs}) {
    for (ValueIndex input : *list) {
      if (input != kNone) AddUse(input, index);
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
      if (input != kNone) RemoveUse(input, index);
    }
  }
  for (ValueIndex output : linked.outputs) {
    if (output != kNone && value(output).producer == index) value(output).producer = kNone;
  }
  wide_nodes_.erase(index);
  order_valid_ = false;
}

Graph::WideNode* Graph::FindWide(NodeIndex index) const {
  constexpr size_t kWide = 64;
  const Node& held = node(index);
  if (held.inputs.size() + held.implicit_inputs.size() + held.outputs.size() < kWide) return nullptr;
  const auto [found, first] = wide_nodes_.try_emplace(index);
  if (first) {
    for (size_t i = 0; i < held.inputs.size(); ++i) found->second.inputs[held.inputs[i]].push_back(i);
    for (size_t i = 0; i < held.outputs.size(); ++i) found->second.outputs.emplace(held.outputs[i], i);
    for (size_t i = 0; i < held.implicit_inputs.size(); ++i)
      found->second.implicit_inputs[held.implicit_inputs[i]].push_back(i);
  }
  return &found->second;
}

NodeOrigin Graph::OriginOf(const Node& added, NodeIndex place) const noexcept {
  if (added.index != kNone && static_cast<size_t>(added.index) < origins_.size()) return origin(added.index);
  if (place == kNone) return {};
  const NodeOrigin of_place = origin(place);
  return {.index = of_place.index, .inserted = of_place.inserted || has_node(place)};
}

NodeIndex Graph::AddNode(Node node, NodeIndex place) {
  const auto index = static_cast<NodeIndex>(nodes_.size());
  const NodeOrigin origin = OriginOf(node, place);
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
  may_hold_graphs_ = may_hold_graphs_ || std::ranges::any_of(node.attributes, [](const Attribute& attribute) {
                       return std::holds_alternative<std::shared_ptr<Graph>>(attribute.value);
                     });
  nodes_.push_back(std::make_unique<Node>(std::move(node)));
  origins_.push_back(origin);
  places_.push_back(place == kNone ? index : places_[static_cast<size_t>(place)]);
  Link(index);
  return index;
}

void Graph::RemoveNode(NodeIndex index) {
  Unlink(index);
  Node& removed = node(index);
  if (provenance() != nullptr) {
    removed.inputs.insert(removed.inputs.end(), removed.implicit_inputs.begin(), removed.implicit_inputs.end());
    edits_.removed.push_back({origin(index), std::move(removed.inputs), std::move(removed.outputs)});
  }
  nodes_[static_cast<size_t>(index)].reset();
}

Graph::Edits Graph::TakeEdits() {
  return std::exchange(edits_, {.removed = {}, .first_added = static_cast<NodeIndex>(nodes_.size())});
}

void Graph::SetInput(NodeIndex index, size_t input, ValueIndex replacement) {
  ValueIndex& held = node(index).inputs[input];
  if (held == replacement) return;
  if (const auto wide = wide_nodes_.find(index); wide != wide_nodes_.end()) {
    std::erase(wide->second.inputs[held], input);
    wide->second.inputs[replacement].push_back(input);
  }
  if (held != kNone) RemoveUse(held, index);
  held = replacement;
  if (held != kNone) AddUse(held, index);
  order_valid_ = false;
}

void Graph::SetOutput(NodeIndex index, size_t output, ValueIndex replacement) {
  ValueIndex& held = node(index).outputs[output];
  if (const auto wide = wide_nodes_.find(index); wide != wide_nodes_.end()) {
    wide->second.outputs.erase(held);
    wide->second.outputs.emplace(replacement, output);
  }
  if (held != kNone && value(held).producer == index) value(held).producer = kNone;
  held = replacement;
  if (held != kNone) value(held).producer = index;
  order_valid_ = false;
}

void Graph::RefreshImplicitInputs(NodeIndex index) {
  Unlink(index);
  Node& holder = node(index);
  holder.implicit_inputs.clear();
  std::unordered_set<ValueIndex> held;
  for (const auto& [name, graph] : Subgraphs(index)) {
    std::vector<ValueIndex> captured;
    for (const auto& [outer, local] : graph->captures_) {
      const GraphValue& stand_in = graph->value(local);
      if (!stand_in.consumers.empty() || stand_in.is_output) captured.push_back(outer);
    }
    std::sort(captured.begin(), captured.end());
    for (ValueIndex outer : captured) {
      if (held.insert(outer).second) holder.implicit_inputs.push_back(outer);
    }
  }
  Link(index);
}

void Graph::MoveTo(Graph& parent, const std::function<ValueIndex(ValueIndex)>& moved) {
  SetParent(parent);
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

size_t Graph::OutputPosition(ValueIndex index) const {
  const NodeIndex producer = value(index).producer;
  if (const WideNode* wide = FindWide(producer); wide != nullptr) return wide->outputs.at(index);
  const auto& outputs = node(producer).outputs;
  return static_cast<size_t>(std::find(outputs.begin(), outputs.end(), index) - outputs.begin());
}

bool Graph::ReadsOnce(NodeIndex reader, ValueIndex read) const {
  const size_t at = FindUse(read, reader);
  if (at == kAbsent || uses_[static_cast<size_t>(read)].counts[at] != 1) return false;
  const auto& implicit = node(reader).implicit_inputs;
  if (implicit.empty()) return true;
  if (const WideNode* wide = FindWide(reader); wide != nullptr) return !wide->implicit_inputs.contains(read);
  return std::find(implicit.begin(), implicit.end(), read) == implicit.end();
}

void Graph::ReplaceInput(NodeIndex index, ValueIndex from, ValueIndex to) {
  auto& inputs = node(index).inputs;
  const auto replace = [&](size_t i) {
    inputs[i] = to;
    RemoveUse(from, index);
    AddUse(to, index);
  };
  if (WideNode* wide = FindWide(index); wide != nullptr) {
    auto moved = wide->inputs.extract(from);
    if (moved.empty()) return;
    for (const size_t i : moved.mapped()) replace(i);
    auto& there = wide->inputs[to];
    if (there.size() < moved.mapped().size()) there.swap(moved.mapped());
    there.insert(there.end(), moved.mapped().begin(), moved.mapped().end());
    return;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == from) replace(i);
  }
}

void Graph::ReplaceImplicitInput(NodeIndex index, ValueIndex from, ValueIndex to) {
  auto& held = node(index).implicit_inputs;
  WideNode* wide = FindWide(index);
  const auto find = [&](ValueIndex wanted) -> size_t {
    if (wide == nullptr) return static_cast<size_t>(std::find(held.begin(), held.end(), wanted) - held.begin());
    const auto found = wide->implicit_inputs.find(wanted);
    return found == wide->implicit_inputs.end() || found->second.empty() ? held.size() : found->second.front();
  };
  const size_t at = find(from);
  if (at == held.size()) return;
  for (auto& [name, graph] : Subgraphs(index)) graph->RenameCapture(from, to);
  RemoveUse(from, index);
  if (find(to) == held.size()) {
    held[at] = to;
    AddUse(to, index);
    if (wide == nullptr) return;
    wide->implicit_inputs.erase(from);
    wide->implicit_inputs[to] = {at};
  } else if (wide == nullptr) {
    held.erase(held.begin() + static_cast<ptrdiff_t>(at));
  } else {
    // Closing the gap in order would move all that follow.
    wide->implicit_inputs[held.back()] = {at};
    wide->implicit_inputs.erase(from);
    held[at] = held.back();
    held.pop_back();
  }
}

void Graph::ReplaceUses(ValueIndex from, ValueIndex to) {
  if (from == to) return;
  const std::vector<NodeIndex> consumers = value(from).consumers;
  for (NodeIndex consumer : consumers) {
    ReplaceInput(consumer, from, to);
    ReplaceImplicitInput(consumer, from, to);
  }
  if (value(from).is_output) {
    const auto found = output_positions_.find(from);
    const std::vector<size_t> positions = found == output_positions_.end() ? std::vector<size_t>() : found->second;
    for (const size_t i : positions) SetGraphOutput(i, to);
  }
  order_valid_ = false;
}

void Graph::AddInput(ValueIndex index) {
  value(index).is_input = true;
  inputs_.push_back(index);
}

void Graph::AddOutput(ValueIndex index) {
  value(index).is_output = true;
  output_positions_[index].push_back(outputs_.size());
  outputs_.push_back(index);
}

void Graph::SetGraphOutput(size_t i, ValueIndex index) {
  const ValueIndex old = outputs_[i];
  if (old == index) return;
  std::vector<size_t>& before = output_positions_[old];
  std::erase(before, i);
  value(old).is_output = !before.empty();
  if (before.empty()) output_positions_.erase(old);
  outputs_[i] = index;
  output_positions_[index].push_back(i);
  value(index).is_output = true;
}

int Graph::opset_version(std::string_view domain) const noexcept {
  const auto& imports = opsets();
  const auto found = imports.find(domain == "ai.onnx" ? std::string_view() : domain);
  return found == imports.end() ? 0 : found->second;
}

const std::map<std::string, int, std::less<>>& Graph::opsets() const noexcept {
  return opsets_.empty() && parent_ != nullptr ? parent_->opsets() : opsets_;
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
