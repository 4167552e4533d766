// Operators of the OpenCL provider where conformance data is small: long lines, repeated targets, what stays where; against
// the CPU provider. Skipped where there is no device.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "attributes.h"
#include "model_builder.h"
#include "providers/opencl_device.h"
#include "tessera/session.h"

namespace tessera {
namespace {

using testing::Elsewhere;
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

Value Integers(const Shape& shape, const std::vector<int64_t>& values) { return Value(Tensor::Of<int64_t>(shape, values)); }

class OpenclOperatorsTest : public OnDevice<> {
 protected:
  static void ExpectAsOnCpu(const ModelBuilder& model, const std::vector<Value>& inputs, float tolerance = 1e-4f) {
    testing::ExpectAsOnCpu(model, inputs, {}, tolerance);
  }
};

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

TEST_F(OpenclOperatorsTest, AttentionOverManyKeysWithGroupedHeadsAndAPast) {
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

TEST_F(OpenclOperatorsTest, AttentionMadeFromProductsBroadcastsLikeThem) {
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
    model.Node("MatMul", {"q", "kt"}, {"products"});
    model.Floats("scale", {}, {1 / std::sqrt(8.0f)}).Node("Mul", {"products", "scale"}, {"scaled"});
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

TEST_F(OpenclOperatorsTest, LstmOfBothDirectionsAndLengths) {
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

/// Regions in the image, across its border, far outside, far larger than it, of no size and backwards.
TEST_F(OpenclOperatorsTest, RegionsMayLieAnywhere) {
  const std::vector<float> rois = {1,     2,     6,    7,    -3, -4, 4, 3, 50, 60, 70, 80,
                                   -3e3f, -2e3f, 4e3f, 3e3f, 3,  3,  3, 3, 8,  7,  2,  1};
  for (const char* mode : {"avg", "max"}) {
    for (const char* coordinates : {"half_pixel", "output_half_pixel"}) {
      for (const int64_t samples : {0, 3}) {
        ModelBuilder model(22);
        model.Input("x", ElementType::kFloat, {2, 3, 9, 11})
            .Input("r", ElementType::kFloat, {6, 4})
            .Input("b", ElementType::kInt64, {6});
        model.Output("y", ElementType::kFloat, {6, 3, 2, 5});
        auto& node = model.Node("RoiAlign", {"x", "r", "b"}, {"y"});
        Text(Text(node, "mode", mode), "coordinate_transformation_mode", coordinates);
        Int(Int(Int(node, "output_height", 2), "output_width", 5), "sampling_ratio", samples);
        SCOPED_TRACE(fmt::format("{}, {}, {} samples", mode, coordinates, samples));
        ExpectAsOnCpu(
            model, {Floats({2, 3, 9, 11}, Random(594, 1)), Floats({6, 4}, rois), Integers({6}, {0, 1, 0, 1, 1, 0})}, 1e-3f);
      }
    }
  }
}

TEST_F(OpenclOperatorsTest, SamplesAtOffsetsInGroups) {
  struct Case {
    int64_t group, offset_group, filters, stride;
    bool bias, mask;
  };
  for (const Case& one : {Case{1, 1, 9, 1, false, false}, Case{2, 1, 6, 2, true, true}, Case{2, 4, 20, 1, true, false},
                          Case{4, 2, 4, 2, false, true}}) {
    ModelBuilder model(22);
    const int64_t rows = one.stride == 1 ? 5 : 3, columns = one.stride == 1 ? 7 : 4, channels = 4 / one.group;
    model.Input("x", ElementType::kFloat, {2, 4, 5, 7}).Input("w", ElementType::kFloat, {one.filters, channels, 3, 3});
    model.Input("o", ElementType::kFloat, {2, 18 * one.offset_group, rows, columns});
    std::vector<Value> inputs = {
        Floats({2, 4, 5, 7}, Random(280, 1)),
        Floats({one.filters, channels, 3, 3}, Random(static_cast<size_t>(one.filters * channels * 9), 2)),
        Floats({2, 18 * one.offset_group, rows, columns},
               Random(static_cast<size_t>(36 * one.offset_group * rows * columns), 3, -3, 3))};
    auto& node = model.Node("DeformConv", {"x", "w", "o", one.bias ? "b" : ""}, {"y"});
    if (one.bias) model.Input("b", ElementType::kFloat, {one.filters});
    if (one.bias) inputs.push_back(Floats({one.filters}, Random(static_cast<size_t>(one.filters), 4)));
    if (one.mask) {
      node.add_input("m");
      model.Input("m", ElementType::kFloat, {2, 9 * one.offset_group, rows, columns});
      inputs.push_back(Floats({2, 9 * one.offset_group, rows, columns},
                              Random(static_cast<size_t>(18 * one.offset_group * rows * columns), 5)));
    }
    testing::Ints(testing::Ints(node, "pads", {1, 1, 1, 1}), "strides", {one.stride, one.stride});
    Int(Int(node, "group", one.group), "offset_group", one.offset_group);
    model.Output("y", ElementType::kFloat, {2, one.filters, rows, columns});
    SCOPED_TRACE(fmt::format("{} groups, {} of offsets", one.group, one.offset_group));
    ExpectAsOnCpu(model, inputs, 1e-3f);
  }
}

TEST_F(OpenclOperatorsTest, PointsOfAffineGrids) {
  for (const std::vector<int64_t>& size : {std::vector<int64_t>{2, 3, 4, 5}, {2, 1, 1, 7}, {0, 1, 2, 2}, {2, 1, 3, 1, 4}}) {
    for (const int64_t corners : {0, 1}) {
      const auto axes = static_cast<int64_t>(size.size()) - 2;
      ModelBuilder model(20);
      model.Input("theta", ElementType::kFloat, {size[0], axes, axes + 1}).Constant("size", {axes + 2}, size);
      model.Output("y", ElementType::kFloat, std::vector<int64_t>(size.size(), -1));
      Int(model.Node("AffineGrid", {"theta", "size"}, {"y"}), "align_corners", corners);
      SCOPED_TRACE(fmt::format("{} corners {}", Shape(size).ToString(), corners));
      ExpectAsOnCpu(model,
                    {Floats({size[0], axes, axes + 1}, Random(static_cast<size_t>(size[0] * axes * (axes + 1)), 1))});
    }
  }
}

/// Blocks that overlap, that leave gaps, that are larger than their columns are many, and of every number of dimensions.
TEST_F(OpenclOperatorsTest, ColumnsBecomeImages) {
  struct Case {
    std::vector<int64_t> image, block, strides, dilations, pads;
    int64_t columns;
  };
  const Case cases[] = {{{11}, {3}, {1}, {2}, {1, 2}, 10},
                        {{9}, {7}, {2}, {1}, {0, 0}, 2},
                        {{9}, {3}, {1}, {4}, {0, 0}, 1},
                        {{6, 5}, {3, 2}, {2, 1}, {1, 2}, {1, 0, 1, 2}, 15},
                        {{3, 4, 5}, {2, 2, 3}, {1, 2, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}, 12}};
  for (const Case& one : cases) {
    const auto rank = static_cast<int64_t>(one.image.size());
    const int64_t rows = 2 * Shape(one.block).num_elements();
    const auto count = static_cast<size_t>(2 * rows * one.columns);
    for (const bool real : {true, false}) {
      ModelBuilder model(18);
      const ElementType type = real ? ElementType::kFloat : ElementType::kInt64;
      model.Input("x", type, {2, rows, one.columns})
          .Constant("image", {rank}, one.image)
          .Constant("block", {rank}, one.block);
      model.Output("y", type, std::vector<int64_t>(static_cast<size_t>(rank) + 2, -1));
      auto& node = model.Node("Col2Im", {"x", "image", "block"}, {"y"});
      testing::Ints(testing::Ints(testing::Ints(node, "strides", one.strides), "dilations", one.dilations), "pads",
                    one.pads);
      std::vector<int64_t> integers(count);
      std::iota(integers.begin(), integers.end(), -5);
      SCOPED_TRACE(fmt::format("{} by {}", Shape(one.image).ToString(), Shape(one.block).ToString()));
      ExpectAsOnCpu(model,
                    {real ? Floats({2, rows, one.columns}, Random(count, 1)) : Integers({2, rows, one.columns}, integers)});
    }
  }
}

TEST_F(OpenclOperatorsTest, ImagesOfFourDimensionsArePutTogetherElsewhere) {
  ModelBuilder model(18);
  const std::vector<int64_t> image = {2, 3, 2, 3}, block = {1, 1, 1, 1};
  model.Input("x", ElementType::kFloat, {1, 2, 36}).Constant("image", {4}, image).Constant("block", {4}, block);
  model.Output("y", ElementType::kFloat, {1, 2, 2, 3, 2, 3}).Node("Col2Im", {"x", "image", "block"}, {"y"});
  const Session session = model.Session(PlainOn(kOpencl));
  EXPECT_THAT(Elsewhere(session), ::testing::ElementsAre("Col2Im"));
  const std::vector<float> x = Random(72, 1);
  const std::vector<Value> inputs = {Floats({1, 2, 36}, x)};
  std::vector<Value> results(1);
  session.Run(inputs, results);
  EXPECT_EQ(ToVector(results[0]), x);
}

TEST_F(OpenclOperatorsTest, UnpooledValuesGoWhereTheyWereFound) {
  for (const std::vector<int64_t>& wanted : {std::vector<int64_t>{}, {1, 2, 7, 8}, {1, 2, 3, 4}}) {
    ModelBuilder model(22);
    model.Input("x", ElementType::kFloat, {1, 2, 2, 3}).Input("i", ElementType::kInt64, {1, 2, 2, 3});
    model.Output("y", ElementType::kFloat, {-1, -1, -1, -1});
    auto& node = model.Node("MaxUnpool", {"x", "i"}, {"y"});
    testing::Ints(testing::Ints(node, "kernel_shape", {2, 2}), "strides", {2, 2});
    if (!wanted.empty()) {
      model.Constant("wanted", {4}, wanted);
      node.add_input("wanted");
    }
    SCOPED_TRACE(fmt::format("to {}", Shape(wanted).ToString()));
    const Value x = Floats({1, 2, 2, 3}, Random(12, 1));
    ExpectAsOnCpu(model, {x, Integers({1, 2, 2, 3}, {0, 7, 7, 23, 18, 0, 47, 24, 30, 30, 30, 41})});
    const Session session = model.Session(PlainOn(kOpencl));
    for (const int64_t outside :
         {int64_t{-1}, int64_t{48}, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
      const std::vector<Value> inputs = {x, Integers({1, 2, 2, 3}, std::vector<int64_t>(12, outside))};
      std::vector<Value> results(1);
      EXPECT_THROW(session.Run(inputs, results), Error);
    }
  }
}

TEST_F(OpenclOperatorsTest, MeansAndVariancesOverAnyDimensions) {
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0, 2, 3}, {1}, {-1}, {0, 1, 2, 3}, {0, -2}}) {
    ModelBuilder model(13);
    model.Input("x", ElementType::kFloat, {2, 3, 7, 13}).Output("y", ElementType::kFloat, {2, 3, 7, 13});
    testing::Ints(model.Node("MeanVarianceNormalization", {"x"}, {"y"}), "axes", axes);
    SCOPED_TRACE(fmt::format("over {}", Shape(axes).ToString()));
    ExpectAsOnCpu(model, {Floats({2, 3, 7, 13}, Random(546, 1, 2, 5))}, 1e-3f);
  }
}

/// Regions in the image, across its border, outside, backwards; with fewer pixels than cells.
TEST_F(OpenclOperatorsTest, MaximaOfRegions) {
  const std::vector<float> rois = {0, 1, 2, 6, 7, 1, -3, -4, 4, 3, 0, 50, 60, 70,   80,
                                   1, 8, 7, 2, 1, 1, 3,  3,  3, 3, 0, 0,  0,  3e8f, 3e8f};
  ModelBuilder model(22);
  model.Input("x", ElementType::kFloat, {2, 3, 9, 11})
      .Input("r", ElementType::kFloat, {6, 5})
      .Output("y", ElementType::kFloat, {6, 3, 2, 5});
  testing::Float(testing::Ints(model.Node("MaxRoiPool", {"x", "r"}, {"y"}), "pooled_shape", {2, 5}), "spatial_scale",
                 0.75f);
  const Value x = Floats({2, 3, 9, 11}, Random(594, 1));
  ExpectAsOnCpu(model, {x, Floats({6, 5}, rois)});
  const Session session = model.Session(PlainOn(kOpencl));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [at, value] : {std::pair<size_t, float>{0, 2.0f}, {5, -1.0f}, {0, nan}, {1, nan}, {3, 1e30f}}) {
    std::vector<float> bad = rois;
    bad[at] = value;
    const std::vector<Value> inputs = {x, Floats({6, 5}, bad)};
    std::vector<Value> results(1);
    EXPECT_THROW(session.Run(inputs, results), Error) << at << ' ' << value;
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

TEST_F(OpenclOperatorsTest, LinearAttentionByEveryRule) {
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

TEST_F(OpenclOperatorsTest, CausalConvolutionsGoOnFromTheirState) {
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

TEST_F(OpenclOperatorsTest, TransformsOfAnyAxisAndLength) {
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

TEST_F(OpenclOperatorsTest, TransformsOfFrames) {
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

TEST_F(OpenclOperatorsTest, LongTransformsStayOnTheCpu) {
  ModelBuilder model(20);
  model.Input("x", ElementType::kFloat, {1, 4097, 1}).Output("y", ElementType::kFloat, {1, 4097, 2});
  model.Node("DFT", {"x"}, {"y"});
  const Session session = model.Session(PlainOn(kOpencl));
  EXPECT_THAT(session.placement().nodes.at(0).refusals.at(0).second, ::testing::HasSubstr("4096 points"));
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
