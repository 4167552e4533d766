#include <gmock/gmock.h>

#include "error_of.h"
#include "ops/node_of.h"
#include "ops/reduction/arg_max.h"
#include "ops/reduction/cum_sum.h"
#include "ops/reduction/reduce.h"
#include "ops/reduction/top_k.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

TEST(ReduceAttributes, Axes) {
  struct Case {
    std::vector<Attribute> attributes;
    Ints axes;
    Shape reduced;
  };
  const Attribute noop{"noop_with_empty_axes", int64_t{1}};
  const Case cases[] = {
      {{}, {}, {1, 1, 1}}, {{noop}, {}, {0, 0, 0}}, {{noop}, {1}, {0, 1, 0}}, {{}, {-1, 0, 2}, {1, 0, 1}}};
  for (const Case& one : cases) {
    const ReduceAttributes attributes(NodeOf("ReduceSum", 13, one.attributes));
    EXPECT_TRUE(attributes.keepdims);
    EXPECT_EQ(attributes.Reduced({2, 3, 4}, one.axes), one.reduced);
  }
  EXPECT_EQ(ReduceAttributes(NodeOf("ReduceMax", 1, {{"axes", Ints{2}}})).axes, Ints{2});
  EXPECT_EQ(ReducedShape({2, 3, 4}, {0, 1, 0}, true), Shape({2, 1, 4}));
  EXPECT_EQ(ReducedShape({2, 3, 4}, {0, 1, 0}, false), Shape({2, 4}));
  EXPECT_THAT(ErrorOf([] { ReducedDimensions({2, 3}, Ints{2}); }), HasSubstr("axis 2 is outside [-2, 1]"));
}

TEST(ArgMaxAttributes, ResultShape) {
  const ArgMaxAttributes attributes(NodeOf("ArgMax", 13)),
      dropped(NodeOf("ArgMin", 1, {{"axis", int64_t{-1}}, {"keepdims", int64_t{0}}}));
  EXPECT_EQ(attributes.ResultShape({2, 3}), Shape({1, 3}));
  EXPECT_EQ(dropped.ResultShape({2, 3}), Shape({2}));
  EXPECT_FALSE(attributes.select_last_index);
  EXPECT_EQ(attributes.ResultShape({0, 0}), Shape({1, 0}));
  EXPECT_THAT(ErrorOf([&] { attributes.ResultShape({0, 3}); }), HasSubstr("no elements to choose"));
  EXPECT_THAT(ErrorOf([&] { attributes.ResultShape(Shape()); }), HasSubstr("axis 0 is outside"));
}

TEST(CumSumAttributes, Axis) {
  const CumSumAttributes attributes(NodeOf("CumSum", 14));
  EXPECT_FALSE(attributes.exclusive);
  EXPECT_FALSE(attributes.reverse);
  const AxisView view = CumSumAttributes::View({2, 3, 4}, Tensor::Of<int32_t>(Shape(), std::vector<int32_t>{-2}));
  EXPECT_EQ(view.outer, 2);
  EXPECT_EQ(view.count, 3);
  EXPECT_EQ(view.inner, 4);
  EXPECT_EQ(CumSumAttributes::View({2, 3, 4}, Tensor::Of<int64_t>({1}, std::vector<int64_t>{0})).count, 2);
  EXPECT_THAT(ErrorOf([] { CumSumAttributes::View({2}, Tensor::Of<int64_t>({2}, std::vector<int64_t>{0, 0})); }),
              HasSubstr("axis has shape"));
  EXPECT_THAT(ErrorOf([] { CumSumAttributes::View({2}, Tensor::Of<float>({1}, std::vector<float>{0})); }),
              HasSubstr("axis is float"));
}

TEST(TopKAttributes, CountByVersion) {
  const Tensor two = Tensor::Of<int64_t>({1}, std::vector<int64_t>{2});
  EXPECT_EQ(TopKAttributes(NodeOf("TopK", 1, {{"k", int64_t{3}}})).Count(nullptr, 5), 3);
  EXPECT_EQ(TopKAttributes(NodeOf("TopK", 11, {{"k", int64_t{3}}})).Count(&two, 5), 2);
  EXPECT_TRUE(TopKAttributes(NodeOf("TopK", 10)).largest);
  EXPECT_THAT(ErrorOf([&] { TopKAttributes(NodeOf("TopK", 11)).Count(&two, 1); }), HasSubstr("k is 2"));
  EXPECT_THAT(ErrorOf([&] { TopKAttributes(NodeOf("TopK", 11)).Count(nullptr, 1); }), HasSubstr("K is"));
  EXPECT_THAT(ErrorOf([] { TopKAttributes{NodeOf("TopK", 1, {{"k", int64_t{-1}}})}; }), HasSubstr("k is -1"));
}

}  // namespace
}  // namespace tessera::testing
