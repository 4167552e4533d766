#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

struct Window {
  int64_t height, width, stride;  // of an image of 8 by 12; the stride is of its rows
};

void AddConv(ModelBuilder& model, const Window& window, bool bias) {
  model.Floats("w", {8, 6, window.height, window.width},
               Numbers(static_cast<size_t>(48 * window.height * window.width), 0.1f));
  model.Floats("bias", {8}, Numbers(8));
  onnx::NodeProto& conv =
      bias ? model.Node("Conv", {"image", "w", "bias"}, {"c"}) : model.Node("Conv", {"image", "w"}, {"c"});
  Ints(conv, "strides", {window.stride, window.width});
}

/// x [2, 96, 6] by way of an image of six planes.
ModelBuilder Tokens(const Window& window, bool bias) {
  const int64_t tokens = ((8 - window.height) / window.stride + 1) * (12 / window.width);
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {2, 96, 6}).Output("y", ElementType::kFloat, {2, tokens, 8});
  model.Ints("to", {2, 6, 8, 12}).Ints("back", {2, 8, -1});
  Transpose(model, "x", "t", {0, 2, 1});
  model.Node("Reshape", {"t", "to"}, {"image"});
  AddConv(model, window, bias);
  model.Node("Reshape", {"c", "back"}, {"r"});
  Transpose(model, "r", "y", {0, 2, 1});
  return model;
}

/// x [2, 8, 12, 6], its channels last.
ModelBuilder Pixels(const Window& window, bool bias) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {2, 8, 12, 6})
      .Output("y", ElementType::kFloat, {2, 8 / window.stride, 12 / window.width, 8});
  Transpose(model, "x", "image", {0, 3, 1, 2});
  AddConv(model, window, bias);
  Transpose(model, "c", "y", {0, 2, 3, 1});
  return model;
}

TEST(PatchConvolutions, BetweenTokens) {
  for (const Window& window : {Window{4, 4, 4}, Window{2, 3, 2}, Window{1, 1, 1}, Window{8, 12, 8}}) {
    const Rewriting tokens(Tokens(window, true), {"patch_conv_to_matmul", "fold_constants", "eliminate_dead_nodes"});
    EXPECT_EQ(tokens.after(), "Reshape Transpose Reshape MatMul Add");
    EXPECT_EQ(tokens.Difference(1, 3, true), "");
    const Rewriting pixels(Pixels(window, false), {"patch_conv_to_matmul", "fold_constants", "eliminate_dead_nodes"});
    EXPECT_EQ(pixels.after(), "Reshape Transpose Reshape MatMul Reshape");
    EXPECT_EQ(pixels.Difference(1, 3, true), "");
  }
}

TEST(PatchConvolutions, LeavesWindowsThatOverlapOrLeavePixelsOut) {
  for (const Window& window : {Window{4, 4, 2}, Window{3, 4, 3}, Window{2, 4, 4}}) {
    EXPECT_EQ(Rewriting(Tokens(window, true), {"patch_conv_to_matmul"}).after(),
              "Transpose Reshape Conv Reshape Transpose");
  }
}

TEST(PatchConvolutions, LeavesStridesThatTheKernelRefuses) {
  for (const size_t count : {0u, 1u}) {
    ModelBuilder model = Tokens({4, 4, 4}, true);
    auto& strides = *model.proto().mutable_graph()->mutable_node(2)->mutable_attribute(0);
    strides.mutable_ints()->Truncate(static_cast<int>(count));
    EXPECT_EQ(Rewriting(model, {"patch_conv_to_matmul"}).after(), "Transpose Reshape Conv Reshape Transpose");
  }
}

}  // namespace
}  // namespace tessera::testing
