#include <cmath>
#include <limits>

#include "attributes.h"
#include "optimizer/rewriting.h"
#include "waves.h"

namespace tessera::testing {
namespace {

struct ActivationCase {
  std::string name;
  Shape input, weights;
  int64_t group = 1, stride = 1, pad = 0;
};

/// y = activation(Conv(x)), or with `scaled` twice that.
ModelBuilder ActivationModel(const ActivationCase& c, const std::string& activation, bool scaled) {
  const auto dims = [](const Shape& shape) { return std::vector<int64_t>(shape.begin(), shape.end()); };
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, dims(c.input))
      .Output("y", ElementType::kFloat, std::vector<int64_t>(c.input.rank(), -1));
  model.Floats("w", dims(c.weights), Waves(c.weights.num_elements(), 0.37f));
  model.Floats("b", {c.weights[0]}, Waves(c.weights[0], 1.1f))
      .Floats("low", {}, {-0.25f})
      .Floats("high", {}, {0.5f})
      .Floats("two", {}, {2});
  auto& conv = model.Node("Conv", {"x", "w", "b"}, {"c"});
  const size_t axes = c.input.rank() - 2;
  Int(conv, "group", c.group);
  Ints(conv, "strides", std::vector<int64_t>(axes, c.stride));
  Ints(conv, "pads", std::vector<int64_t>(2 * axes, c.pad));
  const std::string out = scaled ? "a" : "y";
  if (activation == "Clip") {
    model.Node("Clip", {"c", "low", "high"}, {out});
  } else {
    auto& node = model.Node(activation, {"c"}, {out});
    if (activation == "LeakyRelu" || activation == "HardSigmoid") Float(node, "alpha", 0.3f);
  }
  if (scaled) model.Node("Mul", {"a", "two"}, {"y"});
  return model;
}

Tensor RunAt(ModelBuilder& model, OptimizationLevel level, const std::vector<Value>& inputs, const std::string& operators) {
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.optimization_level = level;
  options.intra_op_threads = 2;
  const Session session = model.Session(options);
  std::string found;
  for (const PlacementReport::NodeEntry& node : session.placement().nodes)
    found += (found.empty() ? "" : " ") + node.op_type;
  EXPECT_EQ(found, operators);
  std::vector<Value> results(1);
  session.Run(inputs, results);
  return results[0].tensor();
}

class FuseActivations : public ::testing::TestWithParam<ActivationCase> {};

TEST_P(FuseActivations, GivesTheSameResults) {
  const ActivationCase& c = GetParam();
  for (const std::string activation : {"Relu", "Clip", "LeakyRelu", "HardSigmoid", "HardSwish"}) {
    for (const bool scaled : {false, true}) {
      ModelBuilder model = ActivationModel(c, activation, scaled);
      Tensor x(ElementType::kFloat, c.input);
      for (int64_t i = 0; i < x.num_elements(); ++i) x.mutable_data<float>()[i] = std::sin(static_cast<float>(i) * 0.71f);
      x.mutable_data<float>()[x.num_elements() / 2] = std::numeric_limits<float>::quiet_NaN();
      const std::vector<Value> inputs = {Value(std::move(x))};
      const std::string after = scaled ? " Mul" : "";
      const Tensor expected = RunAt(model, OptimizationLevel::kNone, inputs, "Conv " + activation + after);
      const Tensor given = RunAt(model, OptimizationLevel::kAll, inputs, "FusedConv" + after);
      ASSERT_EQ(given.shape(), expected.shape());
      for (int64_t i = 0; i < expected.num_elements(); ++i) {
        const float e = expected.data<float>()[i], g = given.data<float>()[i];
        ASSERT_TRUE((std::isnan(e) && std::isnan(g)) || std::abs(e - g) <= 1e-4f)
            << activation << " at " << i << ": " << e << ", " << g;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Convolutions, FuseActivations,
                         ::testing::Values(ActivationCase{"Pointwise", {2, 20, 20, 17}, {19, 20, 1, 1}},
                                           ActivationCase{"PointwiseSmall", {1, 32, 7, 7}, {40, 32, 1, 1}},
                                           ActivationCase{"SmallImage", {1, 22, 7, 7}, {32, 22, 3, 3}, 1, 1, 1},
                                           ActivationCase{"Wide", {1, 60, 30, 33}, {62, 60, 3, 3}, 1, 1, 1},
                                           ActivationCase{"Strided", {1, 3, 37, 41}, {12, 3, 7, 7}, 1, 2, 3},
                                           ActivationCase{"Grouped", {2, 8, 9, 9}, {12, 4, 3, 3}, 2, 1, 1},
                                           ActivationCase{"Depthwise", {1, 20, 19, 23}, {20, 1, 3, 3}, 20, 1, 1},
                                           ActivationCase{"DepthwiseStrided", {1, 9, 18, 23}, {9, 1, 5, 5}, 9, 2, 2},
                                           ActivationCase{"DepthwiseTwice", {1, 6, 9, 9}, {12, 1, 4, 4}, 6, 1, 0},
                                           ActivationCase{"OneDimension", {2, 5, 40}, {7, 5, 3}, 1, 1, 1},
                                           ActivationCase{"ThreeDimensions", {1, 3, 6, 7, 8}, {5, 3, 2, 3, 3}, 1, 1, 0},
                                           ActivationCase{"OnePixel", {1, 30, 1, 1}, {21, 30, 1, 1}}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tessera::testing
