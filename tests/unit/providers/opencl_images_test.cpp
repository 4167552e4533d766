// Regions, samples and columns of images on the OpenCL provider, against the CPU provider. Skipped where there is no
// device.

#include <fmt/format.h>
#include <gmock/gmock.h>

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
using testing::Float;
using testing::Floats;
using testing::Int;
using testing::Integers;
using testing::Ints;
using testing::kOpencl;
using testing::ModelBuilder;
using testing::OnDevice;
using testing::PlainOn;
using testing::Random;
using testing::Text;
using testing::ToVector;

using OpenclImagesTest = OnDevice<>;

/// Regions in the image, across its border, far outside, far larger than it, of no size and backwards.
TEST_F(OpenclImagesTest, RegionsMayLieAnywhere) {
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

/// Regions in the image, across its border, outside, backwards; with fewer pixels than cells.
TEST_F(OpenclImagesTest, MaximaOfRegions) {
  const std::vector<float> rois = {0, 1, 2, 6, 7, 1, -3, -4, 4, 3, 0, 50, 60, 70,   80,
                                   1, 8, 7, 2, 1, 1, 3,  3,  3, 3, 0, 0,  0,  3e8f, 3e8f};
  ModelBuilder model(22);
  model.Input("x", ElementType::kFloat, {2, 3, 9, 11})
      .Input("r", ElementType::kFloat, {6, 5})
      .Output("y", ElementType::kFloat, {6, 3, 2, 5});
  Float(Ints(model.Node("MaxRoiPool", {"x", "r"}, {"y"}), "pooled_shape", {2, 5}), "spatial_scale", 0.75f);
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

TEST_F(OpenclImagesTest, SamplesAtOffsetsInGroups) {
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
    Ints(Ints(node, "pads", {1, 1, 1, 1}), "strides", {one.stride, one.stride});
    Int(Int(node, "group", one.group), "offset_group", one.offset_group);
    model.Output("y", ElementType::kFloat, {2, one.filters, rows, columns});
    SCOPED_TRACE(fmt::format("{} groups, {} of offsets", one.group, one.offset_group));
    ExpectAsOnCpu(model, inputs, 1e-3f);
  }
}

TEST_F(OpenclImagesTest, PointsOfAffineGrids) {
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
TEST_F(OpenclImagesTest, ColumnsBecomeImages) {
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
      Ints(Ints(Ints(node, "strides", one.strides), "dilations", one.dilations), "pads", one.pads);
      std::vector<int64_t> integers(count);
      std::iota(integers.begin(), integers.end(), -5);
      SCOPED_TRACE(fmt::format("{} by {}", Shape(one.image).ToString(), Shape(one.block).ToString()));
      ExpectAsOnCpu(model,
                    {real ? Floats({2, rows, one.columns}, Random(count, 1)) : Integers({2, rows, one.columns}, integers)});
    }
  }
}

TEST_F(OpenclImagesTest, ImagesOfFourDimensionsArePutTogetherElsewhere) {
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

TEST_F(OpenclImagesTest, UnpooledValuesGoWhereTheyWereFound) {
  for (const std::vector<int64_t>& wanted : {std::vector<int64_t>{}, {1, 2, 7, 8}, {1, 2, 3, 4}}) {
    ModelBuilder model(22);
    model.Input("x", ElementType::kFloat, {1, 2, 2, 3}).Input("i", ElementType::kInt64, {1, 2, 2, 3});
    model.Output("y", ElementType::kFloat, {-1, -1, -1, -1});
    auto& node = model.Node("MaxUnpool", {"x", "i"}, {"y"});
    Ints(Ints(node, "kernel_shape", {2, 2}), "strides", {2, 2});
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

}  // namespace
}  // namespace tessera
