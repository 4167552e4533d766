// Positions that are computed in floating point, of axes longer than its digits; and sizes and classes that no tensor has.

#include <gmock/gmock.h>

#include <limits>
#include <vector>

#include "attributes.h"
#include "error_of.h"
#include "model_builder.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

/// Boxes that end where the image ends: as a float, the last of 2^24 + 4 positions is one further.
TEST(FarPositions, CropsEndAtTheLastPixel) {
  constexpr int64_t kLength = (int64_t{1} << 24) + 4;
  std::vector<Float16> image(kLength, Float16(1.0f));
  image.back() = Float16(9.0f);
  for (const bool wide : {true, false}) {
    for (const char* mode : {"bilinear", "nearest"}) {
      ModelBuilder model(17);
      const std::vector<int64_t> dims =
          wide ? std::vector<int64_t>{1, 1, 1, kLength} : std::vector<int64_t>{1, 1, kLength, 1};
      model.Input("x", ElementType::kFloat16, dims).Input("rois", ElementType::kFloat16, {1, 4});
      model.Input("images", ElementType::kInt32, {1})
          .Input("size", ElementType::kInt32, {2})
          .Output("y", ElementType::kFloat16, {1, 1, 1, 1});
      auto& node = model.Node("CropAndResize", {"x", "rois", "images", "size"}, {"y"});
      node.set_domain("com.microsoft");
      Text(node, "mode", mode);
      const Float16 box[] = {Float16(1.0f), Float16(1.0f), Float16(1.0f), Float16(1.0f)};
      const int32_t first[] = {0}, one[] = {1, 1};
      std::vector<Value> inputs, results(1);
      inputs.push_back(Tensor::View<Float16>(Shape(dims), image));
      inputs.push_back(Tensor::Of<Float16>(Shape{1, 4}, box));
      inputs.push_back(Tensor::Of<int32_t>(Shape{1}, first));
      inputs.push_back(Tensor::Of<int32_t>(Shape{2}, one));
      model.Session().Run(inputs, results);
      EXPECT_EQ(static_cast<float>(*results[0].tensor().data<Float16>()), 9.0f) << mode;
    }
  }
}

TEST(FarPositions, SizesThatNoTensorHasAreErrors) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 1, 2, 2})
      .Input("sizes", ElementType::kInt64, {4})
      .Output("y", ElementType::kFloat, {-1, -1, -1, -1});
  model.Node("Resize", {"x", "", "", "sizes"}, {"y"});
  const Session session = model.Session();
  for (const int64_t size : {std::numeric_limits<int64_t>::max(), int64_t{1} << 62, int64_t{-1}}) {
    std::vector<Value> inputs, results(1);
    inputs.push_back(Floats({1, 1, 2, 2}, {1, 2, 3, 4}));
    const int64_t sizes[] = {1, 1, 2, size};
    inputs.push_back(Tensor::Of<int64_t>(Shape{4}, sizes));
    EXPECT_THAT(ErrorOf([&] { session.Run(inputs, results); }), HasSubstr("a number from 0 to 2^62 is expected"));
  }
}

/// A tree's inner node votes, for a class that there is not; its leaves do not.
TEST(FarPositions, VotesOfInnerNodesAreChecked) {
  ModelBuilder model;
  auto* import = model.proto().add_opset_import();
  import->set_domain("ai.onnx.ml");
  import->set_version(3);
  model.Input("x", ElementType::kFloat, {1, 1})
      .Output("label", ElementType::kInt64, {1})
      .Output("z", ElementType::kFloat, {1, 2});
  auto& node = model.Node("TreeEnsembleClassifier", {"x"}, {"label", "z"});
  node.set_domain("ai.onnx.ml");
  Ints(node, "nodes_treeids", {0, 0, 0});
  Ints(node, "nodes_nodeids", {0, 1, 2});
  Ints(node, "nodes_featureids", {0, 0, 0});
  Ints(node, "nodes_truenodeids", {1, 0, 0});
  Ints(node, "nodes_falsenodeids", {2, 0, 0});
  Ints(node, "class_treeids", {0});
  Ints(node, "class_nodeids", {0});
  Ints(node, "class_ids", {123456789});
  Ints(node, "classlabels_int64s", {0, 1});
  Texts(node, "nodes_modes", {"BRANCH_LEQ", "LEAF", "LEAF"});
  Floats(Floats(node, "nodes_values", {1, 1, 1}), "class_weights", {1});
  EXPECT_THAT(ErrorOf([&] { model.Session(); }), HasSubstr("votes for target 123456789, there are 2"));
}

}  // namespace
}  // namespace tessera::testing
