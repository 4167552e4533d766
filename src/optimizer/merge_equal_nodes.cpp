// merge_equal_nodes: of nodes that compute the same from the same, one stays (common subexpressions).

#include <algorithm>
#include <bit>
#include <set>
#include <unordered_map>

#include "graph/schema.h"
#include "optimizer/edit.h"
#include "optimizer/rewrites.h"
#include "optimizer/tensor_contents.h"

namespace tessera {
namespace {

/// 0 and -0 are not the same, NaN and NaN are.
bool SameBits(float a, float b) noexcept { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

bool Equal(const AttributeValue& a, const AttributeValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        const T& y = std::get<T>(b);
        if constexpr (std::is_same_v<T, Tensor>) {
          return SameContents(x, y);
        } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
          return std::equal(x.begin(), x.end(), y.begin(), y.end(), SameContents);
        } else if constexpr (std::is_same_v<T, float>) {
          return SameBits(x, y);
        } else if constexpr (std::is_same_v<T, std::vector<float>>) {
          return std::equal(x.begin(), x.end(), y.begin(), y.end(), SameBits);
        } else if constexpr (std::is_same_v<T, SparseTensor> || std::is_same_v<T, TypeInfo> ||
                             std::is_same_v<T, std::vector<TypeInfo>> || std::is_same_v<T, std::shared_ptr<Graph>>) {
          return false;
        } else {
          return x == y;
        }
      },
      a);
}

bool SameAttributes(const Node& a, const Node& b) {
  return a.attributes.size() == b.attributes.size() &&
         std::all_of(a.attributes.begin(), a.attributes.end(), [&](const Attribute& attribute) {
           const AttributeValue* other = b.FindAttribute(attribute.name);
           return other != nullptr && Equal(attribute.value, *other);
         });
}

bool SameOutputs(const Node& a, const Node& b) {
  return std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(),
                    [](ValueIndex x, ValueIndex y) { return (x == kNone) == (y == kNone); });
}

uint64_t HashOf(const Node& node) {
  uint64_t hash = std::hash<std::string>()(node.op_type);
  for (const ValueIndex input : node.inputs) hash = hash * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(input) + 1;
  return hash;
}

/// The same inputs give the same outputs, always.
bool IsPure(const Graph& graph, const Node& node) {
  static const std::set<std::string_view> random = {"RandomNormal",      "RandomNormalLike", "RandomUniform",
                                                    "RandomUniformLike", "Multinomial",      "Bernoulli",
                                                    "Dropout"};
  return FindSchema(node) != nullptr && !random.contains(node.op_type) && graph.Subgraphs(node.index).empty();
}

class EqualNodeMerging final : public Rewrite {
 public:
  size_t Run(Graph& graph, RewriteContext&) override {
    std::unordered_multimap<uint64_t, NodeIndex> seen;
    const std::vector<NodeIndex> order = graph.TopologicalOrder();
    size_t changes = 0;
    for (const NodeIndex index : order) {
      const Node& node = graph.node(index);
      if (!IsPure(graph, node)) continue;
      const uint64_t hash = HashOf(node);
      const auto [first, last] = seen.equal_range(hash);
      const auto same = std::find_if(first, last, [&](const auto& entry) { return AreEqual(graph.node(entry.second), node); });
      if (same == last) {
        seen.emplace(hash, index);
      } else if (MakesOutput(graph, node)) {
        if (MakesOutput(graph, graph.node(same->second))) continue;  // both names must stay
        Merge(graph, same->second, index);
        same->second = index;
        ++changes;
      } else {
        Merge(graph, index, same->second);
        ++changes;
      }
    }
    return changes;
  }

 private:
  static bool AreEqual(const Node& a, const Node& b) {
    return a.op_type == b.op_type && a.domain == b.domain && a.since_version == b.since_version && a.overload == b.overload &&
           a.inputs == b.inputs && SameOutputs(a, b) && SameAttributes(a, b);
  }

  static bool MakesOutput(const Graph& graph, const Node& node) {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueIndex output) { return output != kNone && graph.value(output).is_output; });
  }

  static void Merge(Graph& graph, NodeIndex gone, NodeIndex kept) {
    const std::vector<ValueIndex> from = graph.node(gone).outputs, to = graph.node(kept).outputs;
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] != kNone) graph.ReplaceUses(from[i], to[i]);
    }
    graph.RemoveNode(gone);
  }
};

}  // namespace

std::unique_ptr<Rewrite> MergeEqualNodes() { return std::make_unique<EqualNodeMerging>(); }

}  // namespace tessera
