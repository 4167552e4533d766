// What the conformance data cannot say of data movement: hostile indices, sizes and pads are refused, and forms that no
// reference implements give what the specification says.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>

#include "attributes.h"
#include "error_of.h"
#include "model_builder.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using testing::Floats;
using ::testing::HasSubstr;
using testing::Int;
using testing::ModelBuilder;
using testing::Text;
using testing::ToVector;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

Tensor Ints(std::initializer_list<int64_t> dims, std::vector<int64_t> values) {
  return Tensor::Of<int64_t>(Shape(dims), values);
}

struct Call {
  const char* op;
  int opset;
  std::vector<Value> inputs;  // an empty one is omitted
  std::function<void(onnx::NodeProto&)> attributes = [](onnx::NodeProto&) {};
  ElementType output = ElementType::kFloat;
};

/// Runs one node; all shapes are known at run time only.
Value Compute(const Call& call) {
  ModelBuilder model(call.opset);
  auto& graph = *model.proto().mutable_graph();
  onnx::NodeProto& node = model.Node(call.op, {}, {"y"});
  std::vector<Value> inputs;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor* tensor = call.inputs[i].tensor_if();
    const std::string name = tensor == nullptr ? "" : "x" + std::to_string(i);
    node.add_input(name);
    if (tensor == nullptr) continue;
    ModelBuilder::Declare(graph.add_input(), name, tensor->type(), std::vector<int64_t>(tensor->shape().rank(), -1));
    inputs.push_back(*tensor);
  }
  auto* output = graph.add_output();
  output->set_name("y");
  output->mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(call.output));
  call.attributes(node);
  std::vector<Value> results(1);
  model.Session().Run(inputs, results);
  return results[0];
}

/// Rows longer than a piece of positions, with indices from both ends.
TEST(Movement, GathersElementsOfLongRows) {
  constexpr int64_t kRows = 3, kColumns = 613;
  std::vector<float> numbers;
  for (int64_t i = 0; i < kRows * kColumns; ++i) numbers.push_back(static_cast<float>(i));
  const Tensor data = Tensor::Of<float>(Shape{kRows, kColumns}, numbers);
  for (const int64_t axis : {0, 1}) {
    const int64_t size = axis == 0 ? kRows : kColumns;
    std::vector<int64_t> indices;
    std::vector<float> expected;
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
      const int64_t at = i * 41 % size;
      indices.push_back(i % 2 == 0 ? at : at - size);
      expected.push_back(axis == 0 ? numbers[static_cast<size_t>(at * kColumns + i % kColumns)]
                                   : numbers[static_cast<size_t>(i / kColumns * kColumns + at)]);
    }
    const auto on_axis = [axis](onnx::NodeProto& node) { Int(node, "axis", axis); };
    const Value result = Compute({"GatherElements", 21, {data, Ints({kRows, kColumns}, indices)}, on_axis});
    EXPECT_EQ(ToVector(result), expected) << axis;
    indices[kColumns + 500] = size;
    EXPECT_THROW(Compute({"GatherElements", 21, {data, Ints({kRows, kColumns}, indices)}, on_axis}), Error) << axis;
  }
}

/// Indices, and axes, that no dimension of two has.
constexpr int64_t kOutsideOfTwo[] = {2, -3, kMin, kMax};

Tensor TwoByThree() { return Floats({2, 3}, {1, 2, 3, 4, 5, 6}); }

void OnAxis1(onnx::NodeProto& node) { Int(node, "axis", 1); }

void ExpectErrors(const std::vector<Call>& calls) {
  for (size_t i = 0; i < calls.size(); ++i) {
    EXPECT_THROW(Compute(calls[i]), Error) << "call " << i << ", " << calls[i].op;
  }
}

TEST(Movement, GathersRefuseIndicesOutside) {
  const Tensor data = TwoByThree();
  for (const int64_t index : kOutsideOfTwo) {
    ExpectErrors({{"Gather", 21, {data, Ints({1}, {index})}},
                  {"GatherElements", 21, {data, Ints({1, 1}, {index})}},
                  {"GatherND", 21, {data, Ints({1, 1}, {index})}},
                  {"GatherND", 21, {data, Ints({1, 2}, {index, 0})}}});
  }
  ExpectErrors(
      {{"Gather", 21, {Floats({0, 3}, {}), Ints({1}, {0})}}, {"GatherND", 21, {Floats({0}, {}), Ints({1, 1}, {0})}}});
}

TEST(Movement, GathersRefuseIndicesOfOtherShapes) {
  const Tensor data = TwoByThree();
  ExpectErrors({{"GatherND", 21, {data, Ints({1, 3}, {0, 0, 0})}},
                {"GatherElements", 21, {data, Ints({3, 3}, std::vector<int64_t>(9))}, OnAxis1}});
}

TEST(Movement, ScattersRefuseIndicesOutside) {
  const Tensor data = TwoByThree(), row = Floats({1, 1}, {9});
  const auto add = [](onnx::NodeProto& node) { Text(node, "reduction", "add"); };
  for (const int64_t index : kOutsideOfTwo) {
    ExpectErrors({{"ScatterElements", 21, {data, Ints({1, 1}, {index}), row}},
                  {"ScatterElements", 21, {data, Ints({1, 1}, {index}), row}, add},
                  {"ScatterND", 21, {data, Ints({1, 1}, {index}), Floats({1, 3}, {7, 8, 9})}},
                  {"ScatterND", 21, {data, Ints({1, 2}, {index, 0}), Floats({1}, {7})}, add}});
  }
  for (const int64_t index : {int64_t{3}, int64_t{-3}, kMin, kMax}) {
    ExpectErrors({{"TensorScatter", 24, {data, Floats({2, 1}, {7, 8}), Ints({2}, {index, 0})}, OnAxis1}});
  }
}

TEST(Movement, ScattersRefuseUpdatesThatDoNotFit) {
  const Tensor data = TwoByThree();
  ExpectErrors({{"ScatterND", 21, {data, Ints({1, 1}, {0}), Floats({1, 2}, {7, 8})}},
                {"ScatterElements", 21, {data, Ints({1, 2}, {0, 0}), Floats({1, 1}, {9})}},
                {"TensorScatter", 24, {data, Floats({2, 2}, {7, 8, 9, 9}), Ints({2}, {2, 0})}, OnAxis1}});
}

TEST(Movement, RefusesAxesThatAreNotThere) {
  const Tensor data = TwoByThree();
  for (const int64_t axis : kOutsideOfTwo) {
    ExpectErrors({{"Pad", 21, {data, Ints({2}, {1, 1}), Value(), Ints({1}, {axis})}},
                  {"Slice", 21, {data, Ints({1}, {0}), Ints({1}, {1}), Ints({1}, {axis})}},
                  {"Squeeze", 21, {data, Ints({1}, {axis})}}});
  }
  for (const int64_t axis : {int64_t{3}, int64_t{-4}, kMin, kMax}) {
    ExpectErrors({{"Unsqueeze", 21, {data, Ints({1}, {axis})}}});
  }
}

TEST(Movement, PadRefusesHostilePads) {
  const Tensor data = TwoByThree();
  const auto wrap = [](onnx::NodeProto& node) { Text(node, "mode", "wrap"); };
  for (const int64_t pad : {int64_t{-4}, kMin, kMax, kMax - 2}) {
    ExpectErrors({{"Pad", 21, {data, Ints({4}, {0, pad, 0, 0})}}, {"Pad", 21, {data, Ints({4}, {0, pad, 0, 0})}, wrap}});
  }
  ExpectErrors({{"Pad", 21, {data, Ints({4}, {kMin, 0, kMax, 0})}},
                {"Pad", 21, {data, Ints({3}, {0, 1, 1})}},
                {"Pad", 21, {data, Ints({4}, {0, 1, 1, 0}), Floats({2}, {1, 2})}},
                {"Pad", 21, {Floats({0, 3}, {}), Ints({4}, {1, 0, 0, 0})}, wrap},
                {"Pad", 21, {data, Ints({4}, {0, -3, 0, 4})}, wrap},
                {"Pad", 21, {data, Ints({4}, {1, 1, 1, 1}), Value(), Ints({2}, {0, -2})}}});
}

TEST(Movement, RefusesHostileShapes) {
  const Tensor data = TwoByThree();
  const auto zeros_are_sizes = [](onnx::NodeProto& node) { Int(node, "allowzero", 1); };
  ExpectErrors({{"ConstantOfShape", 21, {Ints({1}, {-1})}},
                {"ConstantOfShape", 21, {Ints({2}, {kMax, kMax})}},
                {"ConstantOfShape", 21, {Ints({1}, {kMax})}},
                {"Expand", 21, {data, Ints({2}, {kMax, 3})}},
                {"Expand", 21, {data, Ints({1}, {-1})}},
                {"Tile", 21, {data, Ints({2}, {kMax, 1})}},
                {"Tile", 21, {data, Ints({2}, {-1, 1})}},
                {"Reshape", 21, {data, Ints({2}, {kMax, kMax})}},
                {"Reshape", 21, {data, Ints({2}, {-1, 0})}, zeros_are_sizes}});
}

TEST(Movement, TriluRefusesVectors) { ExpectErrors({{"Trilu", 21, {Floats({3}, {1, 2, 3})}}}); }

TEST(Movement, OneHotRefusesHostileDepthsAndASingleValue) {
  const Tensor indices = Ints({1}, {0}), values = Floats({2}, {0, 1});
  ExpectErrors({{"OneHot", 21, {indices, Ints({1}, {-1}), values}},
                {"OneHot", 21, {indices, Ints({1}, {kMax}), values}},
                {"OneHot", 21, {indices, Floats({1}, {NAN}), values}},
                {"OneHot", 21, {indices, Ints({1}, {2}), Floats({1}, {0})}}});
}

TEST(Movement, RangeRefusesToBeEndlessOrHuge) {
  for (const int64_t delta : {int64_t{0}, int64_t{1}}) {
    ExpectErrors({{"Range",
                   21,
                   {Ints({}, {kMin}), Ints({}, {kMax}), Ints({}, {delta})},
                   [](onnx::NodeProto&) {},
                   ElementType::kInt64}});
  }
  for (const float delta : {0.0f, NAN, 1e-30f}) {
    ExpectErrors({{"Range", 21, {Floats({}, {0}), Floats({}, {1e30f}), Floats({}, {delta})}}});
  }
}

TEST(Movement, SplitsNothingIntoPartsOfAnyLength) {
  const int64_t size = Shape::kMostElements / 2;
  const Value y =
      Compute({"Split", 18, {Tensor(ElementType::kFloat, {0, 2 * size}), Ints({1}, {2 * size})}, [](onnx::NodeProto& node) {
                 Int(node, "axis", 1);
               }});
  EXPECT_EQ(y.tensor().shape().ToString(), fmt::format("[0,{}]", 2 * size));
}

TEST(Movement, ResizeAsksForItsResultBeforeItMakesTables) {
  ModelBuilder model(18);
  model.Input("x", ElementType::kFloat, {1, 1, 2, 2})
      .Input("sizes", ElementType::kInt64, {4})
      .Output("y", ElementType::kFloat, {-1, -1, -1, -1});
  model.Node("Resize", {"x", "", "", "sizes"}, {"y"}, "huge");
  SessionOptions options;
  options.providers = {{"cpu", {{"cpu_mem_limit", "2M"}}}};
  const Session session = model.Session(options);
  const std::vector<Value> inputs = {Floats({1, 1, 2, 2}, {1, 2, 3, 4}), Ints({4}, {1, 1, 2, (int64_t{1} << 31) - 1})};
  std::vector<Value> results(1);
  EXPECT_THAT(ErrorOf([&] { session.Run(inputs, results); }), HasSubstr("Resize 'huge': cpu_mem_limit exceeded"));
}

TEST(Movement, ResizeTakesScalesForTheDecimalsThatTheyRound) {
  const auto resize = [](const char* op, int opset, int64_t in, float scale, const char* coordinates) {
    std::vector<float> ramp(static_cast<size_t>(in));
    std::iota(ramp.begin(), ramp.end(), 0.0f);
    const Value scales = Floats({1}, {scale}), data = Tensor::Of<float>({in}, ramp);
    const bool early = opset < 11;
    return ToVector(
        Compute({op, opset, early ? std::vector<Value>{data, scales} : std::vector<Value>{data, Floats({0}, {}), scales},
                 [&](onnx::NodeProto& node) {
                   Text(node, "mode", "nearest");
                   if (early) return;
                   Text(node, "coordinate_transformation_mode", coordinates);
                   Text(node, "nearest_mode", "floor");
                 }}));
  };
  // As floats, 1.3 and 0.7 are less than as decimals, so that exact products stay below 13 and 7; 1.7 and 0.6 are more, so
  // that exact quotients of 17 and 3 stay below 10 and 5.
  EXPECT_THAT(resize("Resize", 11, 10, 1.3f, "asymmetric"), ElementsAre(0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9));
  EXPECT_THAT(resize("Resize", 11, 10, 0.7f, "asymmetric"), ElementsAre(0, 1, 2, 4, 5, 7, 8));
  EXPECT_THAT(resize("Resize", 11, 11, 1.7f, "asymmetric"),
              ElementsAre(0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 5, 6, 7, 7, 8, 8, 9, 10));
  EXPECT_THAT(resize("Resize", 19, 9, 0.6f, "asymmetric"), ElementsAre(0, 1, 3, 5, 6));
  EXPECT_THAT(resize("Resize", 19, 10, 0.9f, "half_pixel").size(), 9);
  EXPECT_THAT(resize("Resize", 10, 10, 1.3f, "").size(), 13);
  EXPECT_THAT(resize("Upsample", 9, 10, 2.3f, "").size(), 23);
}

TEST(Movement, CutsBeforeItRepeats) {
  const Tensor data = Floats({5}, {1, 2, 3, 4, 5});
  const auto pad = [&](const char* mode, int64_t before, int64_t after) {
    return ToVector(Compute(
        {"Pad", 21, {data, Ints({2}, {before, after})}, [mode](onnx::NodeProto& node) { Text(node, "mode", mode); }}));
  };
  EXPECT_THAT(pad("constant", -2, 1), ElementsAre(3, 4, 5, 0));
  EXPECT_THAT(pad("constant", -7, 4), ElementsAre(0, 0));
  EXPECT_THAT(pad("edge", 2, -2), ElementsAre(1, 1, 1, 2, 3));
  EXPECT_THAT(pad("wrap", 2, -2), ElementsAre(2, 3, 1, 2, 3));
  EXPECT_THAT(pad("reflect", -2, 3), ElementsAre(3, 4, 5, 4, 3, 4));
  EXPECT_THAT(pad("reflect", -4, 2), ElementsAre(5, 5, 5));
}

TEST(Movement, TakesExtremeDiagonals) {
  const Tensor data = Floats({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(ToVector(Compute({"Trilu", 21, {data, Ints({}, {kMax})}})), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(ToVector(Compute({"Trilu", 21, {data, Ints({}, {kMin})}})), ElementsAre(1, 2, 3, 4));
  for (const int64_t k : {kMin, kMax}) {
    EXPECT_THAT(ToVector(Compute({"EyeLike", 21, {data}, [k](onnx::NodeProto& node) { Int(node, "k", k); }})),
                ElementsAre(0, 0, 0, 0));
  }
}

TEST(Movement, OneHotNeverWrapsInItsFirstVersion) {
  const std::vector<Value> inputs = {Ints({4}, {-1, 0, 3, kMin}), Ints({1}, {2}), Floats({2}, {0, 1})};
  EXPECT_THAT(ToVector(Compute({"OneHot", 9, inputs})), ElementsAre(0, 0, 1, 0, 0, 0, 0, 0));
  EXPECT_THAT(ToVector(Compute({"OneHot", 11, inputs})), ElementsAre(0, 1, 1, 0, 0, 0, 0, 0));
}

TEST(Movement, RangeCountsWideIntegersExactly) {
  const Value result = Compute(
      {"Range", 21, {Ints({}, {kMin}), Ints({}, {kMax}), Ints({}, {kMax})}, [](onnx::NodeProto&) {}, ElementType::kInt64});
  EXPECT_THAT(result.tensor().values<int64_t>(), ElementsAre(kMin, -1, kMax - 1));
}

TEST(Movement, NonZeroOfScalars) {
  for (const float value : {0.0f, -0.0f, 2.0f}) {
    const Value result = Compute({"NonZero", 21, {Floats({}, {value})}, [](onnx::NodeProto&) {}, ElementType::kInt64});
    EXPECT_EQ(result.tensor().shape(), (Shape{0, value != 0 ? 1 : 0}));
  }
}

TEST(Movement, ScatterKeepsTheOrderOfEqualIndices) {
  const Value result = Compute({"ScatterND", 21, {Floats({2}, {0, 0}), Ints({3, 1}, {1, -1, 1}), Floats({3}, {5, 6, 7})}});
  EXPECT_THAT(ToVector(result), ElementsAre(0, 7));
}

}  // namespace
}  // namespace tessera
