// Constants that are folded into each other, and infinities beside numbers that do not read them: what is finite one node
// after the other stays so, and what is infinite makes nothing else no number.

#include "providers/right_values.h"

#include <gmock/gmock.h>

namespace tessera::testing {
namespace {

class ExtremeNumbers : public OnEachProvider {};

INSTANTIATE_TEST_SUITE_P(On, ExtremeNumbers, ::testing::Values("cpu", "dnnl", "opencl"),
                         [](const auto& info) { return info.param; });

struct Scaled {
  const char* op;
  float weight, by;
  std::vector<float> x, y;
};

const std::vector<Scaled> kScaled = {
    {"Mul", 1e10f, 1e30f, {1e-30f, 2e-30f, 0}, {1e10f, 2e10f, 0}},  // the product of both constants overflows
    {"Div", 1e10f, 1e-30f, {1e-30f, 2e-30f, 0}, {1e10f, 2e10f, 0}},
    {"Mul", 1e-25f, 1e-25f, {1e30f, 2e30f, 0}, {1e-20f, 2e-20f, 0}},  // it vanishes
    {"Div", 1, 1e-39f, {0, 1, -1}, {0, kInfinity, -kInfinity}},       // the inverse overflows
    {"Div", 1, 0, {0, 1, -1}, {kNaN, kInfinity, -kInfinity}},
    {"Mul", 1, kInfinity, {0, 1, -1}, {kNaN, kInfinity, -kInfinity}},
    {"Mul", 1, 3e38f, {0, 1, 2}, {0, 3e38f, kInfinity}},
    {"Add", 1, 3e38f, {-3e38f, 0, 1}, {0, 3e38f, 3e38f}},
};

/// A constant for all, and one for each channel.
TEST_P(ExtremeNumbers, ScalesAfterConvAndGemm) {
  for (const Scaled& each : kScaled) {
    for (const bool by_channel : {false, true}) {
      for (const char* layer : {"Conv", "Gemm", "MatMul", "ConvTranspose"}) {
        const bool image = std::string_view(layer).starts_with("Conv");
        const std::vector<int64_t> in = image ? std::vector<int64_t>{1, 1, 1, 3} : std::vector<int64_t>{3, 1};
        const std::vector<int64_t> out = image ? std::vector<int64_t>{1, 2, 1, 3} : std::vector<int64_t>{3, 2};
        ModelBuilder model(16);
        model.Input("x", ElementType::kFloat, in).Output("y", ElementType::kFloat, out);
        const bool filters_first = std::string_view(layer) == "Conv";
        const std::vector<int64_t> weights = !image          ? std::vector<int64_t>{1, 2}
                                             : filters_first ? std::vector<int64_t>{2, 1, 1, 1}
                                                             : std::vector<int64_t>{1, 2, 1, 1};
        model.Floats("w", weights, {each.weight, each.weight});
        if (by_channel) {
          model.Floats("k", image ? std::vector<int64_t>{2, 1, 1} : std::vector<int64_t>{2}, {each.by, each.by});
        } else {
          model.Floats("k", {}, {each.by});
        }
        model.Node(layer, {"x", "w"}, {"c"});
        model.Node(each.op, {"c", "k"}, {"y"});
        std::vector<float> expected;
        for (size_t i = 0; i < 6; ++i) expected.push_back(each.y[image ? i % 3 : i / 2]);
        SCOPED_TRACE(::testing::Message() << layer << ' ' << each.op << ' ' << each.by
                                          << (by_channel ? " by channel" : ""));
        Expect(model, {Numbers(in, each.x)}, {Numbers(out, expected)});
      }
    }
  }
}

/// The bias and what is added to it overflow together, not one after the other.
TEST_P(ExtremeNumbers, BiasesThatOverflowTogether) {
  for (const char* layer : {"Conv", "Gemm"}) {
    const bool image = std::string_view(layer) == "Conv";
    const std::vector<int64_t> dims = image ? std::vector<int64_t>{1, 1, 1, 2} : std::vector<int64_t>{2, 1};
    ModelBuilder model(16);
    model.Input("x", ElementType::kFloat, dims).Output("y", ElementType::kFloat, dims);
    model.Floats("w", image ? std::vector<int64_t>{1, 1, 1, 1} : std::vector<int64_t>{1, 1}, {1});
    model.Floats("b", {1}, {2e38f}).Floats("k", {1}, {3e38f});
    model.Node(layer, {"x", "w", "b"}, {"c"});
    model.Node("Add", {"c", "k"}, {"y"});
    SCOPED_TRACE(layer);
    Expect(model, {Numbers(dims, {-3e38f, -1e38f})}, {Numbers(dims, {2e38f, kInfinity})}, 1e-4f);
  }
}

/// A variance of zero, whose scale makes finite weights overflow.
TEST_P(ExtremeNumbers, NormalizationOfAlmostNoVariance) {
  ModelBuilder model(15);
  model.Input("x", ElementType::kFloat, {1, 1, 1, 3}).Output("y", ElementType::kFloat, {1, 1, 1, 3});
  model.Floats("w", {1, 1, 1, 1}, {1e20f}).Floats("one", {1}, {1}).Floats("zero", {1}, {0});
  model.Node("Conv", {"x", "w"}, {"c"});
  Float(model.Node("BatchNormalization", {"c", "one", "zero", "zero", "zero"}, {"y"}), "epsilon", 1e-38f);
  Expect(model, {Numbers({1, 1, 1, 3}, {1e-20f, 2, 0})}, {Numbers({1, 1, 1, 3}, {1e19f, kInfinity, 0})}, 1e-4f);
}

/// x where it is not negative, whatever the slope.
TEST_P(ExtremeNumbers, SlopesOfWhatIsNotNegative) {
  const std::vector<float> x = {kNaN, kInfinity, 0, 1, -1, -1, -2, -kInfinity};
  const std::vector<float> slopes = {1, kInfinity, kInfinity, kNaN, kInfinity, kNaN, 0.5f, 0};
  const std::vector<float> y = {kNaN, kInfinity, 0, 1, -kInfinity, kNaN, -1, kNaN};
  for (const bool constant : {false, true}) {
    ModelBuilder model(16);
    model.Input("x", ElementType::kFloat, {2, 4}).Output("y", ElementType::kFloat, {2, 4});
    if (constant) model.Floats("slope", {2, 4}, slopes);
    if (!constant) model.Input("slope", ElementType::kFloat, {2, 4});
    model.Node("PRelu", {"x", "slope"}, {"y"});
    std::vector<Value> inputs = {Numbers({2, 4}, x)};
    if (!constant) inputs.push_back(Numbers({2, 4}, slopes));
    SCOPED_TRACE(constant ? "constant" : "given");
    Expect(model, inputs, {Numbers({2, 4}, y)});
  }
}

/// Zero times an infinity is no number: LeakyRelu of slope 0 is not Relu.
TEST_P(ExtremeNumbers, LeakyReluOfSlopeZero) {
  ModelBuilder model(16);
  model.Input("x", ElementType::kFloat, {1, 1, 1, 3}).Output("y", ElementType::kFloat, {1, 1, 1, 3});
  model.Floats("w", {1, 1, 1, 1}, {1});
  model.Node("Conv", {"x", "w"}, {"c"});
  Float(model.Node("LeakyRelu", {"c"}, {"y"}), "alpha", 0);
  Expect(model, {Numbers({1, 1, 1, 3}, {-kInfinity, -1, 2})}, {Numbers({1, 1, 1, 3}, {kNaN, 0, 2})});
}

/// What an output position does not read does not change it: at the ends, where linear weights are 0 and 1, and along both
/// axes.
TEST_P(ExtremeNumbers, ResizeBesideAnInfinity) {
  for (const bool down : {false, true}) {
    const std::vector<int64_t> in = down ? std::vector<int64_t>{1, 1, 4, 1} : std::vector<int64_t>{1, 1, 1, 4};
    const std::vector<int64_t> out = down ? std::vector<int64_t>{1, 1, 8, 1} : std::vector<int64_t>{1, 1, 1, 8};
    ModelBuilder model(17);
    model.Input("x", ElementType::kFloat, in).Output("y", ElementType::kFloat, out);
    model.Floats("scales", {4}, down ? std::vector<float>{1, 1, 2, 1} : std::vector<float>{1, 1, 1, 2});
    Text(model.Node("Resize", {"x", "", "scales"}, {"y"}), "mode", "linear");
    SCOPED_TRACE(down ? "down" : "along");
    Expect(model, {Numbers(in, {1, kInfinity, 2, 4})},
           {Numbers(out, {1, kInfinity, kInfinity, kInfinity, kInfinity, 2.5f, 3.5f, 4})});
    Expect(model, {Numbers(in, {1, 2, kInfinity, 4})},
           {Numbers(out, {1, 1.25f, 1.75f, kInfinity, kInfinity, kInfinity, kInfinity, 4})});
  }
}

}  // namespace
}  // namespace tessera::testing
