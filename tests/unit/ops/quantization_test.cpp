#include "ops/quantization/quantize_linear.h"

#include <gmock/gmock.h>

#include "error_of.h"
#include "ops/node_of.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

TEST(QuantizeLinearAttributes, DefaultsAndRefusals) {
  for (const int version : {10, 13, 19, 21, 25}) {
    const QuantizeLinearAttributes attributes(NodeOf("QuantizeLinear", version));
    EXPECT_EQ(attributes.axis, 1);
    EXPECT_EQ(attributes.block_size, 0);
    EXPECT_EQ(attributes.output_dtype, 0);
    EXPECT_EQ(attributes.precision, 0);
    EXPECT_TRUE(attributes.saturate);
  }
  struct Case {
    Attribute attribute;
    const char* error;
  };
  const Case cases[] = {{{"block_size", int64_t{-1}}, "'block_size' is -1"},
                        {{"output_dtype", int64_t{1000}}, "'output_dtype' is 1000"},
                        {{"precision", static_cast<int64_t>(ElementType::kInt8)}, "'precision' is"},
                        {{"precision", int64_t{-1}}, "'precision' is -1"}};
  for (const Case& one : cases) {
    const Node node = NodeOf("QuantizeLinear", 25, {one.attribute});
    EXPECT_THAT(ErrorOf([&] { QuantizeLinearAttributes{node}; }), HasSubstr(one.error));
  }
}

TEST(QuantizationLayout, Runs) {
  const QuantizationLayout one({2, 3}, Shape(), 7, 0), channels({2, 3, 4}, {3}, 1, 0), blocks({2, 5}, {2, 3}, -1, 2);
  EXPECT_TRUE(one.single());
  EXPECT_EQ(one.Run(1, 6).count, 5);
  const ScaleRun run = channels.Run(5, 24);
  EXPECT_EQ(run.count, 3);
  EXPECT_EQ(run.scale, 1);
  EXPECT_EQ(run.step, 0);
  EXPECT_EQ(blocks.blocks(), 3);
  EXPECT_EQ(blocks.Run(8, 10).count, 1);
  EXPECT_EQ(blocks.Run(8, 10).scale, 4);
  EXPECT_EQ(QuantizationLayout({4}, {4}, 1, 0).Run(0, 4).step, 1);
  EXPECT_THAT(ErrorOf([] { QuantizationLayout({2, 3}, {2}, 1, 0); }), HasSubstr("expected [3]"));
  EXPECT_THAT(ErrorOf([] { QuantizationLayout({2, 5}, {2, 2}, 1, 2); }), HasSubstr("expected [2,3]"));
  EXPECT_THAT(ErrorOf([] { QuantizationLayout({2, 3}, {3}, 2, 0); }), HasSubstr("axis 2 is outside"));
}

}  // namespace
}  // namespace tessera::testing
