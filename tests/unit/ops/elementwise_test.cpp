#include <gmock/gmock.h>

#include "error_of.h"
#include "ops/logical/bit_shift.h"
#include "ops/logical/is_inf.h"
#include "ops/math/cast.h"
#include "ops/math/legacy_broadcast.h"
#include "ops/math/mod.h"
#include "ops/node_of.h"
#include "ops/random/dropout.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kOne = 1, kZero = 0;

TEST(ModAttributes, Signs) {
  EXPECT_FALSE(ModAttributes(NodeOf("Mod", 13)).truncates);
  EXPECT_TRUE(ModAttributes(NodeOf("Mod", 10, {{"fmod", kOne}})).truncates);
  EXPECT_THAT(ErrorOf([] { ModAttributes{NodeOf("Mod", 13, {{"fmod", int64_t{2}}})}; }), HasSubstr("'fmod' is 2"));
}

TEST(BitShiftAttributes, Directions) {
  const auto left = [](std::string direction) {
    return BitShiftAttributes(NodeOf("BitShift", 11, {{"direction", std::move(direction)}})).left;
  };
  EXPECT_TRUE(left("LEFT"));
  EXPECT_FALSE(left("RIGHT"));
  EXPECT_THAT(ErrorOf([&] { left("left"); }), HasSubstr("'direction' is 'left'"));
  EXPECT_THAT(ErrorOf([] { BitShiftAttributes{NodeOf("BitShift", 11)}; }), HasSubstr("'direction' is ''"));
}

TEST(IsInfAttributes, WhichCount) {
  const IsInfAttributes both(NodeOf("IsInf", 10)), positive(NodeOf("IsInf", 20, {{"detect_negative", kZero}}));
  EXPECT_TRUE(both.negative && both.positive && positive.positive);
  EXPECT_FALSE(positive.negative);
}

TEST(CastAttributes, Saturates) {
  EXPECT_TRUE(CastAttributes(NodeOf("Cast", 13)).saturate);
  EXPECT_FALSE(CastAttributes(NodeOf("CastLike", 19, {{"saturate", kZero}})).saturate);
}

TEST(LegacyBroadcastAttributes, Axes) {
  const LegacyBroadcastAttributes none(NodeOf("Add", 1)), first(NodeOf("Add", 6, {{"broadcast", kOne}, {"axis", kZero}}));
  EXPECT_FALSE(none.broadcasts || none.axis);
  EXPECT_TRUE(first.broadcasts);
  EXPECT_EQ(first.axis, 0);
}

TEST(DropoutMayTrain, ByVersionAndInput) {
  const bool on = true, off = false;
  const Tensor yes = Tensor::Of<bool>(Shape(), std::span(&on, 1)), no = Tensor::Of<bool>(Shape(), std::span(&off, 1));
  const auto dropout = [](int version, std::vector<ValueIndex> inputs, std::vector<Attribute> attributes = {}) {
    Node node = NodeOf("Dropout", version, std::move(attributes));
    node.inputs = std::move(inputs);
    return node;
  };
  EXPECT_TRUE(DropoutMayTrain(dropout(6, {0}), nullptr));
  EXPECT_FALSE(DropoutMayTrain(dropout(1, {0}, {{"is_test", kOne}}), nullptr));
  EXPECT_FALSE(DropoutMayTrain(dropout(7, {0}), nullptr));
  EXPECT_FALSE(DropoutMayTrain(dropout(10, {0}, {{"is_test", kZero}}), nullptr));
  EXPECT_FALSE(DropoutMayTrain(dropout(12, {0, 1}), nullptr));
  EXPECT_FALSE(DropoutMayTrain(dropout(13, {0, kNone, kNone}), nullptr));
  EXPECT_FALSE(DropoutMayTrain(dropout(13, {0, kNone, 1}), &no));
  EXPECT_TRUE(DropoutMayTrain(dropout(13, {0, kNone, 1}), &yes));
  EXPECT_TRUE(DropoutMayTrain(dropout(22, {0, kNone, 1}), nullptr));
}

}  // namespace
}  // namespace tessera::testing
