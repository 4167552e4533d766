// Matmuls and convolutions of the OpenCL provider, by panels and by tiles, with what is fused into them, against the CPU
// provider; skipped where there is no device.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "attributes.h"
#include "model_builder.h"
#include "providers/opencl_device.h"
#include "temporary_folder.h"
#include "tessera/providers/opencl.h"
#include "tessera/session.h"

namespace tessera {
namespace {

using testing::ConvolutionCase;
using testing::Elsewhere;
using testing::ExpectClose;
using testing::Floats;
using ::testing::HasSubstr;
using testing::Int;
using testing::Ints;
using ::testing::IsEmpty;
using testing::kConvolutionCases;
using testing::kOpencl;
using testing::ModelBuilder;
using testing::On;
using testing::OnDevice;
using testing::Random;
using testing::ResultsOf;
using testing::ToVector;

namespace fs = std::filesystem;

class OpenclMatMulTest : public OnDevice<::testing::TestWithParam<const char*>> {
 protected:
  static std::vector<float> Run(const Session& session, const std::vector<Value>& inputs) {
    return ToVector(ResultsOf(session, inputs)[0]);
  }

  /// Both providers get the same inputs; the session on the device is given back.
  std::unique_ptr<Session> ExpectSame(ModelBuilder& model, const std::vector<Value>& inputs, ProviderOptions options = {}) {
    options.emplace("kernels", GetParam());
    auto device = std::make_unique<Session>(model.Session(On(kOpencl, std::move(options))));
    const Session cpu = model.Session(On("cpu"));
    EXPECT_THAT(Elsewhere(*device), IsEmpty());
    ExpectClose(ResultsOf(*device, inputs), ResultsOf(cpu, inputs));
    return device;
  }

  static std::set<std::string> Fused(const Session& session) {
    std::set<std::string> names;
    for (const auto& node : session.placement().nodes) names.insert(node.fused_into.substr(0, node.fused_into.find('_')));
    return names;
  }
};

TEST_P(OpenclMatMulTest, EdgesOfTiles) {
  const int64_t sizes[][3] = {{1, 1, 1},    {5, 1, 3},     {4, 130, 33},   {17, 16, 16}, {64, 64, 64},
                              {65, 63, 17}, {129, 127, 9}, {130, 260, 40}, {7, 300, 129}};
  for (const auto& [m, n, k] : sizes) {
    for (int transposed = 0; transposed < 4; ++transposed) {
      SCOPED_TRACE(fmt::format("{} x {} x {}, transposed {}", m, n, k, transposed));
      const bool a = transposed & 1, b = transposed & 2;
      ModelBuilder model;
      const std::vector<int64_t> as = a ? std::vector{k, m} : std::vector{m, k},
                                 bs = b ? std::vector{n, k} : std::vector{k, n};
      model.Input("a", ElementType::kFloat, as).Input("b", ElementType::kFloat, bs).Input("c", ElementType::kFloat, {n});
      model.Output("y", ElementType::kFloat, {m, n});
      auto& gemm = model.Node("Gemm", {"a", "b", "c"}, {"y"});
      Int(gemm, "transA", a);
      Int(gemm, "transB", b);
      ExpectSame(model, {Floats(as, Random(m * k, 1)), Floats(bs, Random(k * n, 2)), Floats({n}, Random(n, 3))});
    }
  }
}

/// So small that what two orders of many additions differ by is far below the tolerance.
std::vector<float> SmallRandom(int64_t count, int seed) {
  std::vector<float> values = Random(count, seed);
  for (float& value : values) value /= 16;
  return values;
}

// Few results of long rows and columns, which come slice by slice.
TEST_P(OpenclMatMulTest, LongSums) {
  const int64_t sizes[][3] = {{1, 1, 100003}, {3, 2, 40000}, {8, 8, 32768}, {1, 64, 65537}};
  for (const auto& [m, n, k] : sizes) {
    for (int transposed = 0; transposed < 4; ++transposed) {
      SCOPED_TRACE(fmt::format("{} x {} x {}, transposed {}", m, n, k, transposed));
      const bool a = transposed & 1, b = transposed & 2;
      ModelBuilder model;
      const std::vector<int64_t> as = a ? std::vector{k, m} : std::vector{m, k},
                                 bs = b ? std::vector{n, k} : std::vector{k, n};
      model.Input("a", ElementType::kFloat, as)
          .Input("c", ElementType::kFloat, {n})
          .Output("y", ElementType::kFloat, {m, n});
      model.Constant("b", bs, SmallRandom(k * n, 2));
      auto& gemm = model.Node("Gemm", {"a", "b", "c"}, {"z"});
      Int(gemm, "transA", a);
      Int(gemm, "transB", b);
      model.Node("Relu", {"z"}, {"y"});
      ExpectSame(model, {Floats(as, SmallRandom(m * k, 1)), Floats({n}, SmallRandom(n, 3))});
    }
  }
}

TEST_P(OpenclMatMulTest, VectorTimesVectorInSlices) {
  ModelBuilder model;
  model.Input("a", ElementType::kFloat, {33000})
      .Input("b", ElementType::kFloat, {33000})
      .Output("y", ElementType::kFloat, {});
  model.Node("MatMul", {"a", "b"}, {"y"});
  ExpectSame(model, {Floats({33000}, SmallRandom(33000, 1)), Floats({33000}, SmallRandom(33000, 2))});
}

TEST_P(OpenclMatMulTest, LongSumsInStacksAndOfVectors) {
  const std::vector<int64_t> shapes[][2] = {
      {{70000}, {70000}}, {{2, 3, 2, 40000}, {3, 40000, 3}}, {{40000}, {2, 40000, 3}}, {{2, 3, 40000}, {40000}}};
  for (const auto& [a, b] : shapes) {
    const Shape sa{std::span<const int64_t>(a)}, sb{std::span<const int64_t>(b)};
    SCOPED_TRACE(sa.ToString() + sb.ToString());
    ModelBuilder model;
    model.Input("a", ElementType::kFloat, a).Input("b", ElementType::kFloat, b).AnyOutput("y", ElementType::kFloat);
    model.Node("MatMul", {"a", "b"}, {"y"});
    ExpectSame(model, {Floats(a, SmallRandom(sa.num_elements(), 1)), Floats(b, SmallRandom(sb.num_elements(), 2))});
  }
}

TEST_P(OpenclMatMulTest, LongSumsOfIntegersWrap) {
  ModelBuilder model;
  model.Input("a", ElementType::kInt32, {2, 50000})
      .Input("b", ElementType::kInt32, {50000, 2})
      .Output("y", ElementType::kInt32, {2, 2});
  model.Node("MatMul", {"a", "b"}, {"y"});
  std::vector<int32_t> values(100000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i * 2654435761u);
  const Session device = model.Session(On(kOpencl, {{"kernels", GetParam()}})), cpu = model.Session(On("cpu"));
  EXPECT_THAT(Elsewhere(device), IsEmpty());
  const std::vector<Value> inputs = {Tensor::Of<int32_t>({2, 50000}, values), Tensor::Of<int32_t>({50000, 2}, values)};
  const Tensor ours = ResultsOf(device, inputs)[0].tensor(), expected = ResultsOf(cpu, inputs)[0].tensor();
  EXPECT_THAT(ours.values<int32_t>(), ::testing::ElementsAreArray(expected.values<int32_t>()));
}

TEST_P(OpenclMatMulTest, StacksBroadcast) {
  const std::vector<int64_t> shapes[][2] = {{{3, 20, 24}, {24, 33}},      {{2, 3, 9, 16}, {2, 3, 16, 20}},
                                            {{2, 1, 9, 16}, {3, 16, 20}}, {{24}, {3, 24, 5}},
                                            {{3, 5, 24}, {24}},           {{20, 24}, {3, 24, 40}}};
  for (const auto& [a, b] : shapes) {
    const Shape sa{std::span<const int64_t>(a)}, sb{std::span<const int64_t>(b)};
    SCOPED_TRACE(sa.ToString() + sb.ToString());
    ModelBuilder model;
    model.Input("a", ElementType::kFloat, a).Input("b", ElementType::kFloat, b).AnyOutput("y", ElementType::kFloat);
    model.Node("MatMul", {"a", "b"}, {"y"});
    ExpectSame(model, {Floats(a, Random(sa.num_elements(), 1)), Floats(b, Random(sb.num_elements(), 2))});
  }
}

TEST_P(OpenclMatMulTest, Convolutions) {
  for (const ConvolutionCase& one : kConvolutionCases) {
    const Shape sx{std::span<const int64_t>(one.x)}, sw{std::span<const int64_t>(one.w)};
    SCOPED_TRACE(sx.ToString() + sw.ToString());
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, one.x).AnyOutput("y", ElementType::kFloat);
    model.Constant("w", one.w, Random(sw.num_elements(), 5)).Constant("b", {one.w[0]}, Random(one.w[0], 6));
    auto& conv = model.Node("Conv", {"x", "w", "b"}, {"y"});
    one.SetAttributes(conv);
    ExpectSame(model, {Floats(one.x, Random(sx.num_elements(), 7))});
  }
}

// Whole and cut tiles of both sizes, panels over several images, a residual, images whose size is known when they come.
struct WinogradCase {
  std::vector<int64_t> x, declared, pads;
  int64_t filters;
};
const WinogradCase kWinogradCases[] = {
    {{1, 64, 20, 20}, {1, 64, 20, 20}, {1, 1, 1, 1}, 64},  {{3, 64, 11, 18}, {-1, 64, 11, 18}, {0, 2, 1, 0}, 70},
    {{1, 96, 7, 7}, {1, 96, 7, 7}, {1, 1, 1, 1}, 96},      {{3, 96, 7, 7}, {-1, 96, 7, 7}, {1, 1, 1, 1}, 96},
    {{2, 64, 13, 18}, {-1, 64, -1, -1}, {1, 1, 1, 1}, 64}, {{1, 64, 3, 3}, {-1, 64, -1, -1}, {0, 0, 0, 0}, 64},
};

ModelBuilder WinogradModel(const WinogradCase& one) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, one.declared).AnyOutput("y", ElementType::kFloat);
  std::vector<float> weights = Random(one.filters * one.x[1] * 9, 5);
  for (float& weight : weights) weight /= 16;  // results of about one
  model.Constant("w", {one.filters, one.x[1], 3, 3}, weights).Constant("b", {one.filters}, Random(one.filters, 6));
  Ints(model.Node("Conv", {"x", "w", "b"}, {"c"}), "pads", one.pads);
  const bool keeps_shape = one.filters == one.x[1] && one.pads == std::vector<int64_t>{1, 1, 1, 1};
  if (keeps_shape) {
    model.Node("Add", {"c", "x"}, {"y"});
  } else {
    model.Node("Relu", {"c"}, {"y"});
  }
  return model;
}

std::vector<Value> WinogradInputs(const WinogradCase& one) {
  const Shape shape{std::span<const int64_t>(one.x)};
  return {Floats(one.x, Random(shape.num_elements(), 7))};
}

TEST_P(OpenclMatMulTest, WinogradConvolutions) {
  for (const WinogradCase& one : kWinogradCases) {
    SCOPED_TRACE(Shape(std::span<const int64_t>(one.x)).ToString());
    ModelBuilder model = WinogradModel(one);
    ExpectSame(model, WinogradInputs(one));
  }
}

/// Sums through the transform are rounded otherwise.
TEST_P(OpenclMatMulTest, TheTransformIsUsedWhereItPays) {
  for (const WinogradCase& one : kWinogradCases) {
    SCOPED_TRACE(Shape(std::span<const int64_t>(one.x)).ToString());
    ModelBuilder model = WinogradModel(one);
    const std::vector<Value> inputs = WinogradInputs(one);
    const auto by_transform = ExpectSame(model, inputs), directly = ExpectSame(model, inputs, {{"winograd", "0"}});
    const bool fits_one_tile = one.x[2] == 3;  // which does not pay
    EXPECT_EQ(Run(*by_transform, inputs) == Run(*directly, inputs), fits_one_tile);
  }
}

TEST_P(OpenclMatMulTest, ResidualAndActivationGoIntoTheConvolution) {
  for (const int64_t group : {1, 16}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {1, 16, 12, 12}).Output("y", ElementType::kFloat, {1, 16, 12, 12});
    model.Constant("w", {16, 16 / group, 3, 3}, Random(16 * 16 / group * 9, 1))
        .Constant("half", {}, std::vector<float>{0.5f});
    auto& conv = model.Node("Conv", {"x", "w"}, {"c"});
    Ints(conv, "pads", {1, 1, 1, 1});
    Int(conv, "group", group);
    model.Node("Sub", {"x", "c"}, {"s"});
    model.Node("Mul", {"s", "half"}, {"m"});
    model.Node("Relu", {"m"}, {"y"});
    const auto session = ExpectSame(model, {Floats({1, 16, 12, 12}, Random(16 * 144, 2))});
    EXPECT_THAT(Fused(*session), ::testing::ElementsAre("Conv+Sub+Mul+Relu")) << group;
  }
}

TEST_P(OpenclMatMulTest, BiasAndGeluGoIntoTheMatMul) {
  ModelBuilder model(20);
  model.Input("x", ElementType::kFloat, {2, 9, 24}).Output("y", ElementType::kFloat, {2, 9, 40});
  model.Constant("w", {24, 40}, Random(960, 1)).Constant("b", {40}, Random(40, 2));
  model.Node("MatMul", {"x", "w"}, {"p"});
  model.Node("Add", {"b", "p"}, {"s"});
  model.Node("Gelu", {"s"}, {"y"});
  const auto session = ExpectSame(model, {Floats({2, 9, 24}, Random(432, 3))});
  EXPECT_THAT(Fused(*session), ::testing::ElementsAre("MatMul+Add+Gelu"));
}

TEST_P(OpenclMatMulTest, ElementwiseOperatorsBecomeOneKernel) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {3, 70})
      .Input("r", ElementType::kFloat, {3, 70})
      .Output("y", ElementType::kFloat, {2, 3, 70});
  model.Constant("two", {}, std::vector<float>{2.0f})
      .Constant("row", {70}, Random(70, 3))
      .Constant("planes", {2, 1, 1}, Random(2, 4));
  model.Node("Sigmoid", {"x"}, {"s"});
  model.Node("Mul", {"x", "s"}, {"m"});
  model.Node("Sub", {"r", "m"}, {"d"});
  model.Node("Pow", {"d", "two"}, {"p"});
  model.Node("Add", {"p", "row"}, {"a"});     // what is added broadcasts
  model.Node("Add", {"a", "planes"}, {"e"});  // the result is larger than what the chain has computed
  model.Node("Abs", {"e"}, {"b"});
  model.Node("Sqrt", {"b"}, {"y"});
  const auto session = ExpectSame(model, {Floats({3, 70}, Random(210, 1)), Floats({3, 70}, Random(210, 2))});
  EXPECT_THAT(Fused(*session), ::testing::ElementsAre("", "Abs+Sqrt", "Sigmoid+Mul+Sub+Pow+Add"));
}

TEST_P(OpenclMatMulTest, ResultsOfTheGraphEndAChain) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {40}).Output("y", ElementType::kFloat, {40}).Output("n", ElementType::kFloat, {40});
  model.Node("Exp", {"x"}, {"e"});
  model.Node("Neg", {"e"}, {"n"});
  model.Node("Tanh", {"n"}, {"t"});
  model.Node("Add", {"t", "n"}, {"y"});
  EXPECT_THAT(Fused(*ExpectSame(model, {Floats({40}, Random(40, 2))})), ::testing::ElementsAre("Exp+Neg", "Tanh+Add"));
}

TEST_P(OpenclMatMulTest, WhatOthersReadIsNotFused) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 8, 6, 6})
      .Output("y", ElementType::kFloat, {1, 8, 6, 6})
      .Output("c", ElementType::kFloat, {1, 8, 6, 6});
  model.Constant("w", {8, 8, 1, 1}, Random(64, 1));
  model.Node("Conv", {"x", "w"}, {"c"});
  model.Node("Relu", {"c"}, {"y"});
  EXPECT_THAT(Fused(*ExpectSame(model, {Floats({1, 8, 6, 6}, Random(288, 2))})), ::testing::ElementsAre("", "Conv"));
}

TEST_P(OpenclMatMulTest, TunedTilesAreRemembered) {
  const testing::TemporaryFolder temporary;
  const fs::path folder = temporary.path();
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 8, 10, 10}).Output("y", ElementType::kFloat, {1, 20, 10, 10});
  model.Constant("w", {20, 8, 3, 3}, Random(1440, 1));
  Ints(model.Node("Conv", {"x", "w"}, {"y"}), "pads", {1, 1, 1, 1});
  const auto files = [&] { return std::distance(fs::directory_iterator(folder), fs::directory_iterator()); };
  const std::vector<Value> inputs = {Floats({1, 8, 10, 10}, Random(800, 2))};
  ExpectSame(model, inputs, {{"tuning", "1"}, {"program_cache_path", folder.string()}});
  const auto first = files();
  EXPECT_GT(first, 0);
  ExpectSame(model, inputs, {{"tuning", "1"}, {"program_cache_path", folder.string() + "/."}});  // as another process
  EXPECT_EQ(files(), first);
}

// A matmul with few results for the device shares its steps, a few rows of A leave reading B; steps that end anywhere.
TEST_P(OpenclMatMulTest, FewResultsOfManySteps) {
  struct Case {
    int64_t m, n, k;
  };
  for (const Case& one :
       {Case{5, 7, 300}, Case{33, 40, 1000}, Case{1, 70, 513}, Case{3, 100, 64}, Case{1, 3, 5}, Case{20, 16, 129}}) {
    for (const int64_t transposed : {0, 1}) {
      SCOPED_TRACE(fmt::format("{} x {} x {}, transB {}", one.m, one.n, one.k, transposed));
      ModelBuilder model;
      model.Input("a", ElementType::kFloat, {one.m, one.k}).Output("y", ElementType::kFloat, {one.m, one.n});
      model.Input("b", ElementType::kFloat, transposed ? std::vector{one.n, one.k} : std::vector{one.k, one.n});
      model.Constant("c", {one.n}, Random(one.n, 4));
      Int(model.Node("Gemm", {"a", "b", "c"}, {"p"}), "transB", transposed);
      model.Node("Relu", {"p"}, {"y"});
      const std::vector<float> b = Random(one.n * one.k, 6);
      ExpectSame(model, {Floats({one.m, one.k}, Random(one.m * one.k, 5)),
                         Floats(transposed ? std::vector{one.n, one.k} : std::vector{one.k, one.n}, b)});
    }
  }
}

// What a fused kernel keeps in registers is rounded where the operators would store it.
TEST_P(OpenclMatMulTest, FusedHalvesAreRoundedBetweenOperators) {
  for (const int64_t type : {10, 16}) {  // float16, bfloat16
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {9, 24})
        .Input("r", ElementType::kFloat, {9, 40})
        .Output("y", ElementType::kFloat, {9, 40});
    model.Constant("w", {24, 40}, Random(960, 1)).Constant("b", {40}, Random(40, 2));
    for (const char* name : {"x", "r", "w", "b"}) Int(model.Node("Cast", {name}, {fmt::format("{}16", name)}), "to", type);
    model.Node("MatMul", {"x16", "w16"}, {"p"});
    model.Node("Mul", {"p", "r16"}, {"s"});
    model.Node("Add", {"s", "b16"}, {"t"});
    model.Node("Relu", {"t"}, {"u"});
    model.Node("Add", {"u", "r16"}, {"v"});
    Int(model.Node("Cast", {"v"}, {"y"}), "to", 1);
    SessionOptions options = On(kOpencl, {{"kernels", GetParam()}});
    const Session fused = model.Session(options);
    options.optimization_level = OptimizationLevel::kNone;
    const Session plain = model.Session(options);
    EXPECT_THAT(Fused(fused), ::testing::Contains(HasSubstr("Mul+Add+Relu+Add")));
    const std::vector<Value> inputs = {Floats({9, 24}, Random(216, 3)), Floats({9, 40}, Random(360, 4))};
    EXPECT_EQ(Run(fused, inputs), Run(plain, inputs));
  }
}

// Tiles of queries and keys, whole and cut, heads as long as rows in local memory and others; several queries read the same
// keys.
TEST_P(OpenclMatMulTest, AttentionByTiles) {
  struct Case {
    int64_t heads, kv_heads, queries, keys, width, value_width, causal;
  };
  for (const Case& one : {Case{2, 2, 20, 40, 32, 32, 0}, Case{4, 2, 17, 70, 24, 40, 1}, Case{1, 1, 5, 3, 128, 100, 0},
                          Case{2, 1, 33, 33, 64, 64, 1}}) {
    SCOPED_TRACE(fmt::format("{} queries, {} keys, width {}", one.queries, one.keys, one.width));
    ModelBuilder model(24);
    const std::vector<int64_t> q = {2, one.heads, one.queries, one.width}, k = {2, one.kv_heads, one.keys, one.width};
    const std::vector<int64_t> v = {2, one.kv_heads, one.keys, one.value_width}, mask = {one.queries, one.keys};
    model.Input("q", ElementType::kFloat, q).Input("k", ElementType::kFloat, k).Input("v", ElementType::kFloat, v);
    model.Input("m", ElementType::kFloat, mask)
        .Output("y", ElementType::kFloat, {2, one.heads, one.queries, one.value_width});
    Int(model.Node("Attention", {"q", "k", "v", "m"}, {"y"}), "is_causal", one.causal);
    const auto random = [](const std::vector<int64_t>& dims, int seed) {
      return Floats(dims, Random(Shape{std::span<const int64_t>(dims)}.num_elements(), seed));
    };
    ExpectSame(model, {random(q, 1), random(k, 2), random(v, 3), random(mask, 4)});
  }
}

TEST_P(OpenclMatMulTest, HalfIsUsedOnlyWhereTheDeviceHasIt) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {9, 24}).Output("y", ElementType::kFloat, {9, 40});
  model.Constant("w", {24, 40}, Random(960, 1));
  model.Node("MatMul", {"x", "w"}, {"y"});
  const Session half = model.Session(On(kOpencl, {{"enable_fp16", "1"}, {"kernels", GetParam()}})),
                cpu = model.Session(On("cpu"));
  const std::vector<Value> inputs = {Floats({9, 24}, Random(216, 3))};
  const std::vector<float> actual = Run(half, inputs), expected = Run(cpu, inputs);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 2e-2f);
}

INSTANTIATE_TEST_SUITE_P(Kernels, OpenclMatMulTest, ::testing::Values("panels", "tiles"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace tessera
