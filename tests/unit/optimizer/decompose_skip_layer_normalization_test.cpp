#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

struct SkipModel {
  bool centers = true, bias = false, sum = false, mean = false;
  int64_t skip_batch = 2;
};

/// The matmul of x with a matrix beside a residual r, normalized.
ModelBuilder Skip(const SkipModel& s, const std::string& first = "p", const std::string& second = "r") {
  ModelBuilder model(17);
  auto* import = model.proto().add_opset_import();
  import->set_domain("com.microsoft");
  import->set_version(1);
  model.Input("x", ElementType::kFloat, {2, 3, 8}).Input("r", ElementType::kFloat, {s.skip_batch, 3, 5});
  model.Output("y", ElementType::kFloat, {2, 3, 5});
  model.Floats("w", {8, 5}, Numbers(40, -1)).Floats("gamma", {5}, Numbers(5)).Floats("beta", {5}, Numbers(5, -0.3f));
  model.Floats("bias", {5}, Numbers(5, 0.1f));
  model.Node("MatMul", {"x", "w"}, {"p"});
  const std::string bias = s.bias ? "bias" : "", mean = s.mean ? "mean" : "", sum = s.sum ? "sum" : "";
  onnx::NodeProto& node =
      s.centers ? model.Node("SkipLayerNormalization", {first, second, "gamma", "beta", bias}, {"y", mean, "", sum})
                : model.Node("SkipSimplifiedLayerNormalization", {first, second, "gamma", bias}, {"y", mean, "", sum});
  node.set_domain("com.microsoft");
  Float(node, "epsilon", 1e-3f);
  if (s.sum) model.Output("sum", ElementType::kFloat, {2, 3, 5});
  if (s.mean) model.Output("mean", ElementType::kFloat, {2, 3, 1});
  return model;
}

TEST(DecomposeSkipLayerNormalization, SumsGoIntoMatMuls) {
  for (const bool centers : {true, false}) {
    for (const bool bias : {true, false}) {
      for (const bool sum : {true, false}) {
        for (const bool swapped : {true, false}) {
          const SkipModel s{.centers = centers, .bias = bias, .sum = sum};
          const Rewriting rewriting(swapped ? Skip(s, "r", "p") : Skip(s),
                                    {"decompose_skip_layer_normalization", "fuse_linear"});
          EXPECT_EQ(rewriting.after(), std::string("Linear ") + (centers ? "LayerNormalization" : "RMSNormalization"));
          EXPECT_EQ(rewriting.Difference(1, 3, true), "");
        }
      }
    }
  }
}

TEST(DecomposeSkipLayerNormalization, LeavesOthers) {
  for (const SkipModel& s : {SkipModel{.mean = true}, SkipModel{.skip_batch = 1}}) {
    const Rewriting rewriting(Skip(s), {"decompose_skip_layer_normalization"});
    EXPECT_EQ(rewriting.after(), rewriting.before());
  }
}

}  // namespace
}  // namespace tessera::testing
