#include "ops/training/loss.h"

#include <gmock/gmock.h>

#include "error_of.h"
#include "ops/node_of.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

TEST(LossAttributes, LabelsThatCount) {
  const LossAttributes all(NodeOf("SoftmaxCrossEntropyLoss", 13));
  EXPECT_TRUE(all.softmax);
  EXPECT_EQ(all.reduction, LossReduction::kMean);
  EXPECT_TRUE(all.Counts(2, 3));
  EXPECT_THAT(ErrorOf([&] { all.Counts(-1, 3); }), HasSubstr("label -1 is outside [0, 3)"));
  const LossAttributes some(
      NodeOf("NegativeLogLikelihoodLoss", 22, {{"ignore_index", int64_t{-1}}, {"reduction", std::string("sum")}}));
  EXPECT_FALSE(some.softmax);
  EXPECT_FALSE(some.Counts(-1, 3));
  EXPECT_EQ(some.reduction, LossReduction::kSum);
  const Node wrong = NodeOf("NegativeLogLikelihoodLoss", 13, {{"reduction", std::string("max")}});
  EXPECT_THAT(ErrorOf([&] { LossAttributes{wrong}; }), HasSubstr("reduction is 'max'"));
}

TEST(LossAttributes, Shapes) {
  const Tensor scores(ElementType::kFloat, {2, 3, 4}), weights(ElementType::kFloat, Shape{3});
  EXPECT_EQ(LossAttributes::CheckLabels(scores, {2, 4}, &weights), Shape({2, 4}));
  EXPECT_THAT(ErrorOf([&] { LossAttributes::CheckLabels(scores, {2, 3}, nullptr); }), HasSubstr("labels are [2,3]; [2,4]"));
  const Tensor few(ElementType::kFloat, Shape{2});
  EXPECT_THAT(ErrorOf([&] { LossAttributes::CheckLabels(scores, {2, 4}, &few); }), HasSubstr("weights are [2]; [3]"));
}

}  // namespace
}  // namespace tessera::testing
