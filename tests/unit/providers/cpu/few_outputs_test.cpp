// Convolutions with few outputs and constant weights give what those give whose weights are an input.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attributes.h"
#include "model_builder.h"
#include "waves.h"

namespace tessera::testing {
namespace {

using Sizes = std::vector<int64_t>;

struct FewOutputsCase {
  Sizes input, weights, pads, dilations;
  Sizes strides = {};
};

std::vector<float> Convolve(const FewOutputsCase& c, const std::string& activation, bool constant, int threads) {
  ModelBuilder model(17);
  const auto numbers = [](const Sizes& shape, float step) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    return Waves(count, step);
  };
  model.Input("x", ElementType::kFloat, Sizes(c.input.size(), -1)).Output("y", ElementType::kFloat, Sizes(c.input.size(), -1));
  if (!constant) model.Input("w", ElementType::kFloat, c.weights);
  if (constant) model.Floats("w", c.weights, numbers(c.weights, 0.37f));
  model.Floats("b", {c.weights[0]}, Waves(c.weights[0], 1.1f));
  auto& node = model.Node("Conv", {"x", "w", "b"}, {activation.empty() ? "y" : "sums"});
  Ints(node, "pads", c.pads);
  Ints(node, "dilations", c.dilations);
  if (!c.strides.empty()) Ints(node, "strides", c.strides);
  if (!activation.empty()) model.Node(activation, {"sums"}, {"y"});
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.intra_op_threads = threads;
  std::vector<Value> inputs = {Value(Floats(c.input, numbers(c.input, 0.71f)))}, results(1);
  if (!constant) inputs.emplace_back(Floats(c.weights, numbers(c.weights, 0.37f)));
  model.Session(options).Run(inputs, results);
  return ToVector(results[0]);
}

TEST(FewOutputsConv, GivesTheSameResults) {
  for (const FewOutputsCase& c : {
           FewOutputsCase{{2, 16, 9, 13}, {3, 16, 3, 3}, {1, 1, 1, 1}, {1, 1}},
           FewOutputsCase{{1, 24, 30, 17}, {1, 24, 7, 5}, {3, 2, 3, 2}, {1, 1}},
           FewOutputsCase{{3, 17, 5, 6}, {6, 17, 3, 3}, {0, 2, 1, 0}, {1, 1}},
           FewOutputsCase{{1, 16, 11, 12}, {4, 16, 3, 3}, {2, 4, 3, 1}, {2, 3}},
           FewOutputsCase{{1, 16, 1, 3}, {2, 16, 3, 3}, {1, 1, 1, 1}, {1, 1}},
           FewOutputsCase{{1, 16, 6, 6}, {2, 16, 3, 3}, {1, 1, 4, 5}, {1, 1}},            // windows of padding alone
           FewOutputsCase{{1, 16, 6, 6}, {2, 16, 3, 3}, {4, 1, 1, 1}, {1, 1}},            // at the beginning, too
           FewOutputsCase{{1, 16, 9, 9}, {2, 16, 3, 3}, {1, 1, 1, 1}, {1, 1}, {2, 1}},
           FewOutputsCase{{2, 32, 70}, {1, 32, 7}, {3, 3}, {1}},
           FewOutputsCase{{1, 16, 4, 5, 6}, {2, 16, 3, 3, 3}, {1, 1, 1, 1, 1, 1}, {1, 1, 1}},
       }) {
    for (const std::string activation : {"", "Relu", "LeakyRelu", "HardSwish"}) {
      for (const int threads : {1, 3}) {
        const auto given = Convolve(c, activation, true, threads), expected = Convolve(c, activation, false, threads);
        SCOPED_TRACE(::testing::PrintToString(c.input) + " " + ::testing::PrintToString(c.pads) + activation);
        ASSERT_EQ(given.size(), expected.size());
        for (size_t i = 0; i < given.size(); ++i) ASSERT_NEAR(given[i], expected[i], 1e-4f * std::max(1.0f, std::abs(expected[i]))) << i;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::testing
