#include <gmock/gmock.h>

#include "error_of.h"
#include "ops/node_of.h"
#include "ops/signal/dft.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

TEST(DftAttributes, TheAxisBecameAnInput) {
  const DftAttributes early(NodeOf("DFT", 17)), late(NodeOf("DFT", 20, {{"axis", int64_t{3}}}));
  EXPECT_EQ(early.axis, 1);
  EXPECT_FALSE(early.axis_is_input);
  EXPECT_EQ(late.axis, -2);
  EXPECT_TRUE(late.axis_is_input);
  EXPECT_EQ(DftAttributes::SignalAxis({2, 3, 1}, -2), 1u);
  EXPECT_THAT(ErrorOf([] { DftAttributes::SignalAxis({2, 3, 1}, 2); }), HasSubstr("axis 2 is not a signal axis"));
  EXPECT_THAT(ErrorOf([] { DftAttributes::SignalAxis({2, 3}, 0); }), HasSubstr("[..., 1] or [..., 2] is expected"));
}

TEST(StftAttributes, Frames) {
  const StftAttributes attributes(NodeOf("STFT", 17));
  const Tensor signal(ElementType::kFloat, {2, 10, 1}), window(ElementType::kFloat, Shape{4});
  EXPECT_EQ(attributes.Fit(signal, 3, &window, std::nullopt).result(), Shape({2, 3, 3, 2}));
  EXPECT_EQ(attributes.Fit(signal, 3, nullptr, 12).result(), Shape({2, 0, 7, 2}));
  EXPECT_EQ(attributes.Fit(signal, 3, nullptr, std::nullopt).frames, 1);
  EXPECT_THAT(ErrorOf([&] { attributes.Fit(signal, 0, &window, 4); }), HasSubstr("frame_step is 0"));
  EXPECT_THAT(ErrorOf([&] { attributes.Fit(signal, 1, &window, 5); }), HasSubstr("frame_length is 5"));
}

}  // namespace
}  // namespace tessera::testing
