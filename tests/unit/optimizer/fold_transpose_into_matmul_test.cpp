#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

struct TransposedCase {
  std::vector<int64_t> a, b, perm;
  std::string after;
  bool first = false;  // the lhs is the transposed one
  ElementType type = ElementType::kFloat;
};

TEST(FoldTransposeIntoMatMul, OfManyMatMuls) {
  for (const TransposedCase& c : std::vector<TransposedCase>{
           {{2, 1, 5}, {2, 7, 5}, {0, 2, 1}, "FusedMatMul"},
           {{2, 3, 4, 5}, {2, 3, 6, 5}, {0, 1, 3, 2}, "FusedMatMul"},
           {{4, 5}, {2, 6, 5}, {0, 2, 1}, "FusedMatMul"},
           {{2, 4, 5}, {1, 6, 5}, {0, 2, 1}, "FusedMatMul"},
           {{-1, -1, 5}, {-1, -1, 5}, {0, 2, 1}, "FusedMatMul"},
           {{0, 4, 5}, {0, 6, 5}, {0, 2, 1}, "FusedMatMul", false, ElementType::kDouble},
           {{2, 4, 5}, {5, 6, 2}, {2, 0, 1}, "Transpose MatMul"},  // batches move, too
           {{2, 4, 5}, {2, 4, 6}, {0, 2, 1}, "Transpose MatMul", true},
           {{2, 4, 5}, {2, 6, 5}, {0, 2, 1}, "Transpose MatMul", false, ElementType::kFloat16},
       }) {
    ModelBuilder model(17);
    model.Input("a", c.type, c.a)
        .Input("b", c.type, c.b)
        .Output("y", c.type, std::vector<int64_t>(std::max(c.a.size(), c.b.size()), -1));
    Transpose(model, "b", "t", c.perm);
    model.Node("MatMul", {c.first ? "t" : "a", c.first ? "a" : "t"}, {"y"});
    const Rewriting rewriting(model, {"fold_transpose_into_matmul"});
    EXPECT_EQ(rewriting.after(), c.after);
    EXPECT_EQ(rewriting.Difference(1, 3, true), "");
  }
}

TEST(FoldTransposeIntoMatMul, TransposesThatOthersReadStay) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {2, 4, 5})
      .Output("y", ElementType::kFloat, {2, 4, 4})
      .Output("t", ElementType::kFloat, {2, 5, 4});
  Transpose(model, "x", "t", {0, 2, 1});
  model.Node("MatMul", {"x", "t"}, {"y"});
  const Rewriting rewriting(model, {"fold_transpose_into_matmul"});
  EXPECT_EQ(rewriting.after(), "Transpose FusedMatMul");
  EXPECT_EQ(rewriting.Difference(1, 3, true), "");
}

}  // namespace
}  // namespace tessera::testing
