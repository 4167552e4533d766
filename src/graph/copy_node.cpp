#include "graph/copy_node.h"

#include <unordered_map>

namespace tessera {

NodeIndex CopyNode(const Graph& from, const Node& node, Graph& to) {
  Node copy = node;
  copy.implicit_inputs.clear();
  std::unordered_map<ValueIndex, ValueIndex> copied;
  for (auto* list : {&copy.inputs, &copy.outputs}) {
    for (ValueIndex& index : *list) {
      if (index == kNone) continue;
      const auto [known, first] = copied.try_emplace(index, kNone);
      if (first) {
        known->second = to.AddValue(from.value(index).name, from.value(index).type);
        if (const Tensor* constant = from.constant(index)) to.SetConstant(known->second, *constant);
      }
      index = known->second;
    }
  }
  return to.AddNode(std::move(copy));
}

}  // namespace tessera
