#include "graph/move_nodes.h"

namespace tessera {

ValueIndex NodeMove::Moved(ValueIndex index) {
  if (index == kNone) return kNone;
  const auto [held, first] = moved_.try_emplace(index, kNone);
  if (!first) return held->second;
  const GraphValue& value = from_.value(index);
  if (value.outer != kNone && from_.parent() == &to_) return held->second = value.outer;
  held->second = to_.AddValue(to_.FindValue(value.name) == kNone ? value.name : std::string(), value.type);
  if (const Tensor* constant = from_.constant(index); constant != nullptr) to_.SetConstant(held->second, *constant);
  return held->second;
}

NodeIndex NodeMove::Move(NodeIndex index) {
  Node node = from_.node(index);
  node.index = kNone;
  for (auto* list : {&node.inputs, &node.implicit_inputs, &node.outputs}) {
    for (ValueIndex& value : *list) value = Moved(value);
  }
  for (const auto& [name, nested] : from_.Subgraphs(index)) {
    nested->MoveTo(to_, [&](ValueIndex outer) { return Moved(outer); });
  }
  const NodeIndex added = to_.AddNode(std::move(node), place_);
  to_.SetOrigin(added, from_.origin(index));
  return added;
}

}  // namespace tessera
