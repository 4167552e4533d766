#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

TEST(FuseTransposes, PairsCancel) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 3, 4})
      .Output("y", ElementType::kFloat, {2, 3, 4})
      .Output("z", ElementType::kFloat, {4, 2, 3});
  Ints(model.Node("Transpose", {"x"}, {"a"}), "perm", {1, 2, 0});
  Ints(model.Node("Transpose", {"a"}, {"b"}), "perm", {2, 0, 1});
  Ints(model.Node("Transpose", {"a"}, {"z"}), "perm", {1, 2, 0});
  model.Node("Relu", {"b"}, {"y"});
  const Rewriting rewriting(model, {"fuse_transposes", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "Transpose Relu");
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(FuseTransposes, SizesOfTransposed) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 3, -1}).Output("y", ElementType::kInt64, {3});
  Ints(model.Node("Transpose", {"x"}, {"a"}), "perm", {1, 2, 0});
  model.Node("Shape", {"a"}, {"y"});
  const Rewriting rewriting(model, {"fuse_transposes", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "Shape Gather");
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(FuseTransposes, IntoGemmAndMatMul) {
  ModelBuilder model;
  model.Input("a", ElementType::kFloat, {4, -1})
      .Input("b", ElementType::kFloat, {3, 4})
      .Output("y", ElementType::kFloat, {-1, 3});
  model.Output("z", ElementType::kFloat, {-1, 3});
  model.Node("Transpose", {"a"}, {"s"});
  model.Node("Transpose", {"b"}, {"t"});
  model.Node("MatMul", {"s", "t"}, {"y"});
  Int(model.Node("Gemm", {"a", "t"}, {"z"}), "transA", 1);
  const Rewriting rewriting(model, {"fuse_transposes", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "Gemm Gemm");
  EXPECT_EQ(rewriting.Difference(1, 5, true), "");
}

}  // namespace
}  // namespace tessera::testing
