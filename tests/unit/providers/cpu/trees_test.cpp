// Trees by every way of going through them: few rows, many rows, small trees tested whole. The reference walks each row
// alone.

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

#include "attributes.h"
#include "error_of.h"
#include "model_builder.h"

namespace tessera {
namespace {

using testing::Floats;
using testing::Int;
using testing::Ints;
using testing::ModelBuilder;
using testing::Text;
using testing::ToVector;

constexpr int64_t kFeatures = 5;

struct TreeNode {
  int64_t feature = 0, on_true = -1, on_false = -1, target = 0;
  float value = 0, vote = 0;
  std::string mode = "LEAF";
  bool missing_tracks_true = false;
};
using Tree = std::vector<TreeNode>;

struct ForestCase {
  std::string name;
  size_t leaves;
  std::vector<std::string> modes;
  bool missing;           // nodes that NaN passes, and NaN among the features
  bool target_of_a_tree;  // all leaves of a tree vote for the same one
  int64_t targets;
};

/// A random tree: leaves split until there are enough.
Tree Grow(const ForestCase& of, size_t number, std::mt19937& random) {
  const auto below = [&](size_t count) { return static_cast<size_t>(random() % count); };
  Tree tree(1);
  for (size_t leaves = 1; leaves < of.leaves; ++leaves) {
    size_t at = below(tree.size());
    while (tree[at].mode != "LEAF") at = static_cast<size_t>(below(2) == 0 ? tree[at].on_true : tree[at].on_false);
    TreeNode& node = tree[at];
    node.mode = of.modes[below(of.modes.size())];
    node.feature = static_cast<int64_t>(below(kFeatures));
    node.value = static_cast<float>(below(17)) / 4 - 2;
    node.missing_tracks_true = of.missing && below(2) == 0;
    node.on_true = static_cast<int64_t>(tree.size());
    node.on_false = node.on_true + 1;
    tree.resize(tree.size() + 2);
  }
  for (TreeNode& node : tree) {
    node.vote = static_cast<float>(below(1000)) / 500 - 1;
    node.target = static_cast<int64_t>((of.target_of_a_tree ? number : below(1000)) % static_cast<size_t>(of.targets));
  }
  return tree;
}

bool GoesTrue(const TreeNode& node, float x) {
  if (std::isnan(x) && node.missing_tracks_true) return true;
  if (node.mode == "BRANCH_LEQ") return x <= node.value;
  if (node.mode == "BRANCH_LT") return x < node.value;
  if (node.mode == "BRANCH_GTE") return x >= node.value;
  return x > node.value;
}

std::vector<float> Expected(const std::vector<Tree>& trees, std::span<const float> x, int64_t targets) {
  std::vector<float> y;
  for (size_t row = 0; row < x.size() / kFeatures; ++row) {
    std::vector<float> scores(static_cast<size_t>(targets));
    for (const Tree& tree : trees) {
      const TreeNode* node = &tree[0];
      while (node->mode != "LEAF") {
        node = &tree[static_cast<size_t>(
            GoesTrue(*node, x[row * kFeatures + static_cast<size_t>(node->feature)]) ? node->on_true : node->on_false)];
      }
      scores[static_cast<size_t>(node->target)] += node->vote;
    }
    y.insert(y.end(), scores.begin(), scores.end());
  }
  return y;
}

template <class T>
std::vector<T> Collect(const std::vector<Tree>& trees,
                       const std::function<void(size_t tree, size_t id, const TreeNode&, std::vector<T>&)>& add) {
  std::vector<T> list;
  for (size_t t = 0; t < trees.size(); ++t) {
    for (size_t i = 0; i < trees[t].size(); ++i) add(t, i, trees[t][i], list);
  }
  return list;
}

ModelBuilder Regressor(const std::vector<Tree>& trees, int64_t targets) {
  ModelBuilder model(17);
  auto* import = model.proto().add_opset_import();
  import->set_domain("ai.onnx.ml");
  import->set_version(3);
  model.Input("x", ElementType::kFloat, {-1, kFeatures}).Output("y", ElementType::kFloat, {-1, targets});
  onnx::NodeProto& node = model.Node("TreeEnsembleRegressor", {"x"}, {"y"});
  node.set_domain("ai.onnx.ml");
  Int(node, "n_targets", targets);
  const auto ints = [&](const char* name, bool leaves,
                        const std::function<int64_t(size_t, size_t, const TreeNode&)>& value) {
    Ints(node, name, Collect<int64_t>(trees, [&](size_t tree, size_t id, const TreeNode& from, auto& list) {
           if (!leaves || from.mode == "LEAF") list.push_back(value(tree, id, from));
         }));
  };
  const auto tree_of = [](size_t tree, size_t, const TreeNode&) { return static_cast<int64_t>(tree); };
  const auto id_of = [](size_t, size_t id, const TreeNode&) { return static_cast<int64_t>(id); };
  ints("nodes_treeids", false, tree_of);
  ints("nodes_nodeids", false, id_of);
  ints("nodes_featureids", false, [](size_t, size_t, const TreeNode& from) { return from.feature; });
  ints("nodes_truenodeids", false, [](size_t, size_t, const TreeNode& from) { return std::max<int64_t>(from.on_true, 0); });
  ints("nodes_falsenodeids", false,
       [](size_t, size_t, const TreeNode& from) { return std::max<int64_t>(from.on_false, 0); });
  ints("nodes_missing_value_tracks_true", false,
       [](size_t, size_t, const TreeNode& from) { return from.missing_tracks_true ? 1 : 0; });
  Floats(node, "nodes_values",
         Collect<float>(trees, [](size_t, size_t, const TreeNode& from, auto& list) { list.push_back(from.value); }));
  auto* modes = node.add_attribute();
  modes->set_name("nodes_modes");
  modes->set_type(onnx::AttributeProto::STRINGS);
  for (const Tree& tree : trees) {
    for (const TreeNode& from : tree) modes->add_strings(from.mode);
  }
  ints("target_treeids", true, tree_of);
  ints("target_nodeids", true, id_of);
  ints("target_ids", true, [](size_t, size_t, const TreeNode& from) { return from.target; });
  Floats(node, "target_weights", Collect<float>(trees, [](size_t, size_t, const TreeNode& from, auto& list) {
           if (from.mode == "LEAF") list.push_back(from.vote);
         }));
  return model;
}

class Trees : public ::testing::TestWithParam<ForestCase> {};

TEST_P(Trees, AreTheSameByEveryWay) {
  const ForestCase& of = GetParam();
  std::mt19937 random(7);
  std::vector<Tree> trees;
  for (size_t i = 0; i < 45; ++i) trees.push_back(Grow(of, i, random));
  for (const int threads : {1, 3}) {
    SessionOptions options;
    options.intra_op_threads = threads;
    const Session session = Regressor(trees, of.targets).Session(options);
    for (const size_t rows : {1, 2, 7, 8, 16, 63, 64, 65, 200}) {
      std::vector<float> x(rows * kFeatures);
      for (float& v : x)
        v = of.missing && random() % 8 == 0 ? std::numeric_limits<float>::quiet_NaN()
                                            : static_cast<float>(random() % 21) / 4 - 2.5f;
      const std::vector<Value> inputs = {Tensor::Of<float>(Shape{static_cast<int64_t>(rows), kFeatures}, x)};
      std::vector<Value> results(1);
      session.Run(inputs, results);
      EXPECT_THAT(ToVector(results[0]), ::testing::Pointwise(::testing::FloatNear(1e-4f), Expected(trees, x, of.targets)))
          << rows << " rows";
    }
  }
}

// Another node that is nobody's child would pass for the root.
TEST(Trees, CyclesThatNoRootLeadsTo) {
  const Tree tree = {{.on_true = 0, .on_false = 2, .mode = "BRANCH_LEQ"}, {.vote = 1}, {.vote = 2}};
  const ModelBuilder model = Regressor({tree}, 1);
  EXPECT_THAT(testing::ErrorOf([&] { model.Session(SessionOptions()); }), ::testing::HasSubstr("node 0 is below itself"));
}

const std::vector<std::string> kLeq = {"BRANCH_LEQ"}, kLt = {"BRANCH_LT"}, kBoth = {"BRANCH_LEQ", "BRANCH_LT"},
                               kAll = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"};

INSTANTIATE_TEST_SUITE_P(
    Forests, Trees,
    ::testing::Values(ForestCase{"OneLeaf", 1, kLeq, false, true, 1}, ForestCase{"TwoLeaves", 2, kLt, true, true, 1},
                      ForestCase{"Boosted31", 31, kLeq, true, true, 1}, ForestCase{"Boosted32", 32, kLt, false, true, 3},
                      ForestCase{"Boosted33", 33, kLeq, true, false, 3}, ForestCase{"Boosted64", 64, kBoth, true, true, 1},
                      ForestCase{"Leaves65", 65, kLeq, true, true, 1}, ForestCase{"Leaves300", 300, kLt, false, false, 4},
                      ForestCase{"AllTests", 40, kAll, true, false, 2}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tessera
