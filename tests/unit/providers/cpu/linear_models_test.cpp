// Linear models that hold more coefficients than classes times features, as some that packages ship do.

#include <gmock/gmock.h>

#include "attributes.h"
#include "error_of.h"
#include "model_builder.h"

namespace tessera::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelBuilder Classifier(const std::vector<float>& coefficients) {
  ModelBuilder model;
  auto* import = model.proto().add_opset_import();
  import->set_domain("ai.onnx.ml");
  import->set_version(1);
  model.Input("x", ElementType::kFloat, {-1, 2})
      .Output("scores", ElementType::kFloat, {-1, 3})
      .Output("label", ElementType::kInt64, {-1});
  auto& node = model.Node("LinearClassifier", {"x"}, {"label", "scores"});
  node.set_domain("ai.onnx.ml");
  Floats(node, "coefficients", coefficients);
  Floats(node, "intercepts", {0, 1, 0});
  Ints(node, "classlabels_ints", {10, 20, 30});
  return model;
}

std::vector<Value> Classified(const std::vector<float>& coefficients) {
  const Session session = Classifier(coefficients).Session();
  const std::vector<Value> inputs = {Floats({2, 2}, {1, 2, 3, -1})};
  std::vector<Value> results(2);
  session.Run(inputs, results);
  return results;
}

TEST(LinearModels, TakeTheFirstOfSpareCoefficients) {
  for (const std::vector<float>& coefficients :
       {std::vector<float>{1, 0, 0, 1, -1, 2}, {1, 0, 0, 1, -1, 2, 9, 9, 9, 9, 9, 9}}) {
    const auto results = Classified(coefficients);
    EXPECT_THAT(ToVector(results[0]), ElementsAre(1, 3, 3, 3, 0, -5));
    EXPECT_THAT(results[1].tensor().values<int64_t>(), ElementsAre(20, 10));
  }
}

TEST(LinearModels, RefuseFewerAndParts) {
  EXPECT_THAT(ErrorOf([] { Classified({1, 0, 0}); }),
              HasSubstr("X has 2 features, the model has 3 coefficients for 3 targets"));
  EXPECT_THAT(ErrorOf([] { Classified({1, 0, 0, 1, -1, 2, 5}); }),
              HasSubstr("7 coefficients are not a multiple of 3 targets"));
}

TEST(LinearModels, RegressorsToo) {
  ModelBuilder model;
  auto* import = model.proto().add_opset_import();
  import->set_domain("ai.onnx.ml");
  import->set_version(1);
  model.Input("x", ElementType::kFloat, {2, 2}).Output("y", ElementType::kFloat, {2, 2});
  auto& node = model.Node("LinearRegressor", {"x"}, {"y"});
  node.set_domain("ai.onnx.ml");
  Floats(node, "coefficients", {1, 2, 3, 4, 5, 6});
  Int(node, "targets", 2);
  const Session session = model.Session();
  const std::vector<Value> inputs = {Floats({2, 2}, {1, 2, 3, 4})};
  std::vector<Value> results(1);
  session.Run(inputs, results);
  EXPECT_THAT(ToVector(results[0]), ElementsAre(5, 11, 11, 25));
}

}  // namespace
}  // namespace tessera::testing
