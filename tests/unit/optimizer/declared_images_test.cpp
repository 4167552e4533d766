// Images whose declared sizes nothing bears out: they come out of a Reshape to sizes that are an input.

#include <algorithm>
#include <cmath>

#include "error_of.h"
#include "optimizer/float_network.h"

namespace tessera::testing {
namespace {

struct DeclaredImage {
  std::vector<int64_t> declared, given;  // height and width
  std::vector<int64_t> kernel, pads, dilations = {1, 1};
};

constexpr int64_t kChannels = 128;

ModelBuilder OneConvolution(const DeclaredImage& c) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {-1})
      .Input("sizes", ElementType::kInt64, {4})
      .Output("y", ElementType::kFloat, {1, kChannels, -1, -1});
  model.Node("Reshape", {"x", "sizes"}, {"image"});
  ModelBuilder::Declare(model.proto().mutable_graph()->add_value_info(), "image", ElementType::kFloat,
                        {1, kChannels, c.declared[0], c.declared[1]});
  std::string last = "image";
  for (const std::string name : {"a", "b"}) {
    const int64_t count = kChannels * kChannels * c.kernel[0] * c.kernel[1];
    model.Floats(name + "w", {kChannels, kChannels, c.kernel[0], c.kernel[1]}, Waves(count, 0.37f, 0.1f));
    auto& conv = model.Node("Conv", {last, name + "w"}, {name});
    Ints(conv, "pads", {c.pads[0], c.pads[1], c.pads[0], c.pads[1]});
    Ints(conv, "dilations", c.dilations);
    last = name;
  }
  model.Node("Relu", {last}, {"y"});
  return model;
}

std::vector<float> ResultAt(const ModelBuilder& model, OptimizationLevel level, const std::vector<Value>& inputs) {
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.optimization_level = level;
  options.intra_op_threads = 1;
  // Each value has memory of its own: what is read or written beyond it is seen.
  options.enable_arena = options.enable_memory_pattern = false;
  const Session session = model.Session(options);
  std::vector<Value> results(1);
  session.Run(inputs, results);
  return ToVector(results[0]);
}

TEST(DeclaredImages, AreComputedAsTheyComeOrRefused) {
  const DeclaredImage cases[] = {
      {.declared = {1, 40}, .given = {5, 40}, .kernel = {1, 3}, .pads = {0, 1}},
      {.declared = {1, 40}, .given = {7, 3}, .kernel = {1, 3}, .pads = {0, 1}},
      {.declared = {40, 1}, .given = {1, 40}, .kernel = {3, 1}, .pads = {1, 0}},
      {.declared = {40, 40}, .given = {1, 2}, .kernel = {3, 3}, .pads = {4, 4}, .dilations = {4, 4}},
      {.declared = {30, 30}, .given = {5, 3}, .kernel = {3, 3}, .pads = {1, 1}},
      {.declared = {3, 3}, .given = {29, 31}, .kernel = {3, 3}, .pads = {1, 1}},
  };
  for (const DeclaredImage& c : cases) {
    const ModelBuilder model = OneConvolution(c);
    const int64_t count = kChannels * c.given[0] * c.given[1];
    const std::vector<Value> inputs = {
        Floats({count}, Waves(count, 0.71f)),
        Tensor::Of<int64_t>(Shape{4}, std::vector<int64_t>{1, kChannels, c.given[0], c.given[1]})};
    std::vector<float> given, expected = ResultAt(model, OptimizationLevel::kNone, inputs);
    const std::string error = ErrorOf([&] { given = ResultAt(model, OptimizationLevel::kAll, inputs); });
    SCOPED_TRACE(::testing::PrintToString(c.declared) + " " + ::testing::PrintToString(c.given) + " " + error);
    if (error != "no error") continue;
    ASSERT_EQ(given.size(), expected.size());
    for (size_t i = 0; i < given.size(); ++i)
      ASSERT_NEAR(given[i], expected[i], 1e-3f * std::max(1.0f, std::abs(expected[i]))) << i;
  }
}

}  // namespace
}  // namespace tessera::testing
