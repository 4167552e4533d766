#include <gmock/gmock.h>

#include "error_of.h"
#include "ops/node_of.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/normalization/group_normalization.h"
#include "ops/normalization/layer_normalization.h"
#include "ops/normalization/lp_normalization.h"
#include "ops/normalization/lrn.h"
#include "ops/normalization/mean_variance_normalization.h"
#include "ops/normalization/skip_layer_normalization.h"
#include "ops/normalization/softmax.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kOne = 1, kZero = 0;

TEST(SoftmaxAttributes, AxisByVersion) {
  struct Case {
    int version;
    std::vector<Attribute> attributes;
    int64_t outer, count, inner;
  };
  const Case cases[] = {{1, {}, 2, 12, 1},
                        {11, {}, 2, 12, 1},
                        {11, {{"axis", int64_t{-1}}}, 6, 4, 1},
                        {11, {{"axis", kZero}}, 1, 24, 1},
                        {13, {}, 6, 4, 1},
                        {13, {{"axis", kOne}}, 2, 3, 4}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.version);
    const AxisView view = SoftmaxAttributes(NodeOf("Softmax", one.version, one.attributes)).View({2, 3, 4});
    EXPECT_EQ(view.outer, one.outer);
    EXPECT_EQ(view.count, one.count);
    EXPECT_EQ(view.inner, one.inner);
  }
}

TEST(SoftmaxAttributes, AxisOutside) {
  for (const int version : {1, 11, 13}) {
    const SoftmaxAttributes attributes(NodeOf("Softmax", version, {{"axis", int64_t{1}}}));
    EXPECT_THAT(ErrorOf([&] { attributes.View({5}); }), HasSubstr("axis 1 is outside [-1, 0]"));
  }
  const SoftmaxAttributes last(NodeOf("LogSoftmax", 13));
  EXPECT_THAT(ErrorOf([&] { last.View(Shape()); }), HasSubstr("axis -1"));
}

TEST(LayerNormalizationAttributes, Defaults) {
  for (const char* op : {"LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization"}) {
    const LayerNormalizationAttributes attributes(NodeOf(op, 23));
    EXPECT_EQ(attributes.axis, -1);
    EXPECT_EQ(attributes.epsilon, 1e-5f);
    EXPECT_EQ(attributes.centers, op == std::string("LayerNormalization"));
    EXPECT_EQ(attributes.inverse_output(), attributes.centers ? 2u : 1u);
  }
  EXPECT_EQ(LayerNormalizationAttributes::StatisticsShape({2, 3, 4}, 1), Shape({2, 1, 1}));
}

TEST(GroupNormalizationAttributes, GroupsByOperatorAndVersion) {
  const std::vector<Attribute> two = {{"num_groups", int64_t{2}}};
  const GroupNormalizationAttributes by_group(NodeOf("GroupNormalization", 18, two)),
      by_channel(NodeOf("GroupNormalization", 21, two)), instances(NodeOf("InstanceNormalization", 6));
  EXPECT_TRUE(by_group.scales_groups);
  EXPECT_FALSE(by_channel.scales_groups);
  EXPECT_FALSE(instances.scales_groups);
  EXPECT_EQ(by_channel.Groups({1, 6, 5}), 2);
  EXPECT_EQ(instances.Groups({1, 6, 5}), 6);
  EXPECT_THAT(ErrorOf([&] { by_channel.Groups({1, 5, 5}); }), HasSubstr("5 channels do not fall into 2 groups"));
  EXPECT_THAT(ErrorOf([&] { instances.Groups({3}); }), HasSubstr("batch and channels are expected"));
  for (const int64_t groups : {0, -1}) {
    const Node node = NodeOf("GroupNormalization", 21, {{"num_groups", groups}});
    EXPECT_THAT(ErrorOf([&] { GroupNormalizationAttributes{node}; }), HasSubstr("num_groups is"));
  }
}

TEST(BatchNormalizationAttributes, TrainingByVersion) {
  struct Case {
    int version;
    std::vector<Attribute> attributes;
    size_t outputs;
    bool training;
  };
  const Case cases[] = {{1, {}, 1, false}, {1, {}, 5, true},   {6, {{"is_test", kOne}}, 5, false},      {7, {}, 1, false},
                        {9, {}, 3, true},  {14, {}, 3, false}, {15, {{"training_mode", kOne}}, 1, true}};
  for (const Case& one : cases) {
    Node node = NodeOf("BatchNormalization", one.version, one.attributes);
    node.outputs.assign(one.outputs, 0);
    EXPECT_EQ(BatchNormalizationAttributes(node).training, one.training) << one.version;
  }
  Node omitted = NodeOf("BatchNormalization", 9);
  omitted.outputs = {0, kNone, kNone};
  EXPECT_FALSE(BatchNormalizationAttributes(omitted).training);
}

TEST(BatchNormalizationAttributes, Defaults) {
  const BatchNormalizationAttributes attributes(NodeOf("BatchNormalization", 15));
  EXPECT_EQ(attributes.epsilon, 1e-5f);
  EXPECT_EQ(attributes.momentum, 0.9f);
  EXPECT_TRUE(attributes.spatial);
  EXPECT_FALSE(BatchNormalizationAttributes(NodeOf("BatchNormalization", 7, {{"spatial", kZero}})).spatial);
  EXPECT_TRUE(BatchNormalizationAttributes(NodeOf("BatchNormalization", 9, {{"spatial", kZero}})).spatial);
  EXPECT_EQ(BatchNormalizationAttributes::Channels({7, 3, 2}), 3);
  EXPECT_EQ(BatchNormalizationAttributes::Channels({7}), 1);
  EXPECT_THAT(ErrorOf([] { BatchNormalizationAttributes::Channels(Shape()); }), HasSubstr("rank 0"));
}

TEST(LrnAttributes, WindowAndDefaults) {
  const LrnAttributes attributes(NodeOf("LRN", 13, {{"size", int64_t{4}}}));
  EXPECT_EQ(attributes.alpha, 1e-4f);
  EXPECT_EQ(attributes.beta, 0.75f);
  EXPECT_EQ(attributes.bias, 1.0f);
  EXPECT_EQ(attributes.Before(9), 1);
  EXPECT_EQ(attributes.After(9), 2);
  EXPECT_EQ(attributes.After(1), 1);
  EXPECT_THAT(ErrorOf([] { LrnAttributes{NodeOf("LRN", 1, {{"size", int64_t{0}}})}; }), HasSubstr("size is 0"));
}

TEST(LpNormalizationAttributes, Norms) {
  const LpNormalizationAttributes attributes(NodeOf("LpNormalization", 22));
  EXPECT_EQ(attributes.axis, -1);
  EXPECT_EQ(attributes.p, 2);
  EXPECT_THAT(ErrorOf([] { LpNormalizationAttributes{NodeOf("LpNormalization", 1, {{"p", int64_t{3}}})}; }),
              HasSubstr("p is 3"));
}

TEST(MeanVarianceNormalizationAttributes, Axes) {
  EXPECT_EQ(MeanVarianceNormalizationAttributes(NodeOf("MeanVarianceNormalization", 13)).axes,
            (std::vector<int64_t>{0, 2, 3}));
}

TEST(SkipLayerNormalization, InputsAndSizes) {
  const SkipLayerNormalizationAttributes centered(NodeOf("SkipLayerNormalization", 1, {}, "com.microsoft")),
      simplified(NodeOf("SkipSimplifiedLayerNormalization", 1, {}, "com.microsoft"));
  EXPECT_EQ(centered.epsilon, 1e-12f);
  EXPECT_EQ(centered.bias_input(), 4u);
  EXPECT_EQ(simplified.bias_input(), 3u);
  struct Case {
    Shape x, skip;
    int64_t skip_rows;
  };
  for (const auto& [x, skip, skip_rows] : {Case{{2, 3, 4}, {2, 3, 4}, 6}, Case{{2, 3, 4}, {1, 3, 4}, 3},
                                           Case{{2, 3, 4}, {3, 4}, 3}, Case{{3, 4}, {3, 4}, 3}}) {
    const SkipLayerNormalizationSizes sizes(x, skip);
    EXPECT_EQ(sizes.width, 4);
    EXPECT_EQ(sizes.rows, x.SizeOfRange(0, x.rank() - 1));
    EXPECT_EQ(sizes.skip_rows, skip_rows);
    EXPECT_EQ(sizes.statistics.back(), 1);
  }
  for (const Shape& skip : {Shape{4}, Shape{2, 4}, Shape{2, 3, 5}, Shape{1, 2, 3, 4}})
    EXPECT_THAT(ErrorOf([&] { SkipLayerNormalizationSizes{Shape({2, 3, 4}), skip}; }), HasSubstr("skip is"));
  EXPECT_THAT(ErrorOf([&] { SkipLayerNormalizationSizes{Shape({4}), Shape({4})}; }), HasSubstr("2 or 3 dimensions"));
}

}  // namespace
}  // namespace tessera::testing
