#include <numeric>

#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

/// y = Reshape(op(Reshape(x), c)), of the shape of x; the constant comes first where `first`.
struct Wrapped {
  std::vector<int64_t> x, wrapped, constant;
  std::string op = "Add";
  bool first = false;
  ElementType result = ElementType::kFloat;
};

ModelBuilder WrappedModel(const Wrapped& w) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, w.x).Output("y", w.result, w.x);
  model.Ints("to", w.wrapped).Ints("back", w.x);
  const int64_t count = std::accumulate(w.constant.begin(), w.constant.end(), int64_t{1}, std::multiplies<>());
  model.Floats("c", w.constant, Numbers(static_cast<size_t>(count)));
  model.Node("Reshape", {"x", "to"}, {"r"});
  model.Node(w.op, {w.first ? "c" : "r", w.first ? "r" : "c"}, {"a"});
  model.Node("Reshape", {"a", "back"}, {"y"});
  return model;
}

TEST(FoldReshapePairs, OfBothKinds) {
  for (const Wrapped& w : std::vector<Wrapped>{
           {{6, 2, 5, 5}, {1, 6, 2, 5, 5}, {1, 6, 1, 5, 5}},            // windows of one image
           {{6, 2, 5, 5}, {2, 3, 2, 5, 5}, {1, 3, 1, 5, 5}},            // of two
           {{6, 2, 5, 5}, {2, 3, 2, 5, 5}, {3, 1, 5, 5}, "Sub", true},  // not of the tensor's rank
           {{6, 2, 5, 5}, {2, 3, 2, 5, 5}, {5}, "Div"},
           {{6, 2, 5, 5}, {2, 3, 2, 5, 5}, {}, "Mul"},
           {{4, 3, 5}, {60}, {60}},
           {{4, 3, 5}, {60}, {1}},
           {{4, 3, 5}, {3, 4, 5}, {3, 1, 1}},
           {{4, 3, 5}, {3, 4, 5}, {3, 1, 5}},
           {{4, 3, 5, 1, 1}, {1, 12, 5}, {1, 12, 1}},
           {{1, 1, 7}, {7, 1}, {7, 1}, "Div", true},
           {{6, 2, 5, 5}, {2, 3, 2, 5, 5}, {3, 1, 5, 5}, "PRelu"},
           {{4, 3, 5}, {60}, {60}, "PRelu", true},
           {{4, 3, 5}, {3, 4, 5}, {3, 1, 5}, "Mean"},
           {{4, 3, 5}, {3, 4, 5}, {3, 1, 5}, "Max", true},
           {{4, 3, 5}, {3, 4, 5}, {3, 1, 1}, "Less", false, ElementType::kBool},
       }) {
    const Rewriting rewriting(WrappedModel(w), {"fold_reshape_pairs", "fold_constants", "eliminate_dead_nodes"});
    EXPECT_EQ(rewriting.after(), w.op);
    EXPECT_EQ(rewriting.Difference(), "");
  }
}

TEST(FoldReshapePairs, LeavesConstantsThatWouldGrow) {
  const ModelBuilder model = WrappedModel({{1 << 19, 2}, {8, 1 << 16, 2}, {8, 1, 1}});
  EXPECT_EQ(Rewriting(model, {"fold_reshape_pairs"}).after(), "Reshape Add Reshape");
}

TEST(FoldReshapePairs, LeavesOtherShapes) {
  ModelBuilder grows(17), turns(17), open(17);
  grows.Input("x", ElementType::kFloat, {3, 4})
      .Output("y", ElementType::kFloat, {6, 4})
      .Ints("to", {1, 3, 4})
      .Ints("back", {6, 4});
  turns.Input("x", ElementType::kFloat, {3, 4})
      .Output("y", ElementType::kFloat, {4, 3})
      .Ints("to", {2, 6})
      .Ints("back", {4, 3});
  open.Input("x", ElementType::kFloat, {-1, 4})
      .Output("y", ElementType::kFloat, {-1, 4})
      .Ints("to", {-1, 1, 4})
      .Ints("back", {-1, 4});
  for (ModelBuilder* model : {&grows, &turns, &open}) {
    model->Floats("c", model == &turns ? std::vector<int64_t>{2, 1} : std::vector<int64_t>{2, 1, 1}, {1, 2});
    model->Node("Reshape", {"x", "to"}, {"r"});
    model->Node("Add", {"r", "c"}, {"a"});
    model->Node("Reshape", {"a", "back"}, {"y"});
    EXPECT_EQ(Rewriting(*model, {"fold_reshape_pairs"}).after(), "Reshape Add Reshape");
  }
}

}  // namespace
}  // namespace tessera::testing
