#include "ops/activation/activation.h"

#include <gmock/gmock.h>

#include "error_of.h"
#include "ops/activation/clip.h"
#include "ops/activation/gelu.h"
#include "ops/node_of.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

constexpr float kLowest = std::numeric_limits<float>::lowest(), kLargest = std::numeric_limits<float>::max();

TEST(ActivationAttributes, DefaultsByOperatorAndVersion) {
  struct Case {
    const char* op_type;
    int version;
    float alpha, beta;
  };
  const Case cases[] = {{"Celu", 12, 1, 0},
                        {"Elu", 22, 1, 0},
                        {"HardSigmoid", 6, 0.2f, 0.5f},
                        {"LeakyRelu", 16, 0.01f, 0},
                        {"QLinearLeakyRelu", 1, 0.01f, 0},
                        {"QuickGelu", 1, 1.702f, 0},
                        {"Selu", 1, 1.6732f, 1.0507f},
                        {"Selu", 6, 1.67326319217681884765625f, 1.05070102214813232421875f},
                        {"Shrink", 9, 0.5f, 0},
                        {"SwiGLU", 28, 1, 0},
                        {"Swish", 24, 1, 0},
                        {"ThresholdedRelu", 10, 1, 0},
                        {"Relu", 14, 0, 0}};
  for (const Case& one : cases) {
    const ActivationAttributes attributes(NodeOf(one.op_type, one.version));
    EXPECT_EQ(attributes.alpha, one.alpha) << one.op_type << one.version;
    EXPECT_EQ(attributes.beta, one.beta) << one.op_type << one.version;
  }
}

TEST(ActivationAttributes, NamesByOperator) {
  const std::vector<Attribute> given = {{"alpha", 2.0f}, {"beta", 3.0f}, {"gamma", 4.0f}, {"lambd", 5.0f}, {"bias", 6.0f}};
  struct Case {
    const char* op_type;
    float alpha, beta;
  };
  for (const Case& one :
       {Case{"HardSigmoid", 2, 3}, Case{"Selu", 2, 4}, Case{"Shrink", 5, 6}, Case{"Elu", 2, 0}, Case{"Relu", 0, 0}}) {
    const ActivationAttributes attributes(NodeOf(one.op_type, 22, given));
    EXPECT_EQ(attributes.alpha, one.alpha) << one.op_type;
    EXPECT_EQ(attributes.beta, one.beta) << one.op_type;
  }
}

TEST(ClipAttributes, BoundsByVersion) {
  struct Case {
    int version;
    std::vector<Attribute> attributes;
    std::optional<float> low, high;
  };
  const Case cases[] = {{1, {}, {}, {}},
                        {1, {{"max", 6.0f}}, {}, 6.0f},
                        {6, {}, kLowest, kLargest},
                        {6, {{"min", 0.0f}}, 0.0f, kLargest},
                        {6, {{"min", 1.0f}, {"max", 0.0f}}, 1.0f, 0.0f},
                        {11, {}, {}, {}}};
  for (const Case& one : cases) {
    const ClipAttributes attributes(NodeOf("Clip", one.version, one.attributes));
    EXPECT_EQ(attributes.from_attributes, one.version < 11);
    EXPECT_EQ(attributes.low, one.low) << one.version;
    EXPECT_EQ(attributes.high, one.high) << one.version;
  }
}

TEST(GeluAttributes, Approximations) {
  const auto gelu = [](std::vector<Attribute> attributes) {
    return GeluAttributes(NodeOf("Gelu", 20, std::move(attributes))).tanh;
  };
  EXPECT_FALSE(gelu({}));
  EXPECT_FALSE(gelu({{"approximate", std::string("none")}}));
  EXPECT_TRUE(gelu({{"approximate", std::string("tanh")}}));
  EXPECT_THAT(ErrorOf([&] { gelu({{"approximate", std::string("erf")}}); }), HasSubstr("'approximate' is 'erf'"));
}

}  // namespace
}  // namespace tessera::testing
