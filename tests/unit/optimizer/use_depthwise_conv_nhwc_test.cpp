#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

struct Window {
  int64_t height, width;
  std::vector<int64_t> strides, pads, dilations;
  bool bias = true;
};

/// A depthwise convolution of 19 channels, of an image of 9 by 13 that x's tokens make. Its output is tokens again.
ModelBuilder Depthwise(const Window& window, int64_t batch = 2) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {batch, 117, 19}).Output("y", ElementType::kFloat, {batch, -1, 19});
  if (batch < 0) model.NameDim("x", 0, "batch");
  model.Ints("to", {-1, 19, 9, 13}).Ints("back", {0, 19, -1});
  model.Floats("w", {19, 1, window.height, window.width},
               Numbers(static_cast<size_t>(19 * window.height * window.width), 0.1f));
  model.Floats("b", {19}, Numbers(19));
  Transpose(model, "x", "t", {0, 2, 1});
  model.Node("Reshape", {"t", "to"}, {"image"});
  onnx::NodeProto& conv =
      window.bias ? model.Node("Conv", {"image", "w", "b"}, {"c"}) : model.Node("Conv", {"image", "w"}, {"c"});
  Int(conv, "group", 19);
  Ints(Ints(Ints(conv, "strides", window.strides), "pads", window.pads), "dilations", window.dilations);
  model.Node("Reshape", {"c", "back"}, {"r"});
  Transpose(model, "r", "z", {0, 2, 1});
  model.Node("Sigmoid", {"z"}, {"y"});
  return model;
}

TEST(DepthwiseConvNhwcTokens, ComputeWhereTheyLie) {
  const std::vector<Window> windows = {
      {3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}},        {3, 3, {2, 2}, {1, 1, 1, 1}, {1, 1}, false},
      {5, 7, {1, 1}, {2, 3, 2, 3}, {1, 1}},        {3, 3, {1, 1}, {2, 2, 2, 2}, {2, 2}},
      {1, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}, false}, {2, 3, {1, 2}, {0, 2, 1, 0}, {1, 3}},
      {9, 13, {1, 1}, {8, 12, 8, 12}, {1, 1}},
  };
  for (const Window& window : windows) {
    for (const int64_t batch : {2, -1}) {
      const Rewriting rewriting(Depthwise(window, batch), {});
      EXPECT_EQ(rewriting.after(), "Reshape DepthwiseConvNhwc Reshape Sigmoid");
      EXPECT_EQ(rewriting.Difference(1, 3, true), "");
    }
  }
}

TEST(DepthwiseConvNhwcTokens, LeaveTokensThatOthersRead) {
  ModelBuilder model = Depthwise({3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}});
  model.Output("c", ElementType::kFloat, {2, 19, 9, 13});
  const Rewriting rewriting(model, {"use_depthwise_conv_nhwc"});
  EXPECT_EQ(rewriting.before(), rewriting.after());
}

}  // namespace
}  // namespace tessera::testing
