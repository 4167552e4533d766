#include "cpu/ops/ml/forest_order.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tessera::cpu {
namespace {

/// Appends a tree's nodes that no tree before has.
template <class T>
void OrderTree(const ForestSource<T>& source, uint32_t root, std::vector<uint8_t>& state, std::vector<uint32_t>& order) {
  constexpr uint8_t kOpen = 1, kDone = 2;
  const size_t size = source.nodes.size(), begin = order.size();
  Require(root < size, "tree root {} is outside {} nodes", root, size);
  if (state[root] == kDone) return;
  state[root] = kOpen;
  std::vector<std::pair<uint32_t, int>> stack = {{root, 0}};
  while (!stack.empty()) {
    auto& [at, visited] = stack.back();
    const auto& node = source.nodes[at];
    if (node.branch == Branch::kLeaf || visited == 2) {
      state[at] = kDone;
      order.push_back(at);
      stack.pop_back();
      continue;
    }
    const uint32_t child = visited++ == 0 ? node.on_true : node.on_false;
    Require(child < size, "node {}: its child {} is outside {} nodes", at, child, size);
    uint8_t& seen = state[child];
    Require(seen != kOpen, "node {} is below itself: the tree has a cycle", child);
    if (seen == kDone) continue;
    seen = kOpen;
    stack.emplace_back(child, 0);
  }
  std::reverse(order.begin() + static_cast<std::ptrdiff_t>(begin), order.end());
}

}  // namespace

template <class T>
std::vector<uint32_t> OrderForest(const ForestSource<T>& source) {
  std::vector<uint8_t> state(source.nodes.size(), 0);
  std::vector<uint32_t> order;
  order.reserve(source.nodes.size());
  for (const uint32_t root : source.roots) OrderTree(source, root, state, order);
  // What no root leads to is no part of the trees, and an error where it is a cycle.
  std::vector<uint32_t> apart;
  for (size_t i = 0; i < source.nodes.size(); ++i) {
    if (state[i] == 0) OrderTree(source, static_cast<uint32_t>(i), state, apart);
  }
  return order;
}

template std::vector<uint32_t> OrderForest<float>(const ForestSource<float>&);
template std::vector<uint32_t> OrderForest<double>(const ForestSource<double>&);

}  // namespace tessera::cpu
