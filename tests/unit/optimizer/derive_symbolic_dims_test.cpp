#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

/// The name of the width of an image of width n behind a window of three.
std::string WidthBehind(const char* auto_pad) {
  ModelBuilder model(13);
  model.Input("x", ElementType::kFloat, {1, 1, -1}).Output("y", ElementType::kFloat, {1, 1, -1});
  model.NameDim("x", 2, "n");
  model.Floats("w", {1, 1, 3}, {1, 2, 3});
  auto& conv = model.Node("Conv", {"x", "w"}, {"c"});
  if (auto_pad != nullptr) Text(conv, "auto_pad", auto_pad);
  model.Node("Relu", {"c"}, {"y"});
  const Rewriting rewriting(model, {"derive_symbolic_dims"});
  const Graph& graph = rewriting.graph();
  return (*graph.value(graph.FindValue("c")).type.shape)[2].symbol;
}

TEST(DeriveSymbolicDims, WindowsKeepTheWidthWhereTheyArePaddedTo) {
  EXPECT_EQ(WidthBehind("SAME_UPPER"), "n");
  EXPECT_EQ(WidthBehind("SAME_LOWER"), "n");
  EXPECT_NE(WidthBehind(nullptr), "n");
  EXPECT_NE(WidthBehind("VALID"), "n");
  EXPECT_NE(WidthBehind(""), "n");  // kernels take it for NOTSET
}

}  // namespace
}  // namespace tessera::testing
