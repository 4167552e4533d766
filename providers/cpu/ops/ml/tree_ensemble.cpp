// TreeEnsembleClassifier and TreeEnsembleRegressor, versions 1, 3, 5; TreeEnsemble, version 5; ai.onnx.ml.

#include <algorithm>
#include <limits>

#include "cpu/ops/ml/features.h"
#include "cpu/ops/ml/forest.h"
#include "cpu/ops/ml/post_transform.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

template <class T>
std::vector<T> Numbers(const Tensor& tensor, const std::string& name) {
  std::vector<T> values(static_cast<size_t>(tensor.num_elements()));
  if (!tensor.is(ElementType::kFloat) && !tensor.is(ElementType::kDouble) && !tensor.is(ElementType::kFloat16)) {
    Fail(ErrorCode::kInvalidGraph, "attribute '{}' holds {}, float, double or float16 is expected", name,
         ElementTypeName(tensor.type()));
  }
  VisitType(TypeList<float, double, Float16>{}, tensor.type(),
            [&]<class From>() { ConvertElements(tensor.data<From>(), values.data(), tensor.num_elements()); });
  return values;
}

/// The list `name`, or the tensor `name`_as_tensor.
template <class T>
std::vector<T> FloatsOf(const KernelInfo& info, const std::string& name) {
  if (info.has_attribute(name + "_as_tensor")) return Numbers<T>(info.attribute<Tensor>(name + "_as_tensor"), name);
  const auto floats = info.attribute<std::vector<float>>(name, {});
  return {floats.begin(), floats.end()};
}

template <class List>
void RequireSize(const List& list, size_t size, const char* name) {
  Require(list.size() == size, "attribute '{}' has {} entries, {} are expected", name, list.size(), size);
}

Branch ParseBranch(std::string_view mode) {
  constexpr std::string_view kNames[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                         "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (mode == kNames[i] && i != static_cast<size_t>(Branch::kMember)) return static_cast<Branch>(i);
  }
  Fail(ErrorCode::kInvalidGraph, "node mode '{}' is not known", mode);
}

/// Positions of nodes by tree and node id, kept as runs of consecutive ids: most exporters write one for each tree.
class NodeIds {
 public:
  NodeIds(std::span<const int64_t> trees, std::span<const int64_t> nodes) {
    for (size_t i = 0; i < trees.size(); ++i) {
      if (!runs_.empty()) {
        Run& last = runs_.back();
        if (last.tree == trees[i] && nodes[i] > last.first && Distance(last.first, nodes[i]) == last.count) {
          ++last.count;
          continue;
        }
      }
      runs_.push_back({trees[i], nodes[i], i, 1});
    }
    std::ranges::sort(runs_);
    for (size_t i = 1; i < runs_.size(); ++i) {
      const Run &before = runs_[i - 1], &run = runs_[i];
      Require(before.tree != run.tree || !before.Has(run.tree, run.first), "tree {} has two nodes {}", run.tree, run.first);
      num_trees_ += before.tree != run.tree ? 1 : 0;
    }
  }

  uint32_t Find(int64_t tree, int64_t node) {
    if (!runs_[last_].Has(tree, node)) {
      const auto after = std::ranges::upper_bound(runs_, std::pair(tree, node), {},
                                                  [](const Run& run) { return std::pair(run.tree, run.first); });
      const size_t found = static_cast<size_t>(after - runs_.begin());
      Require(found > 0 && runs_[found - 1].Has(tree, node), "tree {} has no node {}", tree, node);
      last_ = found - 1;
    }
    return static_cast<uint32_t>(runs_[last_].position + Distance(runs_[last_].first, node));
  }

  size_t num_trees() const { return num_trees_; }

 private:
  static uint64_t Distance(int64_t from, int64_t to) { return static_cast<uint64_t>(to) - static_cast<uint64_t>(from); }
  struct Run {
    int64_t tree, first;
    uint64_t position, count;
    bool Has(int64_t of_tree, int64_t node) const {
      return tree == of_tree && node >= first && Distance(first, node) < count;
    }
    auto operator<=>(const Run&) const = default;
  };
  std::vector<Run> runs_;
  size_t last_ = 0;  // neighbours are asked for one after another
  size_t num_trees_ = 1;
};

/// A list that a node has; empty where it has none.
template <class T>
std::span<const T> ListOf(const KernelInfo& info, const std::string& name) {
  const auto* list = info.attribute_if<std::vector<T>>(name);
  return list == nullptr ? std::span<const T>() : std::span<const T>(*list);
}

/// Where each tree starts: its first node that is nobody's child.
template <class T>
std::vector<uint32_t> RootsOf(const ForestSource<T>& source, std::span<const int64_t> trees, size_t num_trees) {
  std::vector<bool> is_child(source.nodes.size());
  for (const auto& node : source.nodes) {
    if (node.branch != Branch::kLeaf) is_child[node.on_true] = is_child[node.on_false] = true;
  }
  std::vector<std::pair<int64_t, uint32_t>> roots;
  for (size_t i = 0; i < trees.size(); ++i) {
    if (!is_child[i]) roots.emplace_back(trees[i], static_cast<uint32_t>(i));
  }
  std::ranges::sort(roots);
  const auto rest = std::ranges::unique(roots, {}, &std::pair<int64_t, uint32_t>::first);
  roots.erase(rest.begin(), rest.end());
  Require(roots.size() == num_trees, "a tree has no root: every node of it is another's child, which makes a cycle");
  std::vector<uint32_t> positions;
  positions.reserve(roots.size());
  for (const auto& [tree, root] : roots) positions.push_back(root);
  return positions;
}

/// Gives each leaf its votes, in their order.
template <class T>
void ReadVotes(const KernelInfo& info, const std::string& votes, NodeIds& positions, ForestSource<T>& source) {
  const auto trees = ListOf<int64_t>(info, votes + "_treeids"), nodes = ListOf<int64_t>(info, votes + "_nodeids");
  const auto targets = ListOf<int64_t>(info, votes + "_ids");
  const auto weights = FloatsOf<T>(info, votes + "_weights");
  RequireSize(nodes, trees.size(), "*_nodeids");
  RequireSize(targets, trees.size(), "*_ids");
  RequireSize(weights, trees.size(), "*_weights");
  ForestNumber(static_cast<int64_t>(trees.size()), "the number of votes");
  std::vector<uint32_t> leaves(trees.size());
  for (size_t i = 0; i < leaves.size(); ++i) {
    leaves[i] = positions.Find(trees[i], nodes[i]);
    ++source.nodes[leaves[i]].count;
  }
  uint32_t total = 0;
  for (auto& node : source.nodes) {
    node.first = total;
    total += std::exchange(node.count, 0);
  }
  source.votes.resize(total);
  for (size_t i = 0; i < leaves.size(); ++i) {
    auto& leaf = source.nodes[leaves[i]];
    source.votes[leaf.first + leaf.count++] = {targets[i], weights[i]};
  }
}

/// Reads nodes_* and `votes`_* ("class" or "target"), the form of versions 1 to 5 of the classifier and the regressor.
template <class T>
ForestSource<T> ReadForest(const KernelInfo& info, const std::string& votes, int64_t targets) {
  ForestSource<T> source;
  source.targets = targets;
  const auto trees = ListOf<int64_t>(info, "nodes_treeids"), ids = ListOf<int64_t>(info, "nodes_nodeids");
  const size_t count = trees.size();
  Require(count > 0, "attribute 'nodes_treeids' is empty");
  ForestNumber(static_cast<int64_t>(count), "the number of nodes");
  const auto features = ListOf<int64_t>(info, "nodes_featureids");
  const auto modes = ListOf<std::string>(info, "nodes_modes");
  const auto on_true = ListOf<int64_t>(info, "nodes_truenodeids"), on_false = ListOf<int64_t>(info, "nodes_falsenodeids");
  const auto missing = ListOf<int64_t>(info, "nodes_missing_value_tracks_true");
  const auto values = FloatsOf<T>(info, "nodes_values");
  RequireSize(ids, count, "nodes_nodeids");
  RequireSize(features, count, "nodes_featureids");
  RequireSize(modes, count, "nodes_modes");
  RequireSize(on_true, count, "nodes_truenodeids");
  RequireSize(on_false, count, "nodes_falsenodeids");
  RequireSize(values, count, "nodes_values");
  if (!missing.empty()) RequireSize(missing, count, "nodes_missing_value_tracks_true");

  NodeIds positions(trees, ids);
  source.nodes.resize(count);
  for (size_t i = 0; i < count; ++i) {
    auto& node = source.nodes[i];
    node.branch = ParseBranch(modes[i]);
    if (node.branch == Branch::kLeaf) continue;
    node.missing_tracks_true = !missing.empty() && missing[i] != 0;
    node.feature = ForestNumber(features[i], "a tested feature");
    node.value = values[i];
    node.on_true = positions.Find(trees[i], on_true[i]);
    node.on_false = positions.Find(trees[i], on_false[i]);
  }
  source.roots = RootsOf(source, trees, positions.num_trees());
  ReadVotes(info, votes, positions, source);
  return source;
}

template <class T>
class TreeEnsembleClassifier final : public Kernel {
 public:
  explicit TreeEnsembleClassifier(const KernelInfo& info)
      : labels_(info, "classlabels_int64s"),
        base_(FloatsOf<T>(info, "base_values")),
        transform_(ParsePostTransform(info.attribute<std::string>("post_transform", "NONE"))) {
    Require(labels_.size() > 0, "one of classlabels_strings and classlabels_int64s is expected");
    Require(base_.size() <= 1 || base_.size() == labels_.size(), "base_values has {} entries, there are {} classes",
            base_.size(), labels_.size());
    const auto source = ReadForest<T>(info, "class", static_cast<int64_t>(labels_.size()));
    for (const auto& vote : source.votes) {
      all_positive_ &= vote.weight >= 0;
      single_class_ &= vote.target == source.votes[0].target;
    }
    voted_class_ = source.votes.empty() ? 0 : source.votes[0].target;
    single_class_ &= labels_.size() <= 2;
    forest_ = Forest<T>(source, Aggregate::kSum);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Rows rows(x);
    Tensor* y = labels_.Output(context, rows.count);
    const auto classes = static_cast<int64_t>(labels_.size());
    Tensor* z = context.output(1, ElementType::kFloat, Shape{rows.count, classes});
    forest_.Evaluate(context, ElementsAs<T>(context, x), rows.count, rows.features,
                     [&](int64_t row, std::span<T> scores, std::span<const uint8_t> voted) {
                       Finish(row, scores, voted, y, z == nullptr ? nullptr : z->mutable_data<float>() + row * classes);
                     });
  }

 private:
  void Finish(int64_t row, std::span<T> scores, std::span<const uint8_t> voted, Tensor* y, float* z) const {
    for (size_t i = 0; i < scores.size() && i < base_.size(); ++i) scores[i] += base_[i];
    if (!single_class_) {
      labels_.Set(y, row, Best(scores, voted));
    } else if (scores.size() == 1) {
      labels_.SetSign(y, row, scores[0] > 0);
    } else {
      labels_.Set(y, row, scores[static_cast<size_t>(voted_class_)] > (all_positive_ ? T(0.5) : T(0)) ? 1 : 0);
    }
    if (z == nullptr) return;
    if (single_class_ && scores.size() == 2 && voted_class_ == 0 && base_.size() < 2) {
      // One score decides between two classes: a probability when no weight is negative.
      T two[2];
      TwoScores(transform_, all_positive_ && transform_ != PostTransform::kLogistic, scores[0], std::span<T, 2>(two));
      z[0] = static_cast<float>(two[0]);
      z[1] = static_cast<float>(two[1]);
      return;
    }
    TransformRegression(transform_, scores);
    for (size_t i = 0; i < scores.size(); ++i) z[i] = static_cast<float>(scores[i]);
  }

  /// The class of the highest score; classes without any vote or base value don't compete.
  size_t Best(std::span<const T> scores, std::span<const uint8_t> voted) const {
    size_t best = scores.size();
    for (size_t i = 0; i < scores.size(); ++i) {
      if (voted[i] == 0 && base_.empty()) continue;
      if (best == scores.size() || scores[i] > scores[best]) best = i;
    }
    return best == scores.size() ? 0 : best;
  }

  ClassLabels labels_;
  std::vector<T> base_;
  PostTransform transform_;
  Forest<T> forest_;
  bool all_positive_ = true;
  bool single_class_ = true;  // of two or fewer, only one gets votes
  int64_t voted_class_ = 0;
};

/// What the regressor and TreeEnsemble have in common: scores plus base values, transformed, as Out.
template <class T, class Out>
void EvaluateRegression(KernelContext& context, const Forest<T>& forest, const std::vector<T>& base,
                        PostTransform transform) {
  const Tensor& x = context.required_input(0);
  const Rows rows(x);
  const int64_t targets = forest.targets();
  Tensor* y = context.output(0, ElementTypeOf<Out>, Shape{rows.count, targets});
  if (y == nullptr) return;
  Out* out = y->mutable_data<Out>();
  forest.Evaluate(context, ElementsAs<T>(context, x), rows.count, rows.features,
                  [&](int64_t row, std::span<T> scores, std::span<const uint8_t>) {
                    for (size_t i = 0; i < scores.size() && !base.empty(); ++i) scores[i] += base[base.size() == 1 ? 0 : i];
                    TransformRegression(transform, scores);
                    for (size_t i = 0; i < scores.size(); ++i)
                      out[row * targets + static_cast<int64_t>(i)] = static_cast<Out>(scores[i]);
                  });
}

template <class T>
class TreeEnsembleRegressor final : public Kernel {
 public:
  explicit TreeEnsembleRegressor(const KernelInfo& info)
      : base_(FloatsOf<T>(info, "base_values")),
        transform_(ParsePostTransform(info.attribute<std::string>("post_transform", "NONE"))),
        forest_(ReadForest<T>(info, "target", info.attribute<int64_t>("n_targets", 1)),
                ParseAggregate(info.attribute<std::string>("aggregate_function", "SUM"))) {
    Require(base_.size() <= 1 || static_cast<int64_t>(base_.size()) == forest_.targets(),
            "base_values has {} entries, there are {} targets", base_.size(), forest_.targets());
  }

  void Compute(KernelContext& context) override { EvaluateRegression<T, float>(context, forest_, base_, transform_); }

 private:
  std::vector<T> base_;
  PostTransform transform_;
  Forest<T> forest_;
};

/// TreeEnsemble's form: inner nodes and leaves apart.
template <class T>
struct TreeEnsembleAttributes {
  explicit TreeEnsembleAttributes(const KernelInfo& info);

  /// The node's number in a forest, where leaves come behind the inner nodes.
  uint32_t Child(int64_t id, bool is_leaf) const {
    const size_t inner = splits.size(), size = is_leaf ? targets.size() : inner;
    Require(id >= 0 && static_cast<size_t>(id) < size, "child {} is outside {} {}", id, size, is_leaf ? "leaves" : "nodes");
    return static_cast<uint32_t>((is_leaf ? inner : 0) + static_cast<size_t>(id));
  }

  std::vector<T> splits;
  Tensor modes;
  std::vector<int64_t> features, on_true, on_false, true_leafs, false_leafs;
  std::vector<int64_t> missing;  // none: to the false side
  std::vector<int64_t> targets;  // of the leaves, as their weights
  std::vector<T> weights, members;
};

template <class T>
TreeEnsembleAttributes<T>::TreeEnsembleAttributes(const KernelInfo& info)
    : splits(Numbers<T>(info.attribute<Tensor>("nodes_splits"), "nodes_splits")),
      modes(info.attribute<Tensor>("nodes_modes")),
      features(info.attribute<std::vector<int64_t>>("nodes_featureids")),
      on_true(info.attribute<std::vector<int64_t>>("nodes_truenodeids")),
      on_false(info.attribute<std::vector<int64_t>>("nodes_falsenodeids")),
      true_leafs(info.attribute<std::vector<int64_t>>("nodes_trueleafs")),
      false_leafs(info.attribute<std::vector<int64_t>>("nodes_falseleafs")),
      missing(info.attribute<std::vector<int64_t>>("nodes_missing_value_tracks_true", {})),
      targets(info.attribute<std::vector<int64_t>>("leaf_targetids")),
      weights(Numbers<T>(info.attribute<Tensor>("leaf_weights"), "leaf_weights")) {
  const size_t count = splits.size();
  Require(modes.is(ElementType::kUInt8) && static_cast<size_t>(modes.num_elements()) == count,
          "attribute 'nodes_modes' is {} {}, uint8 [{}] is expected", ElementTypeName(modes.type()), modes.shape(), count);
  RequireSize(features, count, "nodes_featureids");
  RequireSize(on_true, count, "nodes_truenodeids");
  RequireSize(on_false, count, "nodes_falsenodeids");
  RequireSize(true_leafs, count, "nodes_trueleafs");
  RequireSize(false_leafs, count, "nodes_falseleafs");
  if (!missing.empty()) RequireSize(missing, count, "nodes_missing_value_tracks_true");
  RequireSize(weights, targets.size(), "leaf_weights");
  if (info.has_attribute("membership_values"))
    members = Numbers<T>(info.attribute<Tensor>("membership_values"), "membership_values");
  ForestNumber(static_cast<int64_t>(count + targets.size()), "the number of nodes and leaves");
  ForestNumber(static_cast<int64_t>(members.size()), "the number of members");
}

template <class T>
ForestSource<T> ReadTreeEnsemble(const KernelInfo& info) {
  TreeEnsembleAttributes<T> given(info);
  ForestSource<T> source;
  source.members = std::move(given.members);
  size_t member = 0;
  for (size_t i = 0; i < given.splits.size(); ++i) {
    const uint8_t mode = given.modes.template data<uint8_t>()[i];
    Require(mode <= 6, "attribute 'nodes_modes' holds {}, 0 to 6 is expected", mode);
    auto& node = source.nodes.emplace_back();
    node.branch = static_cast<Branch>(mode);
    node.missing_tracks_true = !given.missing.empty() && given.missing[i] != 0;
    node.feature = ForestNumber(given.features[i], "a tested feature");
    node.value = given.splits[i];
    node.on_true = given.Child(given.on_true[i], given.true_leafs[i] != 0);
    node.on_false = given.Child(given.on_false[i], given.false_leafs[i] != 0);
    if (node.branch != Branch::kMember) continue;
    // One set of members after another, a NaN behind each.
    node.first = static_cast<uint32_t>(member);
    while (member < source.members.size() && source.members[member] == source.members[member]) ++member;
    Require(member < source.members.size(), "membership_values has fewer sets than there are BRANCH_MEMBER nodes");
    node.count = static_cast<uint32_t>(member++) - node.first;
  }
  const std::vector<int64_t>& targets = given.targets;
  for (size_t i = 0; i < targets.size(); ++i) {
    auto& leaf = source.nodes.emplace_back();
    leaf.first = static_cast<uint32_t>(i);
    leaf.count = 1;
    source.votes.push_back({targets[i], given.weights[i]});
    source.targets = std::max(source.targets, targets[i] < std::numeric_limits<int32_t>::max() ? targets[i] + 1 : 1);
  }
  source.targets = info.attribute<int64_t>("n_targets", source.targets);
  for (const int64_t root : info.attribute<std::vector<int64_t>>("tree_roots"))
    source.roots.push_back(given.Child(root, false));
  return source;
}

template <class Out>
class TreeEnsemble final : public Kernel {
  using T = std::conditional_t<std::is_same_v<Out, double>, double, float>;

 public:
  explicit TreeEnsemble(const KernelInfo& info)
      : transform_(PostTransformOf(info.attribute<int64_t>("post_transform", 0))),
        forest_(ReadTreeEnsemble<T>(info), AggregateOf(info.attribute<int64_t>("aggregate_function", 1))) {}

  void Compute(KernelContext& context) override { EvaluateRegression<T, Out>(context, forest_, {}, transform_); }

 private:
  static Aggregate AggregateOf(int64_t value) {
    Require(value >= 0 && value <= 3, "aggregate_function is {}, 0 to 3 is expected", value);
    return static_cast<Aggregate>(value);
  }

  PostTransform transform_;
  Forest<T> forest_;
};

}  // namespace

void RegisterTreeEnsembleClassifier(KernelRegistry& registry) {
  registry.Add(Op("TreeEnsembleClassifier", "ai.onnx.ml")
                   .Versions(1)
                   .Types(0, kMlNumbers)
                   .Factory(MakeComputed<TreeEnsembleClassifier>));
}
void RegisterTreeEnsembleRegressor(KernelRegistry& registry) {
  registry.Add(Op("TreeEnsembleRegressor", "ai.onnx.ml")
                   .Versions(1)
                   .Types(0, kMlNumbers)
                   .Factory(MakeComputed<TreeEnsembleRegressor>));
}
void RegisterTreeEnsemble(KernelRegistry& registry) {
  registry.Add(Op("TreeEnsemble", "ai.onnx.ml")
                   .Versions(5)
                   .Types(0, {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16})
                   .Factory(MakeTyped<TreeEnsemble, TypeList<float, double, Float16>>));
}

}  // namespace tessera::cpu
