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

struct ReshapeCase {
  std::string name, after;
  std::function<void(ModelBuilder&)> add;  // from x to b
  std::vector<int64_t> dims;
};

const ReshapeCase kReshapes[] = {
    {"Chain",
     "Reshape Neg",
     [](ModelBuilder& m) {
       m.Ints("s", {2, 6}).Ints("t", {3, 4});
       m.Node("Reshape", {"x", "s"}, {"a"});
       m.Node("Reshape", {"a", "t"}, {"b"});
     },
     {2, 2, 3}},
    {"ChainThatMayFail",
     "Reshape Reshape Neg",
     [](ModelBuilder& m) {
       m.Ints("s", {2, 6}).Ints("t", {3, -1});
       m.Node("Reshape", {"x", "s"}, {"a"});
       m.Node("Reshape", {"a", "t"}, {"b"});
     },
     {-1, 4}},
    {"ChainOfUnknown",
     "Reshape Neg",
     [](ModelBuilder& m) {
       m.Ints("s", {0, 2, 2}).Ints("t", {-1, 1});
       m.Node("Reshape", {"x", "s"}, {"a"});
       m.Node("Reshape", {"a", "t"}, {"b"});
     },
     {-1, 4}},
    {"UnsqueezeAndSqueeze",
     "Neg",
     [](ModelBuilder& m) {
       m.Ints("axes", {1});
       m.Node("Unsqueeze", {"x", "axes"}, {"a"});
       m.Node("Squeeze", {"a", "axes"}, {"b"});
     },
     {-1, 4}},
    {"SqueezeAndUnsqueeze",
     "Neg",
     [](ModelBuilder& m) {
       m.Ints("axes", {1});
       m.Node("Squeeze", {"x", "axes"}, {"a"});
       m.Node("Unsqueeze", {"a", "axes"}, {"b"});
     },
     {-1, 1, 4}},
    {"SqueezeThatMayFail",
     "Squeeze Unsqueeze Neg",
     [](ModelBuilder& m) {
       m.Ints("axes", {1});
       m.Node("Squeeze", {"x", "axes"}, {"a"});
       m.Node("Unsqueeze", {"a", "axes"}, {"b"});
     },
     {2, -1, 4}},
    {"UnsqueezeAndFlatten",
     "Reshape Neg",
     [](ModelBuilder& m) {
       m.Ints("axes", {3});
       m.Node("Unsqueeze", {"x", "axes"}, {"a"});
       m.Node("Flatten", {"a"}, {"b"});
     },
     {-1, 2, 4}},
};

class FuseReshapes : public ::testing::TestWithParam<ReshapeCase> {};

TEST_P(FuseReshapes, KeepsResults) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, GetParam().dims);
  auto* output = model.proto().mutable_graph()->add_output();
  output->set_name("y");
  output->mutable_type()->mutable_tensor_type()->set_elem_type(1);
  GetParam().add(model);
  model.Node("Neg", {"b"}, {"y"});
  const Rewriting rewriting(model, {"fuse_reshapes", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), GetParam().after);
  EXPECT_EQ(rewriting.Difference(1, GetParam().name == "SqueezeThatMayFail" ? 1 : 3), "");
}

INSTANTIATE_TEST_SUITE_P(Chains, FuseReshapes, ::testing::ValuesIn(kReshapes),
                         [](const auto& info) { return info.param.name; });

TEST(MergeActivations, OneDoesItAll) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {64}).Output("y", ElementType::kFloat, {64}).Output("z", ElementType::kFloat, {64});
  model.Output("w", ElementType::kFloat, {64}).Output("v", ElementType::kFloat, {64});
  model.Floats("one", {}, {1}).Floats("minus", {}, {-1});
  model.Node("Clip", {"x", "minus", "one"}, {"a"});  // both become one Clip
  model.Node("Relu", {"a"}, {"y"});
  model.Node("Relu", {"x"}, {"b"});
  model.Node("Clip", {"b", "", "one"}, {"z"});
  model.Node("Sigmoid", {"x"}, {"c"});
  model.Node("Relu", {"c"}, {"d"});
  model.Node("Abs", {"d"}, {"w"});
  model.Node("Neg", {"x"}, {"e"});
  model.Node("Neg", {"e"}, {"f"});
  model.Node("Floor", {"f"}, {"g"});
  model.Node("Ceil", {"g"}, {"v"});
  const Rewriting rewriting(model, {"merge_activations", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "Clip Clip Sigmoid Abs Floor");
  EXPECT_EQ(rewriting.Difference(), "");
}

TEST(MergeActivations, KeepsNaNAndInfinity) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {4}).Output("y", ElementType::kFloat, {4});
  model.Floats("low", {}, {-1});
  model.Node("Clip", {"x", "low"}, {"a"});
  model.Node("Relu", {"a"}, {"y"});
  const Rewriting rewriting(model, {"merge_activations"});
  EXPECT_EQ(rewriting.after(), "Clip");
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(rewriting.Difference({Floats({4}, {inf, -inf, std::nanf(""), -0.5f})}), "");
}

TEST(MergeActivations, KeepsInfiniteBounds) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const bool low : {true, false}) {  // all becomes that infinity
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {4}).Output("y", ElementType::kFloat, {4});
    model.Floats("bound", {}, {low ? inf : -inf}).Floats("six", {}, {6});
    model.Node("Clip", {"x", "", "six"}, {"a"});
    low ? model.Node("Clip", {"a", "bound"}, {"y"}) : model.Node("Clip", {"a", "", "bound"}, {"y"});
    const Rewriting rewriting(model, {"merge_activations"});
    EXPECT_EQ(rewriting.after(), "Clip");
    EXPECT_EQ(rewriting.Difference(), "") << low;
  }
}

TEST(MergeCasts, OnlyWhatLosesNothing) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {8}).Input("i", ElementType::kInt64, {8});
  model.Output("y", ElementType::kFloat, {8}).Output("z", ElementType::kInt64, {8}).Output("w", ElementType::kInt32, {8});
  const auto cast = [&](const char* from, const char* to, ElementType type) {
    Int(model.Node("Cast", {from}, {to}), "to", static_cast<int64_t>(type));
  };
  cast("x", "a", ElementType::kDouble);
  cast("a", "b", ElementType::kFloat);  // back
  model.Node("Neg", {"b"}, {"y"});
  cast("i", "c", ElementType::kFloat);  // loses
  cast("c", "z", ElementType::kInt64);
  cast("x", "d", ElementType::kDouble);
  cast("d", "w", ElementType::kInt32);  // directly
  const Rewriting rewriting(model, {"merge_casts", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "Neg Cast Cast Cast");
  EXPECT_EQ(rewriting.Difference(), "");
}

}  // namespace
}  // namespace tessera::testing
