#include "ops/nn/conv_transpose.h"

#include <gmock/gmock.h>

#include "error_of.h"
#include "ops/node_of.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

ConvTransposeAttributes Attributes(std::vector<Attribute> attributes) {
  return ConvTransposeAttributes(NodeOf("ConvTranspose", 22, std::move(attributes)));
}

TEST(ConvTransposeAttributes, OutputsAreTheWindowsInput) {
  const auto attributes =
      Attributes({{"strides", Ints{2}}, {"output_padding", Ints{1}}, {"pads", Ints{1, 1}}, {"group", int64_t{2}}});
  const Shape x{3, 4, 5}, weights{4, 2, 3};
  const Window window = attributes.Fit(x, weights, nullptr);
  EXPECT_EQ(window.output, Shape({5}));
  EXPECT_EQ(window.input, Shape({10}));
  EXPECT_EQ(attributes.ResultShape(x, weights, window), Shape({3, 4, 10}));
}

TEST(ConvTransposeAttributes, PadsFromSizes) {
  const Ints image = {5}, kernel = {4};
  for (const auto& [auto_pad, begin] : {std::pair("SAME_UPPER", 0), {"SAME_LOWER", 1}}) {
    const Window window = Attributes({{"auto_pad", std::string(auto_pad)}, {"strides", Ints{3}}}).FitImage(image, kernel);
    EXPECT_EQ(window.input, Shape({15}));
    EXPECT_EQ(window.begin, Shape({begin}));
  }
  EXPECT_EQ(Attributes({{"auto_pad", std::string("VALID")}, {"pads", Ints{1, 1}}}).FitImage(image, kernel).input,
            Shape({8}));
  EXPECT_EQ(Attributes({{"output_shape", Ints{7}}}).FitImage(image, kernel).begin, Shape({1}));
  EXPECT_EQ(Attributes({{"output_shape", Ints{}}, {"pads", Ints{0, 1}}}).FitImage(image, kernel).begin, Shape({0}));
}

TEST(ConvTransposeAttributes, WhatDoesNotFit) {
  const Shape x{1, 4, 5}, weights{4, 2, 3};
  const Tensor bias(ElementType::kFloat, Shape{3});
  const auto error = [&](std::vector<Attribute> given, const Shape& image, const Tensor* added) {
    return ErrorOf([&] { Attributes(std::move(given)).Fit(image, weights, added); });
  };
  EXPECT_THAT(error({{"kernel_shape", Ints{4}}}, x, nullptr), HasSubstr("kernel_shape is [4], the weights' is [3]"));
  EXPECT_THAT(error({{"group", int64_t{3}}}, x, nullptr), HasSubstr("4 channels do not divide into 3 groups"));
  EXPECT_THAT(error({{"group", int64_t{0}}}, x, nullptr), HasSubstr("'group' is 0"));
  EXPECT_THAT(error({}, Shape{1, 3, 5}, nullptr), HasSubstr("3 channels, the weights take 4"));
  EXPECT_THAT(error({}, x, &bias), HasSubstr("the bias is [3], 2 output channels"));
}

}  // namespace
}  // namespace tessera::testing
