#include "ops/nn/window.h"

#include <gmock/gmock.h>

#include <limits>
#include <string>
#include <vector>

#include "error_of.h"
#include "ops/nn/col2im.h"

namespace tessera {
namespace {

using Ints = std::vector<int64_t>;
using ::testing::HasSubstr;

Node WindowNode(std::vector<Attribute> attributes) {
  Node node;
  node.attributes = std::move(attributes);
  return node;
}

Window Fit(std::vector<Attribute> attributes, const Ints& input, const Ints& kernel) {
  return WindowAttributes(WindowNode(std::move(attributes))).Fit(input, kernel);
}

TEST(Window, PadsOfBothSides) {
  const Window window =
      Fit({{"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 2, 3}}, {"dilations", Ints{1, 2}}}, {7, 9}, {3, 3});
  EXPECT_EQ(window.output, Shape({4, 8}));
  EXPECT_EQ(window.begin, Shape({1, 0}));
  EXPECT_EQ(window.end, Shape({2, 3}));
  EXPECT_EQ(window.inner(0), std::pair(int64_t{1}, int64_t{3}));
}

TEST(Window, AutoPad) {
  for (const char* odd_first : {"SAME_UPPER", "SAME_LOWER"}) {
    const Window window = Fit({{"auto_pad", std::string(odd_first)}, {"strides", Ints{2}}}, {7}, {4});
    EXPECT_EQ(window.output, Shape({4}));
    const bool upper = std::string_view(odd_first) == "SAME_UPPER";
    EXPECT_EQ(window.begin[0], upper ? 1 : 2);
    EXPECT_EQ(window.end[0], upper ? 2 : 1);
  }
  EXPECT_EQ(Fit({{"auto_pad", std::string("VALID")}, {"pads", Ints{5, 5}}}, {7}, {4}).output, Shape({4}));
  // Some exporters write it without a word.
  EXPECT_EQ(Fit({{"auto_pad", std::string()}, {"pads", Ints{1, 1}}}, {7}, {4}).output, Shape({6}));
}

TEST(Window, CeilModeDropsWindowsThatStartInThePadding) {
  EXPECT_EQ(Fit({{"ceil_mode", int64_t{1}}, {"strides", Ints{2}}}, {4}, {3}).output, Shape({2}));
  EXPECT_EQ(Fit({{"ceil_mode", int64_t{1}}, {"strides", Ints{2}}, {"pads", Ints{0, 1}}}, {2}, {1}).output, Shape({1}));
  EXPECT_EQ(Fit({{"ceil_mode", int64_t{1}}, {"strides", Ints{2}}}, {1}, {2}).output, Shape({1}));
  EXPECT_EQ(Fit({{"ceil_mode", int64_t{1}}, {"strides", Ints{3}}}, {1}, {3}).output, Shape({1}));
}

TEST(Window, LargerThanItsInput) {
  EXPECT_EQ(Fit({}, {2}, {3}).output, Shape({0}));
  EXPECT_EQ(Fit({{"strides", Ints{2}}}, {2}, {3}).output, Shape({0}));
  EXPECT_EQ(Fit({{"strides", Ints{2}}}, {1}, {3}).output, Shape({0}));
  EXPECT_EQ(Fit({{"ceil_mode", int64_t{1}}, {"strides", Ints{2}}}, {1}, {3}).output, Shape({0}));
  EXPECT_EQ(Fit({{"auto_pad", std::string("VALID")}}, {2}, {3}).output, Shape({0}));
  EXPECT_THROW(Fit({}, {1}, {3}), Error);
  EXPECT_THROW(Fit({{"strides", Ints{2}}}, {1}, {4}), Error);
  EXPECT_THROW(Fit({{"ceil_mode", int64_t{1}}, {"strides", Ints{2}}}, {1}, {5}), Error);
}

TEST(Window, EmptyAxes) {
  EXPECT_EQ(Fit({}, {0}, {3}).output, Shape({0}));
  EXPECT_EQ(Fit({{"pads", Ints{2, 2}}}, {0}, {3}).output, Shape({2}));
}

TEST(Window, WhatOverflowsIsAnError) {
  const int64_t huge = std::numeric_limits<int64_t>::max();
  for (const char* name : {"strides", "dilations", "kernel_shape"}) {
    for (const int64_t value : {huge, huge / 2, int64_t{0}, int64_t{-1}}) {
      EXPECT_THAT(testing::ErrorOf([&] { Fit({{name, Ints{value}}}, {4}, {2}); }), HasSubstr("must be positive"))
          << name << value;
    }
  }
  EXPECT_THAT(testing::ErrorOf([&] { Fit({{"pads", Ints{huge, 1}}}, {4}, {2}); }), HasSubstr("'pads'"));
  EXPECT_THAT(testing::ErrorOf([&] { Fit({}, {huge}, {2}); }), HasSubstr("spatial axis 0"));
  EXPECT_THAT(testing::ErrorOf([&] { Fit({}, {4}, {huge}); }), HasSubstr("spatial axis 0"));
  EXPECT_THAT(testing::ErrorOf([&] { Fit({{"strides", Ints{1, 1}}}, {4}, {2}); }), HasSubstr("'strides' has 2 values"));
  EXPECT_THAT(testing::ErrorOf([&] { Fit({{"auto_pad", std::string("OTHER")}}, {4}, {2}); }), HasSubstr("OTHER"));
}

TEST(Col2ImAttributes, ColumnsOfBlocks) {
  const Col2ImAttributes attributes(WindowNode({{"strides", Ints{1, 2}}}));
  const auto sizes = [](const Ints& values) { return Tensor::Of<int64_t>({static_cast<int64_t>(values.size())}, values); };
  const Tensor image = sizes({4, 5}), block = sizes({2, 1});
  const Window window = attributes.Fit({3, 14, 9}, image, block);
  EXPECT_EQ(window.output, Shape({3, 3}));
  EXPECT_EQ(Col2ImAttributes::ResultShape({3, 14, 9}, window), Shape({3, 7, 4, 5}));
  const auto error = [&](const Shape& x, const Tensor& of_image, const Tensor& of_block) {
    return testing::ErrorOf([&] { attributes.Fit(x, of_image, of_block); });
  };
  EXPECT_THAT(error({14, 9}, image, block), HasSubstr("must have 3 dimensions"));
  EXPECT_THAT(error({3, 13, 9}, image, block), HasSubstr("not a multiple of the block's 2 elements"));
  EXPECT_THAT(error({3, 14, 8}, image, block), HasSubstr("has 8 columns, the image has 9 blocks"));
  EXPECT_THAT(error({3, 14, 9}, sizes({4, 0}), block), HasSubstr("image_shape holds 0"));
  EXPECT_THAT(error({3, 14, 9}, image, sizes({})), HasSubstr("block_shape is empty"));
}

}  // namespace
}  // namespace tessera
