#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

struct EinsumCase {
  std::string equation;
  std::vector<int64_t> x, weights;
  std::string after;
  bool weights_first = false;
};

ModelBuilder EinsumModel(const EinsumCase& c, size_t result_rank) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, c.x).Output("y", ElementType::kFloat, std::vector<int64_t>(result_rank, -1));
  int64_t count = 1;
  for (const int64_t size : c.weights) count *= size;
  model.Floats("w", c.weights, Numbers(static_cast<size_t>(count)));
  Text(model.Node("Einsum", {c.weights_first ? "w" : "x", c.weights_first ? "x" : "w"}, {"y"}, "sum"), "equation",
       c.equation);
  return model;
}

size_t ResultRank(const EinsumCase& c) {
  const size_t arrow = c.equation.find("->");
  return arrow == std::string::npos ? 2 : c.equation.size() - arrow - 2;
}

TEST(EinsumMatMul, WithConstantWeights) {
  for (const EinsumCase& c : std::vector<EinsumCase>{
           {"abc,cde->abde", {2, 3, 4}, {4, 5, 6}, "MatMul Reshape"},     // Keras: to heads
           {"abcd,cde->abe", {2, 3, 5, 6}, {5, 6, 4}, "Reshape MatMul"},  // and back
           {"ibh,hnd->ibnd", {3, 2, 4}, {4, 5, 6}, "MatMul Reshape"},     // XLNet: to heads
           {"ibnd,hnd->ibh", {3, 2, 5, 6}, {4, 5, 6}, "Reshape MatMul"},  // and back
           {"ab,bc->ac", {3, 4}, {4, 5}, "MatMul"},
           {"ab,bc", {3, 4}, {4, 5}, "MatMul"},
           {"ab,cb->ac", {3, 4}, {5, 4}, "MatMul"},
           {"ab,bc->ca", {3, 4}, {4, 5}, "MatMul Transpose"},
           {"hde,bhtd->bte", {2, 3, 4, 5}, {3, 5, 6}, "Transpose Reshape MatMul", true},
           {"btm,hmd->bhtd", {2, 3, 4}, {5, 4, 6}, "MatMul Reshape Transpose"},
           {"abc,bcd->ad", {2, 3, 4}, {3, 4, 5}, "Reshape MatMul"},
           {"acb,bcd->ad", {2, 3, 4}, {4, 3, 5}, "Reshape MatMul"},
           {"ab,bac->c", {3, 4}, {4, 3, 5}, "Reshape MatMul"},
           {"abc,cde->abed", {0, 3, 4}, {4, 5, 6}, "MatMul Reshape"},
       }) {
    SCOPED_TRACE(c.equation);
    const Rewriting rewriting(EinsumModel(c, ResultRank(c)),
                              {"einsum_to_matmul", "fold_constants", "eliminate_dead_nodes"});
    EXPECT_EQ(rewriting.after(), c.after);
    EXPECT_EQ(rewriting.Difference(1, 3, true), "");
  }
}

TEST(EinsumMatMul, WithOpenSizes) {
  for (const std::string equation : {"abc,cde->abde", "abc,cde->baed"}) {
    const Rewriting rewriting(EinsumModel({equation, {-1, -1, 4}, {4, 5, 6}, ""}, 4),
                              {"einsum_to_matmul", "fold_constants", "eliminate_dead_nodes"});
    EXPECT_EQ(rewriting.before(), "Einsum");
    EXPECT_EQ(rewriting.after().substr(0, 6), "MatMul");
    EXPECT_EQ(rewriting.Difference(1, 3, true), "");
    EXPECT_EQ(rewriting.Difference(1, 1, true), "");
  }
}

TEST(EinsumMatMul, ThatSumNothing) {
  for (const EinsumCase& c : std::vector<EinsumCase>{
           {"ab,ab->ab", {2, 3}, {2, 3}, "Mul"},
           {"ab,cd->abcd", {2, 3}, {4, 5}, "Unsqueeze Mul"},
           {"abc,cd->abcd", {2, 3, 4}, {4, 5}, "Unsqueeze Mul"},  // Mamba: steps and states
           {"abc,c->abc", {2, 3, 4}, {4}, "Mul"},
           {"ab,ba->ab", {2, 3}, {3, 2}, "Mul"},  // the constant is transposed once
           {"ab,c->cba", {2, 3}, {4}, "Transpose Mul"},
           {"ab,bc->bac", {2, 3}, {3, 4}, "Transpose Unsqueeze Mul"},
           {"ab,bc->abc", {2, 1}, {3, 4}, "Unsqueeze Mul"},  // one element is repeated
           {"a,b->ab", {0}, {4}, "Unsqueeze Mul"},
           {"ab,->ab", {2, 3}, {}, "Mul"},
       }) {
    SCOPED_TRACE(c.equation);
    const Rewriting rewriting(EinsumModel(c, ResultRank(c)),
                              {"einsum_to_matmul", "fold_constants", "eliminate_dead_nodes"});
    EXPECT_EQ(rewriting.after(), c.after);
    EXPECT_EQ(rewriting.Difference(1, 3, true), "");
  }
  const Rewriting open(EinsumModel({"abc,cd->adbc", {-1, -1, -1}, {4, 5}, ""}, 4),
                       {"einsum_to_matmul", "fold_constants", "eliminate_dead_nodes"});
  EXPECT_EQ(open.after(), "Unsqueeze Mul");
  EXPECT_EQ(open.Difference(1, 4), "");
}

TEST(EinsumMatMul, LeavesOthers) {
  for (const EinsumCase& c : std::vector<EinsumCase>{
           {"ab,bc->c", {2, 3}, {3, 4}, ""},  // rows are summed, too
           {"ab,ab->a", {2, 3}, {2, 3}, ""},
           {"aab,bc->ac", {2, 2, 3}, {3, 4}, ""},  // a diagonal
           {"ab,bc->ac", {2, 1}, {3, 4}, ""},      // one column is repeated
           {"...b,bc->...c", {2, 3}, {3, 4}, ""},
           {"ab,bc->ac", {2, -1}, {3, 4}, ""},
       }) {
    SCOPED_TRACE(c.equation);
    EXPECT_EQ(Rewriting(EinsumModel(c, 1), {"einsum_to_matmul"}).after(), "Einsum");
  }
}

/// As Keras writes it.
TEST(EinsumMatMul, AttentionIsRecognized) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {2, 5, 12}).Output("y", ElementType::kFloat, {2, 5, 12});
  model.Floats("scale", {}, {0.5f});
  for (const std::string name : {"q", "k", "v"}) {
    model.Floats("w" + name, {12, 3, 4}, Numbers(144, name == "q" ? 0.1f : -0.2f));
    model.Floats("b" + name, {3, 4}, Numbers(12));
    Text(model.Node("Einsum", {"x", "w" + name}, {name + "0"}), "equation", "abc,cde->abde");
    model.Node("Add", {name + "0", "b" + name}, {name});
  }
  model.Node("Mul", {"q", "scale"}, {"scaled"});
  Text(model.Node("Einsum", {"k", "scaled"}, {"scores"}), "equation", "aecd,abcd->acbe");
  Int(model.Node("Softmax", {"scores"}, {"shares"}), "axis", -1);
  Text(model.Node("Einsum", {"shares", "v"}, {"heads"}), "equation", "acbe,aecd->abcd");
  model.Floats("wo", {3, 4, 12}, Numbers(144));
  Text(model.Node("Einsum", {"heads", "wo"}, {"y"}), "equation", "abcd,cde->abe");
  const Rewriting rewriting(model, {});
  EXPECT_THAT(rewriting.after(), ::testing::HasSubstr("Attention"));
  EXPECT_THAT(rewriting.after(), ::testing::Not(::testing::HasSubstr("Einsum")));
  EXPECT_EQ(rewriting.Difference(1, 3, true), "");
}

}  // namespace
}  // namespace tessera::testing
