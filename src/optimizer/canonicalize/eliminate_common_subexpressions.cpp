// eliminate_common_subexpressions: of nodes that compute the same from the same, one stays (common subexpressions).

#include <algorithm>
#include <bit>
#include <numeric>
#include <type_traits>
#include <unordered_map>

#include "base/load_limits.h"
#include "base/seeded_hash.h"
#include "graph/op_traits.h"
#include "graph/operator_definitions.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/tensor_contents.h"
#include "optimizer/rewrites.h"

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

/// Whether a value of this kind is ever equal to another: nobody compares nested graphs and types.
bool IsComparable(const AttributeValue& value) {
  return !std::holds_alternative<SparseTensor>(value) && !std::holds_alternative<TypeInfo>(value) &&
         !std::holds_alternative<std::vector<TypeInfo>>(value) && !std::holds_alternative<std::shared_ptr<Graph>>(value);
}

uint64_t HashOf(const AttributeValue& value) {
  const uint64_t hash = SeededHash(uint64_t{value.index()}, 0);
  return std::visit(
      [&](const auto& x) -> uint64_t {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, Tensor>) {
          return SeededHash(ContentsHash(x), hash);
        } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
          return std::accumulate(x.begin(), x.end(), hash,
                                 [](uint64_t sum, const Tensor& tensor) { return SeededHash(ContentsHash(tensor), sum); });
        } else if constexpr (std::is_same_v<T, std::string>) {
          return SeededHash(x, hash);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          return std::accumulate(x.begin(), x.end(), hash,
                                 [](uint64_t sum, const std::string& text) { return SeededHash(text, sum); });
        } else if constexpr (std::is_arithmetic_v<T>) {
          return SeededHash(&x, sizeof(x), hash);
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>> || std::is_same_v<T, std::vector<float>>) {
          return SeededHash(x.data(), x.size() * sizeof(x[0]), hash);
        } else {
          return hash;
        }
      },
      static_cast<const AttributeVariant&>(value));
}

std::vector<const Attribute*> ByName(const Node& node) {
  std::vector<const Attribute*> attributes;
  attributes.reserve(node.attributes.size());
  for (const Attribute& attribute : node.attributes) attributes.push_back(&attribute);
  std::sort(attributes.begin(), attributes.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  return attributes;
}

bool SameAttributes(const Node& a, const Node& b) {
  const auto x = ByName(a), y = ByName(b);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const Attribute* left, const Attribute* right) {
    return left->name == right->name && Equal(left->value, right->value);
  });
}

bool SameOutputs(const Node& a, const Node& b) {
  return std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(),
                    [](ValueIndex x, ValueIndex y) { return (x == kNone) == (y == kNone); });
}

/// Of all that AreEqual compares: nodes that differ in anything must not meet in one bucket, where each is compared with
/// all.
uint64_t HashOf(const Node& node) {
  uint64_t hash = SeededHash(node.op_type,
                             SeededHash(node.domain, SeededHash(node.overload, static_cast<uint64_t>(node.since_version))));
  hash = SeededHash(node.inputs.data(), node.inputs.size() * sizeof(ValueIndex), hash);
  for (const ValueIndex output : node.outputs) hash = SeededHash(uint64_t{output == kNone}, hash);
  uint64_t attributes = 0;  // in any order
  for (const Attribute& attribute : node.attributes)
    attributes += SeededHash(HashOf(attribute.value), SeededHash(attribute.name));
  return SeededHash(attributes, hash);
}

/// The same inputs give the same outputs, always.
bool IsPure(const Graph& graph, const Node& node) {
  return FindSchema(graph, node) != nullptr && !Has(node, OpTrait::kRandom) &&
         std::ranges::all_of(node.attributes, [](const Attribute& attribute) { return IsComparable(attribute.value); });
}

class EqualNodeMerging final : public Rewrite {
 public:
  size_t Run(Graph& graph, RewriteContext&) override {
    std::unordered_multimap<uint64_t, NodeIndex> seen;
    const std::vector<NodeIndex> order = graph.TopologicalOrder();
    size_t changes = 0;
    for (const NodeIndex index : order) {
      graph.limits().Check();
      const Node& node = graph.node(index);
      if (!IsPure(graph, node)) continue;
      const uint64_t hash = HashOf(node);
      const auto [first, last] = seen.equal_range(hash);
      const auto same =
          std::find_if(first, last, [&](const auto& entry) { return AreEqual(graph.node(entry.second), node); });
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
    return a.op_type == b.op_type && a.domain == b.domain && a.since_version == b.since_version &&
           a.overload == b.overload && a.inputs == b.inputs && SameOutputs(a, b) && SameAttributes(a, b);
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

std::unique_ptr<Rewrite> EliminateCommonSubexpressions() { return std::make_unique<EqualNodeMerging>(); }

}  // namespace tessera
