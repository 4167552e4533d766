// sink_transposes: nodes that compute the same whichever way the dimensions stand (elementwise operators, Concat, Split,
// Slice, Pad, reductions) compute in the order in which the values come that a Transpose gives to some of them, where that
// leaves less to transpose: models in NHWC, as TensorFlow's exporters write them, lose the Transposes
// around their convolutions.

#include <algorithm>
#include <map>
#include <set>

#include "base/load_limits.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/min_cut.h"
#include "optimizer/analysis/permuted_node.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

/// Whether a Transpose by `perm` that gives this shape moves elements at all.
bool MovesElements(const SymbolicShape& shape, const Permutation& perm) {
  int64_t last = -1;
  for (size_t i = 0; i < perm.size(); ++i) {
    if (shape[i].value == 1) continue;
    if (perm[i] < last) return true;
    last = perm[i];
  }
  return false;
}

/// Elements that a Transpose by `perm` moves to give `value`, and what any node costs beside.
int64_t CostOf(const Graph& graph, ValueIndex value, const Permutation& perm) {
  constexpr double kNode = 64, kMost = 1e12;
  if (!MovesElements(*ShapeOf(graph, value), perm)) return 1;
  return static_cast<int64_t>(std::min(KnownElements(graph, value), kMost) + kNode);
}

/// Nodes that could compute in the order before a Transpose by `perm`, connected by values of that many dimensions; and
/// which of them had better.
class PermutableRegion {
 public:
  PermutableRegion(Graph& graph, const Permutation& perm) : graph_(graph), perm_(perm), inverse_(Inverse(perm)) {}

  bool Grow(NodeIndex seed) {
    if (!AddNode(seed)) return false;
    for (size_t i = 0; i < order_.size(); ++i) {
      const NodeIndex index = order_[i];
      const PermutedNode& permuted = nodes_.at(index);
      for (const size_t input : permuted.data) AddValue(graph_.node(index).inputs[input]);
      for (const ValueIndex output : graph_.node(index).outputs) {
        if (permuted.outputs_follow) AddValue(output);
      }
    }
    return true;
  }

  const std::vector<NodeIndex>& nodes() const noexcept { return order_; }
  /// Nodes that Rewrite made.
  const std::vector<NodeIndex>& made() const noexcept { return made_; }

  /// Keeps the nodes for which there is then least to transpose. False where that is no less than now.
  bool Choose() { return Choose(Joining::kReads) || (AnyJoins() && Choose(Joining::kGives)); }

  void Rewrite() {
    std::vector<std::pair<ValueIndex, NodeIndex>> given;
    for (const NodeIndex index : InOrder()) {
      graph_.limits().Check();
      const auto found = nodes_.find(index);
      if (found->second.outputs_follow) {
        for (const ValueIndex output : graph_.node(index).outputs) {
          if (output != kNone) given.emplace_back(output, index);
        }
      }
      Replace(index, std::move(found->second));
    }
    for (const auto& [value, before] : given) Give(value, before);
    for (const ValueIndex value : values_) {
      if (SourceOf(value) != kNone) RemoveUnread(graph_, graph_.value(value).producer);
    }
  }

 private:
  /// A Transpose between two values of the region, by a permutation that is its own inverse, gives the first one's other
  /// form and comes of the second one's. It counts as one of both: as both, turning the region over and back would gain
  /// each time.
  enum class Joining { kGives, kReads };

  bool Joins(NodeIndex transpose) const {
    const Node& node = graph_.node(transpose);
    return perm_ == inverse_ && values_.contains(node.inputs[0]) && values_.contains(node.outputs[0]);
  }

  /// Where none does, both ways of counting are the same.
  bool AnyJoins() const {
    return std::ranges::any_of(
        values_, [&](ValueIndex value) { return SourceOf(value) != kNone && Joins(graph_.value(value).producer); });
  }

  bool Choose(Joining joining) {
    constexpr size_t kAsIs = 0, kPermuted = 1;
    std::map<NodeIndex, size_t> vertices;
    for (const NodeIndex index : order_) vertices.emplace(index, 2 + vertices.size());
    size_t next = 2 + vertices.size();
    MinCut cut(next + 2 * values_.size());
    int64_t now = 0;
    for (const ValueIndex value : values_) {
      const int64_t cost = CostOf(graph_, value, perm_);
      const NodeIndex producer = graph_.value(value).producer;
      const auto inside = vertices.find(producer);
      const bool made_here = SourceOf(value) != kNone && !(joining == Joining::kReads && Joins(producer));
      const size_t from = inside != vertices.end() ? inside->second : made_here ? kPermuted : kAsIs;
      // The value is transposed once, for whichever of its readers are on the other side.
      const size_t to_permuted = next++, to_as_is = next++;
      cut.AddEdge(from, to_permuted, cost);
      cut.AddEdge(to_as_is, from, cost);
      bool transposed = false;
      const auto add_reader = [&](size_t reader) {
        cut.AddEdge(to_permuted, reader, MinCut::kUncut);
        cut.AddEdge(reader, to_as_is, MinCut::kUncut);
        transposed = transposed || (from == kPermuted) != (reader == kPermuted);
      };
      for (const NodeIndex reader : graph_.value(value).consumers) {
        if (ReadsPermuted(reader, value)) {
          add_reader(vertices.at(reader));
        } else {
          add_reader(IsInverse(reader) && !(joining == Joining::kGives && Joins(reader)) ? kPermuted : kAsIs);
        }
      }
      if (graph_.value(value).is_output) add_reader(kAsIs);
      if (transposed) now += cost;
    }
    if (cut.Solve(kAsIs, kPermuted) >= now) return false;
    std::erase_if(nodes_, [&](const auto& entry) { return cut.IsOnSourceSide(vertices.at(entry.first)); });
    return true;
  }

  bool AddNode(NodeIndex index) {
    if (index == kNone || nodes_.contains(index) || refused_.contains(index)) return false;
    auto permuted = Permuted(graph_, graph_.node(index), perm_);
    if (!permuted) {
      refused_.insert(index);
      return false;
    }
    nodes_.emplace(index, std::move(*permuted));
    order_.push_back(index);
    return true;
  }

  void AddValue(ValueIndex value) {
    if (value == kNone || graph_.constant(value) != nullptr || !values_.insert(value).second) return;
    AddNode(graph_.value(value).producer);
    for (const NodeIndex reader : graph_.value(value).consumers) AddNode(reader);
  }

  /// What a Transpose by the permutation made the value of.
  ValueIndex SourceOf(ValueIndex value) const {
    const NodeIndex producer = graph_.value(value).producer;
    const bool is_ours = producer != kNone && PermutationOf(graph_, graph_.node(producer)) == perm_;
    return is_ours ? graph_.node(producer).inputs[0] : kNone;
  }

  /// The nodes to replace, each after those that it reads; ties as in the graph. The whole graph's order would have to be
  /// found anew for each region.
  std::vector<NodeIndex> InOrder() const {
    std::map<NodeIndex, size_t> waiting;
    std::map<NodeIndex, std::vector<NodeIndex>> followers;
    std::set<NodeIndex> ready;
    for (const auto& [index, permuted] : nodes_) {
      std::set<NodeIndex> before;
      const Node& node = graph_.node(index);
      for (const auto* list : {&node.inputs, &node.implicit_inputs}) {
        for (const ValueIndex input : *list) {
          const NodeIndex producer = input == kNone ? kNone : graph_.value(input).producer;
          if (nodes_.contains(producer)) before.insert(producer);
        }
      }
      for (const NodeIndex producer : before) followers[producer].push_back(index);
      waiting[index] = before.size();
      if (before.empty()) ready.insert(index);
    }
    std::vector<NodeIndex> order;
    while (!ready.empty()) {
      const NodeIndex index = ready.extract(ready.begin()).value();
      order.push_back(index);
      for (const NodeIndex follower : followers[index]) {
        if (--waiting[follower] == 0) ready.insert(follower);
      }
    }
    return order;
  }

  bool IsInverse(NodeIndex reader) const { return PermutationOf(graph_, graph_.node(reader)) == inverse_; }

  /// All that the node reads of the value it could read in the other order.
  bool ReadsPermuted(NodeIndex reader, ValueIndex value) {
    const auto found = nodes_.find(reader);
    if (found == nodes_.end()) return false;
    const auto [plain, first] = read_plain_.try_emplace(reader);
    if (first) {
      const auto& inputs = graph_.node(reader).inputs;
      std::vector<bool> is_data(inputs.size());
      for (const size_t i : found->second.data) is_data[i] = true;
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (!is_data[i]) plain->second.insert(inputs[i]);
      }
    }
    return !plain->second.contains(value);
  }

  /// The node computes in the other order.
  void Replace(NodeIndex index, PermutedNode permuted) {
    Node& node = permuted.node;
    for (const size_t input : permuted.data) node.inputs[input] = Twin(node.inputs[input], index);
    for (const auto& [input, integers] : permuted.integers) node.inputs[input] = AddIntegers(graph_, integers);
    graph_.RemoveNode(index);
    for (ValueIndex& output : node.outputs) {
      if (output == kNone || !permuted.outputs_follow) continue;
      const ValueIndex twin = NewTwin(output);
      twins_[output] = twin;
      output = twin;
    }
    made_.push_back(graph_.AddNode(std::move(node), index));
  }

  ValueIndex NewTwin(ValueIndex value) {
    return graph_.AddValue("",
                           TypeInfo::OfTensor(ElementOf(graph_, value), InOrderOfInput(*ShapeOf(graph_, value), perm_)));
  }

  /// The value in the other order.
  ValueIndex Twin(ValueIndex value, NodeIndex before) {
    if (const auto found = twins_.find(value); found != twins_.end()) return found->second;
    ValueIndex twin = SourceOf(value);
    if (const Tensor* constant = graph_.constant(value)) {
      twin = TwinOfConstant(*constant, before);
    } else if (twin == kNone) {
      const auto& readers = graph_.value(value).consumers;
      const auto found = std::find_if(readers.begin(), readers.end(), [&](NodeIndex reader) { return IsInverse(reader); });
      if (found != readers.end()) {
        twin = graph_.node(*found).outputs[0];
      } else {
        twin = NewTwin(value);
        AddTranspose(value, twin, inverse_, before);
      }
    }
    twins_[value] = twin;
    return twin;
  }

  ValueIndex TwinOfConstant(Tensor constant, NodeIndex before) {
    Shape shape(perm_.size(), 1);
    std::copy(constant.shape().begin(), constant.shape().end(),
              shape.end() - static_cast<ptrdiff_t>(constant.shape().rank()));
    const Shape twin = InOrderOfInput(shape, perm_);
    SymbolicShape from, to;
    for (const int64_t dim : shape) from.push_back(Dimension{.value = dim, .symbol = {}});
    for (const int64_t dim : twin) to.push_back(Dimension{.value = dim, .symbol = {}});
    if (!MovesElements(from, perm_)) return graph_.AddConstant("", constant.Reshaped(twin));
    // fold_constants computes it.
    const ValueIndex transposed = graph_.AddValue("", TypeInfo::OfTensor(constant.type(), std::move(to)));
    AddTranspose(graph_.AddConstant("", constant.Reshaped(shape)), transposed, inverse_, before);
    return transposed;
  }

  void AddTranspose(ValueIndex from, ValueIndex to, const Permutation& perm, NodeIndex before) {
    SetAttribute(AddOperator(graph_, "Transpose", {from}, to, before), "perm", perm);
  }

  /// Whoever reads the value as it was: those that transpose it back read its twin, others what a Transpose gives.
  void Give(ValueIndex value, NodeIndex before) {
    ValueIndex twin = twins_.at(value);
    const std::vector<NodeIndex> readers = graph_.value(value).consumers;
    for (const NodeIndex reader : readers) {
      if (!graph_.has_node(reader) || !IsInverse(reader)) continue;
      const ValueIndex back = graph_.node(reader).outputs[0];
      const bool is_output = graph_.value(back).is_output;
      if (BypassNode(graph_, reader, twin) && is_output) twin = back;
    }
    if (!graph_.value(value).consumers.empty() || graph_.value(value).is_output) AddTranspose(twin, value, perm_, before);
  }

  Graph& graph_;
  const Permutation perm_, inverse_;
  std::map<NodeIndex, PermutedNode> nodes_;
  std::vector<NodeIndex> order_;  // in which they were found
  std::vector<NodeIndex> made_;
  std::map<NodeIndex, std::set<ValueIndex>> read_plain_;  // by node: what it reads that could not come in another order
  std::set<NodeIndex> refused_;
  std::set<ValueIndex> values_;
  std::map<ValueIndex, ValueIndex> twins_;
};

class TransposeSinking final : public Rewrite {
 public:
  size_t Run(Graph& graph, RewriteContext&) override {
    size_t changes = 0;
    Progress progress;
    const std::vector<NodeIndex> order = graph.TopologicalOrder();
    progress.effort = std::max(kLeastEffort, kEffort * order.size());
    for (const NodeIndex index : order) {
      if (!graph.has_node(index)) continue;
      const auto perm = PermutationOf(graph, graph.node(index));
      if (!perm || std::is_sorted(perm->begin(), perm->end())) continue;
      const NodeIndex above = graph.value(graph.node(index).inputs[0]).producer;
      const std::vector<NodeIndex> readers = graph.value(graph.node(index).outputs[0]).consumers;
      for (const NodeIndex reader : readers) changes += RunFrom(graph, reader, *perm, progress);
      if (above != kNone) changes += RunFrom(graph, above, Inverse(*perm), progress);
    }
    return changes;
  }

 private:
  /// Each permutation has regions of its own, and there may be as many permutations as nodes.
  static constexpr size_t kEffort = 64, kLeastEffort = size_t{1} << 16;

  struct Progress {
    std::set<std::pair<Permutation, NodeIndex>> seen;
    size_t effort = 0;  // nodes of regions that may still be looked at
  };

  static size_t RunFrom(Graph& graph, NodeIndex seed, const Permutation& perm, Progress& progress) {
    if (progress.effort == 0 || !graph.has_node(seed) || !progress.seen.emplace(perm, seed).second) return 0;
    PermutableRegion region(graph, perm);
    if (!region.Grow(seed)) return 0;
    progress.effort -= std::min(progress.effort, region.nodes().size());
    for (const NodeIndex index : region.nodes()) progress.seen.emplace(perm, index);
    if (!region.Choose()) return 0;
    region.Rewrite();
    // The next round looks at what this one made.
    for (const NodeIndex index : region.made()) progress.seen.emplace(perm, index);
    return 1;
  }
};

}  // namespace

std::unique_ptr<Rewrite> SinkTransposes() { return std::make_unique<TransposeSinking>(); }

}  // namespace tessera
