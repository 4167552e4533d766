#include <gmock/gmock.h>

#include <limits>

#include "error_of.h"
#include "ops/image/affine_grid.h"
#include "ops/image/grid_sample.h"
#include "ops/image/resize.h"
#include "ops/image/roi_align.h"
#include "ops/node_of.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

Attribute Text(std::string name, std::string text) { return {std::move(name), std::move(text)}; }

TEST(GridSampleAttributes, Names) {
  for (const auto& [version, linear, cubic] : {std::tuple(16, "bilinear", "bicubic"), {20, "linear", "cubic"}}) {
    EXPECT_EQ(GridSampleAttributes(NodeOf("GridSample", version)).mode, GridSampleMode::kLinear);
    EXPECT_EQ(GridSampleAttributes(NodeOf("GridSample", version, {Text("mode", linear)})).mode, GridSampleMode::kLinear);
    EXPECT_EQ(GridSampleAttributes(NodeOf("GridSample", version, {Text("mode", cubic)})).mode, GridSampleMode::kCubic);
  }
  const GridSampleAttributes attributes(NodeOf("GridSample", 22, {Text("padding_mode", "reflection")}));
  EXPECT_EQ(attributes.padding, GridSamplePadding::kReflection);
  for (const char* name : {"mode", "padding_mode"}) {
    const Node node = NodeOf("GridSample", 22, {Text(name, "mirror")});
    EXPECT_THAT(ErrorOf([&] { GridSampleAttributes{node}; }), HasSubstr("'mirror' is unknown"));
  }
}

TEST(GridSampleAttributes, Shapes) {
  const auto shape = [](const Shape& x, const Shape& grid) { return GridSampleAttributes::ResultShape(x, grid); };
  EXPECT_EQ(shape({2, 3, 4, 5}, {2, 6, 7, 2}), Shape({2, 3, 6, 7}));
  EXPECT_EQ(shape({2, 3, 0, 5}, {2, 6, 0, 2}), Shape({2, 3, 6, 0}));
  EXPECT_THAT(ErrorOf([&] { shape({2, 3, 0, 5}, {2, 6, 7, 2}); }), HasSubstr("nothing to sample"));
  EXPECT_THAT(ErrorOf([&] { shape({2, 3, 4, 5}, {2, 6, 7, 3}); }), HasSubstr("a grid of [2, ..., 2]"));
  EXPECT_THAT(ErrorOf([&] { shape({2, 3}, {2, 0}); }), HasSubstr("a grid of"));
}

TEST(RoiAlignAttributes, VersionsAndSamples) {
  EXPECT_FALSE(RoiAlignAttributes(NodeOf("RoiAlign", 10)).half_pixel);
  const RoiAlignAttributes half(NodeOf("RoiAlign", 16, {{"spatial_scale", 0.5f}}));
  EXPECT_TRUE(half.half_pixel);
  const RoiSampling sampling = half.Sampling(1, 9, 2);
  EXPECT_EQ(sampling.start, 0);
  EXPECT_EQ(sampling.bin, 2);
  EXPECT_EQ(sampling.samples, 2);
  // Without the half pixel, regions are at least a pixel large.
  const RoiAlignAttributes fixed(NodeOf("RoiAlign", 10, {{"sampling_ratio", int64_t{3}}}));
  EXPECT_EQ(fixed.Sampling(4, 4, 2).bin, 0.5);
  EXPECT_EQ(fixed.Sampling(4, 4, 2).samples, 3);
  EXPECT_THAT(ErrorOf([&] { half.Sampling(0, 1e30, 1); }), HasSubstr("too large for adaptive sampling"));
  for (const Attribute& wrong : {Text("mode", "min"), Text("coordinate_transformation_mode", "asymmetric"),
                                 Attribute{"output_height", int64_t{0}}, Attribute{"sampling_ratio", int64_t{-1}}}) {
    const Node node = NodeOf("RoiAlign", 22, {wrong});
    EXPECT_NE(ErrorOf([&] { RoiAlignAttributes{node}; }), "no error") << wrong.name;
  }
}

TEST(ResizeAttributes, Versions) {
  const ResizeAttributes upsample(NodeOf("Upsample", 1, {Text("mode", "bilinear")})), early(NodeOf("Resize", 10));
  EXPECT_TRUE(upsample.upsample && upsample.early && early.early);
  EXPECT_EQ(upsample.options.mode, ResampleMode::kLinear);
  EXPECT_EQ(early.options.coordinates, CoordinateMode::kAsymmetric);
  EXPECT_EQ(early.options.nearest, NearestMode::kSimple);
  const ResizeAttributes late(NodeOf("Resize", 19,
                                     {{"axes", std::vector<int64_t>{2, 3}},
                                      Text("keep_aspect_ratio_policy", "not_larger"),
                                      Text("nearest_mode", "ceil")}));
  EXPECT_FALSE(late.early);
  EXPECT_EQ(late.options.coordinates, CoordinateMode::kHalfPixel);
  EXPECT_EQ(late.options.nearest, NearestMode::kCeil);
  EXPECT_EQ(late.policy, AspectPolicy::kNotLarger);
  EXPECT_EQ(late.axes.size(), 2u);
}

TEST(ResizeAttributes, ScalesOfUpsample) {
  const ResizeAttributes first(NodeOf("Upsample", 1, {{"height_scale", 2.0f}, {"width_scale", 3.0f}})),
      listed(NodeOf("Upsample", 7, {{"scales", std::vector<float>{1, 1, 2, 2}}})), late(NodeOf("Upsample", 9));
  EXPECT_EQ(first.scales, (std::vector<float>{1, 1, 2, 3}));
  EXPECT_EQ(listed.scales, (std::vector<float>{1, 1, 2, 2}));
  EXPECT_FALSE(first.scales_in_input || listed.scales_in_input);
  EXPECT_TRUE(late.scales_in_input && ResizeAttributes(NodeOf("Resize", 10)).scales_in_input);
}

TEST(AffineGridAttributes, ResultShape) {
  EXPECT_FALSE(AffineGridAttributes(NodeOf("AffineGrid", 20)).align_corners);
  const auto shape = [](const Shape& theta, const std::vector<int64_t>& size) {
    return AffineGridAttributes::ResultShape(theta, Tensor::Of<int64_t>({static_cast<int64_t>(size.size())}, size));
  };
  EXPECT_EQ(shape({2, 2, 3}, {2, 5, 6, 7}), Shape({2, 6, 7, 2}));
  EXPECT_EQ(shape({2, 3, 4}, {2, 5, 6, 7, 8}), Shape({2, 6, 7, 8, 3}));
  EXPECT_THAT(ErrorOf([&] { shape({2, 2, 3}, {3, 5, 6, 7}); }), HasSubstr("theta is [2,2,3], [3,2,3] is expected"));
  EXPECT_THAT(ErrorOf([&] { shape({2, 2, 3}, {2, 5, 6}); }), HasSubstr("4 or 5 numbers"));
  EXPECT_THAT(ErrorOf([&] { shape({2, 2, 3}, {2, 5, 6, -7}); }), HasSubstr("size -7 is negative"));
}

TEST(ResizeAttributes, WhatIsUnknown) {
  for (const char* name : {"mode", "coordinate_transformation_mode", "nearest_mode", "keep_aspect_ratio_policy"}) {
    const Node node = NodeOf("Resize", 19, {Text(name, "lanczos")});
    EXPECT_THAT(ErrorOf([&] { ResizeAttributes{node}; }), HasSubstr("'lanczos'")) << name;
  }
  const Node smooth = NodeOf("Resize", 18, {{"antialias", int64_t{1}}});
  EXPECT_THAT(ErrorOf([&] { ResizeAttributes{smooth}; }), HasSubstr("antialias does not apply"));
}

}  // namespace
}  // namespace tessera::testing
