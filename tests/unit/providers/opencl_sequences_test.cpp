// Attention, recurrences and transforms along sequences on the OpenCL provider, against the CPU provider. Skipped where
// there is no device.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attributes.h"
#include "model_builder.h"
#include "providers/opencl_device.h"
#include "tessera/session.h"

namespace tessera {
namespace {

using testing::Elsewhere;
using testing::ExpectAsOnCpu;
using testing::ExpectClose;
using testing::Floats;
using testing::Int;
using testing::Ints;
using ::testing::IsEmpty;
using testing::kOpencl;
using testing::ModelBuilder;
using testing::On;
using testing::OnDevice;
using testing::PlainOn;
using testing::Random;
using testing::ResultsOf;
using testing::Text;
using testing::ToVector;

using OpenclSequencesTest = OnDevice<>;

TEST_F(OpenclSequencesTest, AttentionOverManyKeysWithGroupedHeadsAndAPast) {
  for (const int64_t causal : {0, 1}) {
    ModelBuilder model(23);
    model.Input("q", ElementType::kFloat, {2, 4, 9, 80})
        .Input("k", ElementType::kFloat, {2, 2, 9, 80})
        .Input("v", ElementType::kFloat, {2, 2, 9, 300});
    model.Input("pk", ElementType::kFloat, {2, 2, 150, 80}).Input("pv", ElementType::kFloat, {2, 2, 150, 300});
    model.Output("y", ElementType::kFloat, {2, 4, 9, 300}).Output("nk", ElementType::kFloat, {2, 2, 159, 80});
    model.Output("nv", ElementType::kFloat, {2, 2, 159, 300});
    Int(model.Node("Attention", {"q", "k", "v", "", "pk", "pv"}, {"y", "nk", "nv"}), "is_causal", causal);
    ExpectAsOnCpu(model,
                  {Floats({2, 4, 9, 80}, Random(2 * 4 * 9 * 80, 1)), Floats({2, 2, 9, 80}, Random(2 * 2 * 9 * 80, 2)),
                   Floats({2, 2, 9, 300}, Random(2 * 2 * 9 * 300, 3)), Floats({2, 2, 150, 80}, Random(2 * 2 * 150 * 80, 4)),
                   Floats({2, 2, 150, 300}, Random(2 * 2 * 150 * 300, 5))});
  }
}

TEST_F(OpenclSequencesTest, AttentionMadeFromMatMulsBroadcastsLikeThem) {
  struct Case {
    Shape q, k, v, mask;
  };
  const Case cases[] = {
      {Shape{1, 2, 5, 8}, Shape{3, 2, 7, 8}, Shape{3, 2, 7, 16}, Shape{7}},
      {Shape{3, 2, 5, 8}, Shape{1, 2, 7, 8}, Shape{1, 2, 7, 16}, Shape{3, 1, 5, 1}},
      {Shape{1, 2, 5, 8}, Shape{1, 2, 7, 8}, Shape{1, 2, 7, 16}, Shape{4, 1, 1, 7}},
      {Shape{2, 2, 1, 8}, Shape{2, 2, 7, 8}, Shape{1, 2, 7, 16}, Shape{1, 2, 6, 7}},
      {Shape{2, 2, 4, 8}, Shape{2, 2, 1, 8}, Shape{2, 2, 1, 16}, Shape{4, 1}},
  };
  for (const Case& one : cases) {
    ModelBuilder model(23);
    model.Input("q", ElementType::kFloat, {-1, 2, -1, 8}).Input("k", ElementType::kFloat, {-1, 2, -1, 8});
    model.Input("v", ElementType::kFloat, {-1, 2, -1, 16}).Output("y", ElementType::kFloat, {-1, 2, -1, 16});
    model.Input("mask", ElementType::kFloat, std::vector<int64_t>(one.mask.rank(), -1));
    Ints(model.Node("Transpose", {"k"}, {"kt"}), "perm", {0, 1, 3, 2});
    model.Node("MatMul", {"q", "kt"}, {"scores"});
    model.Floats("scale", {}, {1 / std::sqrt(8.0f)}).Node("Mul", {"scores", "scale"}, {"scaled"});
    model.Node("Add", {"scaled", "mask"}, {"masked"});
    Int(model.Node("Softmax", {"masked"}, {"weights"}), "axis", -1);
    model.Node("MatMul", {"weights", "v"}, {"y"});
    std::vector<Value> inputs;
    for (const Shape& shape : {one.q, one.k, one.v, one.mask}) {
      inputs.emplace_back(Tensor::Of<float>(
          shape, Random(static_cast<size_t>(shape.num_elements()), static_cast<unsigned>(inputs.size()))));
    }
    SCOPED_TRACE(one.q.ToString() + one.k.ToString() + one.v.ToString() + one.mask.ToString());
    const Session session = model.Session(On(kOpencl));
    EXPECT_THAT(Elsewhere(session), IsEmpty());
    EXPECT_THAT(session.placement().ToText(), ::testing::HasSubstr("Attention"));
    ExpectClose(ResultsOf(session, inputs), ResultsOf(model.Session(PlainOn("cpu")), inputs), 1e-4f);
  }
}

TEST_F(OpenclSequencesTest, AttentionMadeFromMatMulsLeavesNothingOfSomeRows) {
  ModelBuilder model(23);
  model.Input("q", ElementType::kFloat, {2, 3, 5, 8}).Input("k", ElementType::kFloat, {2, 3, 8, 7});
  model.Input("v", ElementType::kFloat, {2, 3, 7, 6}).Output("y", ElementType::kFloat, {2, 3, 5, 6});
  std::vector<float> mask(5 * 7, 0);
  std::fill_n(mask.begin() + 7, 7, -std::numeric_limits<float>::infinity());  // row 1
  model.Constant("mask", {5, 7}, std::span<const float>(mask));
  model.Node("MatMul", {"q", "k"}, {"scores"});
  model.Node("Add", {"scores", "mask"}, {"masked"});
  Int(model.Node("Softmax", {"masked"}, {"weights"}), "axis", -1);
  model.Node("MatMul", {"weights", "v"}, {"y"});
  std::vector<Value> inputs;
  for (const Shape& shape : {Shape{2, 3, 5, 8}, Shape{2, 3, 8, 7}, Shape{2, 3, 7, 6}}) {
    inputs.emplace_back(
        Tensor::Of<float>(shape, Random(static_cast<size_t>(shape.num_elements()), static_cast<unsigned>(inputs.size()))));
  }
  const Session session = model.Session(On(kOpencl));
  EXPECT_THAT(Elsewhere(session), IsEmpty());
  EXPECT_THAT(session.placement().ToText(), ::testing::HasSubstr("Attention"));
  const auto given = ToVector(ResultsOf(session, inputs)[0]),
             expected = ToVector(ResultsOf(model.Session(PlainOn("cpu")), inputs)[0]);
  ASSERT_EQ(given.size(), expected.size());
  for (size_t i = 0; i < given.size(); ++i) {
    EXPECT_EQ(std::isnan(given[i]), i / 6 % 5 == 1) << i;
    if (std::isnan(given[i])) continue;
    EXPECT_NEAR(given[i], expected[i], 1e-4f) << i;
  }
}

TEST_F(OpenclSequencesTest, LinearAttentionByEveryRule) {
  constexpr int64_t kWidth = 5, kValues = 7;
  for (const std::string rule : {"linear", "gated", "delta", "gated_delta"}) {
    for (const int64_t group : {1, 2}) {
      for (const int64_t steps : {0, 1, 4}) {
        const bool gated = rule.starts_with("gated"), delta = rule.ends_with("delta"), by_row = group == 2;
        const int64_t decays = by_row ? 3 * kWidth : 3, betas = by_row ? 1 : 3;
        ModelBuilder model(27);
        std::vector<Value> inputs;
        const auto input = [&](const char* name, const std::vector<int64_t>& dims, float low) {
          model.Input(name, ElementType::kFloat, dims);
          inputs.push_back(Floats(dims, Random(static_cast<size_t>(Shape(dims).num_elements()),
                                               static_cast<unsigned>(inputs.size() + 1), low, 0.5f)));
        };
        input("q", {2, steps, 3 * group * kWidth}, -0.5f);
        input("k", {2, steps, 3 * kWidth}, -0.5f);
        input("v", {2, steps, 3 * kValues}, -0.5f);
        if (steps != 1) input("p", {2, 3, kWidth, kValues}, -0.5f);
        if (gated) input("d", {2, steps, decays}, -2.0f);
        if (delta) input("b", {2, steps, betas}, 0);
        std::vector<std::string> names = {"q", "k", "v", steps != 1 ? "p" : "", gated ? "d" : "", delta ? "b" : ""};
        while (names.back().empty()) names.pop_back();
        model.Output("y", ElementType::kFloat, {2, steps, 3 * group * kValues})
            .Output("n", ElementType::kFloat, {2, 3, kWidth, kValues});
        auto& node = ModelBuilder::AddNode(*model.proto().mutable_graph(), "LinearAttention", names, {"y", "n"}, "");
        Text(node, "update_rule", rule);
        Int(node, "q_num_heads", 3 * group);
        Int(node, "kv_num_heads", 3);
        SCOPED_TRACE(fmt::format("{}, {} heads for each key, {} steps", rule, group, steps));
        ExpectAsOnCpu(model, inputs);
      }
    }
  }
}

TEST_F(OpenclSequencesTest, LstmOfBothDirectionsAndLengths) {
  ModelBuilder model(14);
  constexpr int64_t kHidden = 37, kInput = 19, kSteps = 6, kBatch = 3;
  model.Input("x", ElementType::kFloat, {kSteps, kBatch, kInput})
      .Output("y", ElementType::kFloat, {kSteps, 2, kBatch, kHidden});
  model.Output("h", ElementType::kFloat, {2, kBatch, kHidden}).Output("c", ElementType::kFloat, {2, kBatch, kHidden});
  model.Constant("w", {2, 4 * kHidden, kInput}, Random(2 * 4 * kHidden * kInput, 1));
  model.Constant("r", {2, 4 * kHidden, kHidden}, Random(2 * 4 * kHidden * kHidden, 2));
  model.Constant("b", {2, 8 * kHidden}, Random(2 * 8 * kHidden, 3));
  model.Input("lengths", ElementType::kInt32, {kBatch});
  auto& node = model.Node("LSTM", {"x", "w", "r", "b", "lengths"}, {"y", "h", "c"});
  Int(node, "hidden_size", kHidden);
  Text(node, "direction", "bidirectional");
  ExpectAsOnCpu(model, {Floats({kSteps, kBatch, kInput}, Random(kSteps * kBatch * kInput, 4)),
                        Value(Tensor::Of<int32_t>(Shape{kBatch}, std::vector<int32_t>{6, 0, 4}))});
}

TEST_F(OpenclSequencesTest, CausalConvolutionsGoOnFromTheirState) {
  for (const int64_t k : {1, 4}) {
    for (const int64_t length : {0, 1, 2, 9}) {
      for (const bool whole : {false, true}) {
        ModelBuilder model(27);
        model.Input("x", ElementType::kFloat, {2, 3, length}).Input("w", ElementType::kFloat, {3, 1, k});
        std::vector<Value> inputs = {Floats({2, 3, length}, Random(static_cast<size_t>(6 * length), 1)),
                                     Floats({3, 1, k}, Random(static_cast<size_t>(3 * k), 2))};
        std::vector<std::string> names = {"x", "w"};
        if (whole) {
          model.Input("b", ElementType::kFloat, {3}).Input("p", ElementType::kFloat, {2, 3, k - 1});
          inputs.push_back(Floats({3}, Random(3, 3)));
          inputs.push_back(Floats({2, 3, k - 1}, Random(static_cast<size_t>(6 * (k - 1)), 4)));
          names = {"x", "w", "b", "p"};
        }
        model.Output("y", ElementType::kFloat, {2, 3, length}).Output("n", ElementType::kFloat, {2, 3, k - 1});
        Text(ModelBuilder::AddNode(*model.proto().mutable_graph(), "CausalConvWithState", names, {"y", "n"}, ""),
             "activation", whole ? "silu" : "none");
        SCOPED_TRACE(fmt::format("{} taps, {} steps, {}", k, length, whole ? "with bias and past" : "alone"));
        ExpectAsOnCpu(model, inputs);
      }
    }
  }
}

TEST_F(OpenclSequencesTest, TransformsOfAnyAxisAndLength) {
  for (const int64_t axis : {0, 1, -2}) {
    for (const int64_t components : {1, 2}) {
      for (const int64_t length : {0, 1, 6, 9}) {  // 0: that of the axis
        for (const int64_t onesided : {0, 1}) {
          if (onesided == 1 && components == 2) continue;
          ModelBuilder model(20);
          model.Input("x", ElementType::kFloat, {7, 8, 5, components})
              .Ints("axis", {axis})
              .Output("y", ElementType::kFloat, {-1, -1, -1, 2});
          model.proto().mutable_graph()->mutable_initializer(0)->clear_dims();
          if (length > 0) {
            model.Ints("length", {length});
            model.proto().mutable_graph()->mutable_initializer(1)->clear_dims();
          }
          Int(model.Node("DFT", {"x", length > 0 ? "length" : "", "axis"}, {"y"}), "onesided", onesided);
          SCOPED_TRACE(fmt::format("axis {}, {} components, {} points, onesided {}", axis, components, length, onesided));
          ExpectAsOnCpu(model, {Floats({7, 8, 5, components}, Random(static_cast<size_t>(280 * components), 1))});
        }
      }
    }
  }
}

TEST_F(OpenclSequencesTest, TransformsOfFrames) {
  for (const int64_t points : {3, 16, 50}) {
    for (const int64_t onesided : {0, 1}) {
      ModelBuilder model(17);
      model.Input("x", ElementType::kFloat, {2, points, 1})
          .Ints("step", {3})
          .Ints("length", {16})
          .Constant("w", {16}, Random(16, 2));
      for (int i = 0; i < 2; ++i) model.proto().mutable_graph()->mutable_initializer(i)->clear_dims();
      model.Output("y", ElementType::kFloat, {2, -1, -1, 2});
      Int(model.Node("STFT", {"x", "step", "w", "length"}, {"y"}), "onesided", onesided);
      SCOPED_TRACE(fmt::format("{} points, onesided {}", points, onesided));
      ExpectAsOnCpu(model, {Floats({2, points, 1}, Random(static_cast<size_t>(2 * points), 1))});
    }
  }
}

TEST_F(OpenclSequencesTest, LongTransformsStayOnTheCpu) {
  ModelBuilder model(20);
  model.Input("x", ElementType::kFloat, {1, 4097, 1}).Output("y", ElementType::kFloat, {1, 4097, 2});
  model.Node("DFT", {"x"}, {"y"});
  const Session session = model.Session(PlainOn(kOpencl));
  EXPECT_THAT(session.placement().nodes.at(0).refusals.at(0).second, ::testing::HasSubstr("4096 points"));
}

}  // namespace
}  // namespace tessera
