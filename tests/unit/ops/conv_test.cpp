#include "ops/nn/conv.h"

#include <gmock/gmock.h>

#include "error_of.h"
#include "ops/node_of.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

Tensor ZeroBias(const Shape& shape) {
  return Tensor::Of<float>(shape, std::vector<float>(static_cast<size_t>(shape.num_elements())));
}

TEST(ConvAttributes, ShapesThatFit) {
  const ConvAttributes attributes(NodeOf("Conv", 22, {{"group", int64_t{2}}, {"strides", Ints{2, 1}}}));
  const Tensor bias = ZeroBias({6});
  const Shape x{1, 4, 7, 5}, weights{6, 2, 3, 3};
  const Window window = attributes.Fit(x, weights, &bias);
  EXPECT_EQ(ConvAttributes::ResultShape(x, weights, window), Shape({1, 6, 3, 3}));
  EXPECT_EQ(ConvAttributes(NodeOf("Conv", 1)).group, 1);
}

TEST(ConvAttributes, Refusals) {
  struct Case {
    std::vector<Attribute> attributes;
    Shape x, weights;
    const char* error;
  };
  const Attribute two{"group", int64_t{2}};
  const Case cases[] = {{{}, {1, 4}, {6, 4}, "at least one spatial axis"},
                        {{}, {1, 4, 7}, {6, 4, 3, 3}, "the weights are [6,4,3,3], the input is [1,4,7]"},
                        {{}, {1, 5, 7}, {6, 4, 3}, "the input has 5 channels, the weights take 4 in 1 groups"},
                        {{two}, {1, 4, 7}, {5, 2, 3}, "5 output channels do not divide into 2 groups"},
                        {{{"kernel_shape", Ints{2}}}, {1, 4, 7}, {6, 4, 3}, "kernel_shape is [2]"}};
  for (const Case& one : cases) {
    const ConvAttributes attributes(NodeOf("Conv", 11, one.attributes));
    EXPECT_THAT(ErrorOf([&] { attributes.Fit(one.x, one.weights, nullptr); }), HasSubstr(one.error));
  }
  const Tensor wide = ZeroBias({1, 6});
  const ConvAttributes plain(NodeOf("Conv", 11));
  EXPECT_THAT(ErrorOf([&] { plain.Check({1, 4, 7}, {6, 4, 3}, &wide); }), HasSubstr("the bias is [1,6]"));
  EXPECT_THAT(ErrorOf([] { ConvAttributes{NodeOf("Conv", 11, {{"group", int64_t{0}}})}; }), HasSubstr("'group' is 0"));
}

TEST(DeformConvAttributes, Offsets) {
  const DeformConvAttributes attributes(NodeOf("DeformConv", 19, {{"offset_group", int64_t{2}}}));
  const Shape x{1, 4, 5, 5}, weights{3, 4, 2, 2};
  const Tensor mask = ZeroBias({1, 8, 4, 4});
  EXPECT_EQ(attributes.Fit(x, weights, {1, 16, 4, 4}, nullptr, &mask).output, Shape({4, 4}));
  EXPECT_THAT(ErrorOf([&] { attributes.Fit(x, weights, {1, 8, 4, 4}, nullptr, nullptr); }), HasSubstr("the offset is"));
  EXPECT_THAT(ErrorOf([&] { attributes.Fit({1, 3, 5, 5}, {3, 3, 2, 2}, {1, 16, 4, 4}, nullptr, nullptr); }),
              HasSubstr("3 input channels do not divide into 2 offset groups"));
  EXPECT_THAT(ErrorOf([] { DeformConvAttributes{NodeOf("DeformConv", 19, {{"offset_group", int64_t{0}}})}; }),
              HasSubstr("'offset_group' is 0"));
}

}  // namespace
}  // namespace tessera::testing
