// Operators of the OpenCL provider where conformance data is small: long lines, repeated targets, what stays where; against
// the CPU provider. Skipped where there is no device.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "attributes.h"
#include "model_builder.h"
#include "providers/opencl_device.h"
#include "tessera/session.h"

namespace tessera {
namespace {

using testing::Elsewhere;
using testing::ExpectAsOnCpu;
using testing::Floats;
using testing::Int;
using testing::Integers;
using testing::Ints;
using ::testing::IsEmpty;
using testing::kOpencl;
using testing::ModelBuilder;
using testing::OnDevice;
using testing::PlainOn;
using testing::Random;
using testing::Text;
using testing::ToVector;

using OpenclOperatorsTest = OnDevice<>;

TEST_F(OpenclOperatorsTest, TopKChoosesFewAndSortsMany) {
  for (const int64_t k : {0, 1, 5, 16, 17, 300, 1000}) {
    for (const int64_t largest : {0, 1}) {
      ModelBuilder model(18);
      const std::vector<int64_t> count = {k};
      model.Input("x", ElementType::kFloat, {2, 1000, 3}).Constant("k", {1}, count);
      model.Output("y", ElementType::kFloat, {2, k, 3}).Output("i", ElementType::kInt64, {2, k, 3});
      auto& node = model.Node("TopK", {"x", "k"}, {"y", "i"});
      Int(node, "axis", 1);
      Int(node, "largest", largest);
      std::vector<float> x = Random(6000, 3);
      for (float& value : x) value = std::round(value * 100);  // many equal ones
      SCOPED_TRACE(k);
      ExpectAsOnCpu(model, {Floats({2, 1000, 3}, x)});
    }
  }
}

TEST_F(OpenclOperatorsTest, UpdatesOfOneTargetAreAllCombined) {
  for (const char* reduction : {"add", "mul", "max", "min"}) {
    ModelBuilder model(18);
    model.Input("x", ElementType::kFloat, {8, 5})
        .Input("i", ElementType::kInt64, {300, 1})
        .Input("u", ElementType::kFloat, {300, 5});
    model.Output("y", ElementType::kFloat, {8, 5});
    Text(model.Node("ScatterND", {"x", "i", "u"}, {"y"}), "reduction", reduction);
    std::vector<int64_t> indices(300);
    for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i * 7 % 6) - 3;  // two targets get none
    SCOPED_TRACE(reduction);
    ExpectAsOnCpu(model, {Floats({8, 5}, Random(40, 1)), Integers({300, 1}, indices), Floats({300, 5}, Random(1500, 2))},
                  1e-3f);
  }
}

TEST_F(OpenclOperatorsTest, ScatteredIndicesAreChecked) {
  ModelBuilder model(18);
  model.Input("x", ElementType::kFloat, {4}).Input("i", ElementType::kInt64, {1}).Input("u", ElementType::kFloat, {1});
  model.Output("y", ElementType::kFloat, {4});
  model.Node("ScatterElements", {"x", "i", "u"}, {"y"});
  const Session session = model.Session(PlainOn(kOpencl));
  const auto run = [&](int64_t index) {
    const std::vector<Value> inputs = {Floats({4}, {1, 2, 3, 4}), Integers({1}, {index}), Floats({1}, {9})};
    std::vector<Value> results(1);
    session.Run(inputs, results);
    return ToVector(results[0]);
  };
  EXPECT_THROW(run(4), Error);
  EXPECT_THROW(run(-5), Error);
  EXPECT_THAT(run(-1), ::testing::ElementsAre(1, 2, 3, 9));
}

TEST_F(OpenclOperatorsTest, SqueezeOfNoAxesKeepsAll) {
  ModelBuilder model(21);
  model.Input("x", ElementType::kFloat, {1, 3, 1}).Input("axes", ElementType::kInt64, {0});
  model.Output("y", ElementType::kFloat, {1, 3, 1});
  model.Node("Squeeze", {"x", "axes"}, {"y"});
  ExpectAsOnCpu(model, {Floats({1, 3, 1}, {1, 2, 3}), Integers({0}, {})});
}

TEST_F(OpenclOperatorsTest, TablesThatShapesCutAreCutOnTheDevice) {
  ModelBuilder model(18);
  model.Input("x", ElementType::kFloat, {-1, 40}).Output("y", ElementType::kFloat, {-1, 40});
  std::vector<int64_t> table(100 * 40);
  std::iota(table.begin(), table.end(), 0);
  const std::vector<int64_t> zero = {0};
  model.Constant("table", {100, 40}, table).Constant("zero", {1}, zero);
  model.Node("Shape", {"x"}, {"shape"});
  model.Node("Gather", {"shape", "zero"}, {"rows"});
  model.Node("Slice", {"table", "zero", "rows"}, {"cut"});
  Int(model.Node("Cast", {"cut"}, {"real"}), "to", 1);
  model.Node("Add", {"x", "real"}, {"y"});
  const Session session = model.Session(PlainOn(kOpencl));
  EXPECT_THAT(Elsewhere(session), ::testing::UnorderedElementsAre("Shape", "Gather"));
  EXPECT_EQ(session.placement().copies.size(), 2u) << session.placement().ToText();
}

TEST_F(OpenclOperatorsTest, SliceClampsAsOnCpu) {
  ModelBuilder model(18);
  model.Input("x", ElementType::kFloat, {2, 4}).Output("y", ElementType::kFloat, {2, -1});
  for (const char* name : {"starts", "ends", "axes", "steps"}) model.Input(name, ElementType::kInt64, {1});
  model.Node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"});
  const Session session = model.Session(PlainOn(kOpencl)), cpu = model.Session(PlainOn("cpu"));
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  const Value x = Floats({2, 4}, Random(8, 4)), axis = Integers({1}, {-1});
  for (const int64_t start : {kLeast, int64_t{-5}, int64_t{-4}, int64_t{-1}, int64_t{0}, int64_t{3}, int64_t{4}, kMost}) {
    for (const int64_t end : {kLeast, int64_t{-6}, int64_t{-5}, int64_t{-2}, int64_t{0}, int64_t{2}, int64_t{4}, kMost}) {
      for (const int64_t step : {kLeast, int64_t{-3}, int64_t{-1}, int64_t{1}, int64_t{2}, kMost}) {
        SCOPED_TRACE(fmt::format("from {} to {} by {}", start, end, step));
        const std::vector<Value> inputs = {x, Integers({1}, {start}), Integers({1}, {end}), axis, Integers({1}, {step})};
        Value actual, expected;
        session.Run(inputs, {&actual, 1});
        cpu.Run(inputs, {&expected, 1});
        ASSERT_EQ(actual.tensor().shape().ToString(), expected.tensor().shape().ToString());
        ASSERT_EQ(ToVector(actual), ToVector(expected));
      }
    }
  }
}

TEST_F(OpenclOperatorsTest, IndicesOnTheirWayToAGatherStayOnTheHost) {
  ModelBuilder model(18);
  const std::vector<int64_t> flat = {-1};
  model.Input("i", ElementType::kInt64, {2, 3}).Output("y", ElementType::kFloat, {6, 4});
  model.Constant("flat", {1}, flat).Constant("table", {10, 4}, Random(40, 1));
  model.Node("Reshape", {"i", "flat"}, {"line"});
  model.Node("Gather", {"table", "line"}, {"rows"});
  model.Constant("w", {4, 4}, Random(16, 2));
  model.Node("MatMul", {"rows", "w"}, {"p"});
  model.Node("Relu", {"p"}, {"r"});
  model.Node("MatMul", {"r", "w"}, {"y"});
  const Session session = model.Session(PlainOn(kOpencl));
  EXPECT_THAT(Elsewhere(session), ::testing::UnorderedElementsAre("Reshape"));
  EXPECT_EQ(session.placement().copies.size(), 1u) << session.placement().ToText();
}

TEST_F(OpenclOperatorsTest, MeansAndVariancesOverAnyDimensions) {
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0, 2, 3}, {1}, {-1}, {0, 1, 2, 3}, {0, -2}}) {
    ModelBuilder model(13);
    model.Input("x", ElementType::kFloat, {2, 3, 7, 13}).Output("y", ElementType::kFloat, {2, 3, 7, 13});
    Ints(model.Node("MeanVarianceNormalization", {"x"}, {"y"}), "axes", axes);
    SCOPED_TRACE(fmt::format("over {}", Shape(axes).ToString()));
    ExpectAsOnCpu(model, {Floats({2, 3, 7, 13}, Random(546, 1, 2, 5))}, 1e-3f);
  }
}

TEST_F(OpenclOperatorsTest, LossesOfClasses) {
  for (const char* op : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
    for (const char* reduction : {"none", "sum", "mean"}) {
      for (const bool weighted : {false, true}) {
        const bool softmax = op[0] == 'S';
        ModelBuilder model(13);
        model.Input("x", ElementType::kFloat, {3, 5, 30}).Input("l", ElementType::kInt64, {3, 30});
        model.Output("y", ElementType::kFloat, reduction[0] == 'n' ? std::vector<int64_t>{3, 30} : std::vector<int64_t>{});
        if (softmax) model.Output("p", ElementType::kFloat, {3, 5, 30});
        auto& node = model.Node(op, {"x", "l"}, {"y"});
        if (softmax) node.add_output("p");
        if (weighted) {
          model.Constant("w", {5}, std::vector<float>{1, 0.5f, 2, 0, 0.25f});
          node.add_input("w");
        }
        Int(Text(node, "reduction", reduction), "ignore_index", -7);
        std::vector<int64_t> labels(90);
        for (size_t i = 0; i < labels.size(); ++i) labels[i] = i % 6 == 5 ? -7 : static_cast<int64_t>(i % 6);
        const Value x = Floats({3, 5, 30}, Random(450, 1, -3, 3));
        SCOPED_TRACE(fmt::format("{}, {}, weighted {}", op, reduction, weighted));
        ExpectAsOnCpu(model, {x, Integers({3, 30}, labels)}, 1e-3f);
        labels[4] = 5;
        const Session session = model.Session(PlainOn(kOpencl));
        const std::vector<Value> inputs = {x, Integers({3, 30}, labels)};
        std::vector<Value> results(session.outputs().size());
        EXPECT_THROW(session.Run(inputs, results), Error);
      }
    }
  }
}

/// Every code of each type of 8 bits, and numbers around each of them: halves, far outside, subnormal, not finite.
TEST_F(OpenclOperatorsTest, FloatsOfEightBits) {
  std::vector<float> x = {0.0f,   -0.0f, 1e-30f, -1e-3f,   464.0f,
                          465.0f, 1e30f, -1e30f, 61440.0f, std::numeric_limits<float>::infinity()};
  for (int code = 0; code < 256; ++code) {
    for (const float around : {1.0f, 1.03125f, 1.0625f, 1.125f}) {
      for (const float value : {float{Float8E4M3FN::FromBits(static_cast<uint8_t>(code))},
                                float{Float8E5M2::FromBits(static_cast<uint8_t>(code))}}) {
        if (std::isfinite(value)) x.push_back(value * around);
      }
    }
  }
  const auto size = static_cast<int64_t>(x.size());
  for (const ElementType type :
       {ElementType::kFloat8E4M3FN, ElementType::kFloat8E4M3FNUZ, ElementType::kFloat8E5M2, ElementType::kFloat8E5M2FNUZ}) {
    for (const int64_t saturate : {0, 1}) {
      ModelBuilder model(21);
      model.Input("x", ElementType::kFloat, {size}).Output("y", ElementType::kFloat, {size});
      Int(Int(model.Node("Cast", {"x"}, {"small"}), "to", static_cast<int64_t>(type)), "saturate", saturate);
      Int(model.Node("Cast", {"small"}, {"y"}), "to", 1);
      SCOPED_TRACE(fmt::format("{} saturate {}", ElementTypeName(type), saturate));
      const Session session = model.Session(PlainOn(kOpencl)), cpu = model.Session(PlainOn("cpu"));
      EXPECT_THAT(Elsewhere(session), IsEmpty());
      const std::vector<Value> inputs = {Floats({size}, x)};
      Value actual, expected;
      session.Run(inputs, {&actual, 1});
      cpu.Run(inputs, {&expected, 1});
      for (int64_t i = 0; i < size; ++i) {
        const float a = actual.tensor().data<float>()[i], e = expected.tensor().data<float>()[i];
        ASSERT_TRUE((std::isnan(a) && std::isnan(e)) || (a == e && std::signbit(a) == std::signbit(e)))
            << x[static_cast<size_t>(i)] << ": " << a << ' ' << e;
      }
    }
  }
}

TEST_F(OpenclOperatorsTest, PackedIntegersAreDequantized) {
  const std::vector<uint8_t> bytes = {0x1e, 0x87, 0xf0, 0x3c, 0x5a, 0x09, 0xb4, 0xd2}, zeros = {0x93, 0x0e};
  for (const ElementType type : {ElementType::kInt4, ElementType::kUInt4, ElementType::kInt2, ElementType::kUInt2}) {
    const bool four = BitWidth(type) == 4;
    const auto proto = static_cast<onnx::TensorProto::DataType>(type);
    ModelBuilder model(25);
    model.Constant("x", {3, 5}, std::span(bytes).first(four ? 8 : 4), proto)
        .Constant("z", {3}, std::span(zeros).first(four ? 2 : 1), proto);
    model.Input("s", ElementType::kFloat, {3}).Output("y", ElementType::kFloat, {3, 5});
    Int(model.Node("DequantizeLinear", {"x", "s", "z"}, {"y"}), "axis", 0);
    SCOPED_TRACE(ElementTypeName(type));
    ExpectAsOnCpu(model, {Floats({3}, {0.5f, 2, -1})});
  }
}

/// Before version 10 masks have the type of the input.
TEST_F(OpenclOperatorsTest, MasksOfDropoutKeepAll) {
  ModelBuilder model(9);
  model.Input("x", ElementType::kFloat, {3, 5})
      .Output("y", ElementType::kFloat, {3, 5})
      .Output("m", ElementType::kFloat, {3, 5});
  model.Node("Dropout", {"x"}, {"y", "m"});
  ExpectAsOnCpu(model, {Floats({3, 5}, Random(15, 1))});
}

TEST_F(OpenclOperatorsTest, QuotientsBecomePackedIntegers) {
  for (const ElementType type : {ElementType::kInt4, ElementType::kUInt4, ElementType::kInt2, ElementType::kUInt2}) {
    for (const int64_t columns : {1, 5, 8}) {
      ModelBuilder model(25);
      model.Input("x", ElementType::kFloat, {3, columns})
          .Input("s", ElementType::kFloat, {3})
          .Output("y", ElementType::kFloat, {3, columns});
      auto& node = model.Node("QuantizeLinear", {"x", "s"}, {"q"});
      Int(node, "axis", 0);
      Int(node, "output_dtype", static_cast<int64_t>(type));
      Int(model.Node("DequantizeLinear", {"q", "s"}, {"y"}), "axis", 0);
      SCOPED_TRACE(fmt::format("{}, {} columns", ElementTypeName(type), columns));
      ExpectAsOnCpu(
          model, {Floats({3, columns}, Random(static_cast<size_t>(3 * columns), 1, -9, 18)), Floats({3}, {0.5f, 2, -1})});
    }
  }
}

}  // namespace
}  // namespace tessera
