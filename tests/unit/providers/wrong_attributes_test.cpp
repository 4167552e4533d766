// Attributes that say what their operator does not know are refused, whichever provider is to run the node.

#include <gmock/gmock.h>

#include "attributes.h"
#include "error_of.h"
#include "model_builder.h"
#include "providers/opencl_device.h"
#include "providers_here.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

class WrongAttributes : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!IsCompiledIn(GetParam())) GTEST_SKIP() << "not compiled in";
    if (GetParam() == "opencl") NeedDevice();
  }

  /// What loading the model, or its run, says.
  static std::string ErrorOfRun(const ModelBuilder& model, const std::vector<Value>& inputs) {
    return ErrorOf([&] {
      const Session session = model.Session(OnProvider(GetParam()));
      ResultsOf(session, inputs);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(On, WrongAttributes, ::testing::Values("cpu", "dnnl", "opencl"),
                         [](const auto& info) { return info.param; });

ModelBuilder Padded(int opset, const char* mode) {
  ModelBuilder model(opset);
  model.Input("x", ElementType::kFloat, {4}).Output("y", ElementType::kFloat, {6}).Ints("pads", {1, 1});
  Text(model.Node("Pad", {"x", "pads"}, {"y"}), "mode", mode);
  return model;
}

TEST_P(WrongAttributes, Pad) {
  const std::vector<Value> x = {Floats({4}, {1, 2, 3, 4})};
  EXPECT_THAT(ErrorOfRun(Padded(18, "wrap"), x), HasSubstr("mode 'wrap' is unknown"));
  EXPECT_THAT(ErrorOfRun(Padded(21, "symmetric"), x), HasSubstr("mode 'symmetric' is unknown"));
  EXPECT_EQ(ErrorOfRun(Padded(19, "wrap"), x), "no error");
}

TEST_P(WrongAttributes, DepthToSpace) {
  ModelBuilder model(13);
  model.Input("x", ElementType::kFloat, {1, 4, 1, 1}).Output("y", ElementType::kFloat, {1, 1, 2, 2});
  Text(Int(model.Node("DepthToSpace", {"x"}, {"y"}), "blocksize", 2), "mode", "RCD");
  EXPECT_THAT(ErrorOfRun(model, {Floats({1, 4, 1, 1}, {1, 2, 3, 4})}), HasSubstr("mode is 'RCD'"));
}

TEST_P(WrongAttributes, TensorScatter) {
  ModelBuilder model(24);
  model.Input("cache", ElementType::kFloat, {1, 4, 2}).Input("update", ElementType::kFloat, {1, 1, 2});
  model.Output("y", ElementType::kFloat, {1, 4, 2});
  Text(model.Node("TensorScatter", {"cache", "update"}, {"y"}), "mode", "ring");
  const std::vector<Value> inputs = {Floats({1, 4, 2}, std::vector<float>(8)), Floats({1, 1, 2}, {1, 2})};
  EXPECT_THAT(ErrorOfRun(model, inputs), HasSubstr("mode is 'ring'"));
}

/// From version 18 on the last part may be smaller.
TEST_P(WrongAttributes, SplitInUnequalParts) {
  for (const int opset : {13, 18}) {
    ModelBuilder model(opset);
    model.Input("x", ElementType::kFloat, {-1})
        .Output("a", ElementType::kFloat, {-1})
        .Output("b", ElementType::kFloat, {-1});
    auto& node = model.Node("Split", {"x"}, {"a", "b"});
    if (opset == 18) Int(node, "num_outputs", 2);
    const std::string error = ErrorOfRun(model, {Floats({3}, {1, 2, 3})});
    EXPECT_THAT(error, HasSubstr(opset == 13 ? "3 elements cannot be split into 2 equal parts" : "no error"));
  }
}

TEST_P(WrongAttributes, ConvTransposeOfAnotherKernel) {
  ModelBuilder model(13);
  model.Input("x", ElementType::kFloat, {1, 1, -1}).Output("y", ElementType::kFloat, {1, 1, -1});
  model.Floats("w", {1, 1, 3}, {1, 2, 3});
  Ints(model.Node("ConvTranspose", {"x", "w"}, {"y"}), "kernel_shape", {2});
  EXPECT_THAT(ErrorOfRun(model, {Floats({1, 1, 2}, {1, 2})}), HasSubstr("kernel_shape is [2]"));
}

TEST_P(WrongAttributes, ActivationsOfOneGate) {
  ModelBuilder model(14);
  model.Input("x", ElementType::kFloat, {1, 1, 1}).Output("y", ElementType::kFloat, {1, 1, 1, 1});
  model.Floats("w", {1, 4, 1}, {1, 2, 3, 4}).Floats("r", {1, 4, 1}, {1, 2, 3, 4});
  auto& node = Int(model.Node("LSTM", {"x", "w", "r"}, {"y"}), "hidden_size", 1);
  Texts(node, "activations", {"Sigmoid"});
  EXPECT_THAT(ErrorOfRun(model, {Floats({1, 1, 1}, {1})}), HasSubstr("1 activations are named, 3 are expected"));
}

/// A word that some exporters leave out: padding is what pads says.
TEST_P(WrongAttributes, NoAutoPad) {
  ModelBuilder model(13);
  model.Input("x", ElementType::kFloat, {1, 1, -1}).Output("y", ElementType::kFloat, {1, 1, -1});
  model.Floats("w", {1, 1, 3}, {1, 2, 3});
  Text(model.Node("Conv", {"x", "w"}, {"y"}), "auto_pad", "");
  EXPECT_EQ(ErrorOfRun(model, {Floats({1, 1, 4}, {1, 2, 3, 4})}), "no error");
}

}  // namespace
}  // namespace tessera::testing
