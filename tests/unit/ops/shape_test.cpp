// Operators that select, repeat, cut or describe dimensions.

#include <gmock/gmock.h>

#include "error_of.h"
#include "ops/movement/center_crop_pad.h"
#include "ops/movement/compress.h"
#include "ops/movement/constant_of_shape.h"
#include "ops/movement/expand.h"
#include "ops/movement/eye_like.h"
#include "ops/movement/pad.h"
#include "ops/movement/range.h"
#include "ops/movement/reverse_sequence.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"
#include "ops/movement/squeeze.h"
#include "ops/movement/tile.h"
#include "ops/movement/trilu.h"
#include "ops/node_of.h"

namespace tessera::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

constexpr int64_t kOne = 1, kZero = 0;

Tensor List(const Ints& values) { return Tensor::Of<int64_t>({static_cast<int64_t>(values.size())}, values); }

TEST(IntegerList, OfAttributesAndTensors) {
  const Ints attribute = {3, -1};
  const Tensor narrow = Tensor::Of<int32_t>({2}, std::vector<int32_t>{5, -7}), real(ElementType::kFloat, {2}),
               matrix(ElementType::kInt64, {1, 2});
  EXPECT_EQ(IntegerList(attribute)[1], -1);
  EXPECT_EQ(IntegerList(narrow, "axes").size(), 2u);
  EXPECT_EQ(IntegerList(narrow, "axes")[1], -7);
  EXPECT_THAT(ErrorOf([&] { IntegerList(real, "axes"); }), HasSubstr("axes is float"));
  EXPECT_THAT(ErrorOf([&] { IntegerList(matrix, "axes"); }), HasSubstr("axes has shape [1,2], expected a list"));
  EXPECT_EQ(ScalarInteger(List({9}), "k"), 9);
  EXPECT_THAT(ErrorOf([&] { ScalarInteger(narrow, "k"); }), HasSubstr("k has shape [2], expected one element"));
  EXPECT_THAT(ErrorOf([&] { ScalarInteger(real, "k"); }), HasSubstr("k is float"));
}

TEST(IntegerList, MarksEachAxisOnce) {
  const auto marked = [](const Ints& axes) {
    Ints found(3, -1);
    MarkAxes(IntegerList(axes), 3, [&](size_t i, size_t axis) { found[axis] = static_cast<int64_t>(i); });
    return found;
  };
  EXPECT_THAT(marked({-1, 0}), ElementsAre(1, -1, 0));
  EXPECT_THAT(ErrorOf([&] { marked({1, -2}); }), HasSubstr("axis 1 is named twice"));
  EXPECT_THAT(ErrorOf([&] { marked({3}); }), HasSubstr("axis 3 is outside [-3, 2]"));
}

TEST(SqueezeAttributes, AxesByVersion) {
  const Tensor given = List({-1});
  const SqueezeAttributes early(NodeOf("Squeeze", 11, {{"axes", Ints{0}}})), omitted(NodeOf("Squeeze", 1)),
      late(NodeOf("Squeeze", 13));
  EXPECT_EQ(SqueezedShape({1, 2, 1}, early.Axes(nullptr)), Shape({2, 1}));
  EXPECT_EQ(SqueezedShape({1, 2, 1}, omitted.Axes(nullptr)), Shape{2});
  EXPECT_EQ(SqueezedShape({1, 2, 1}, late.Axes(&given)), Shape({1, 2}));
  EXPECT_EQ(SqueezedShape({1, 2, 1}, late.Axes(nullptr)), Shape{2});
}

TEST(SqueezeAttributes, Shapes) {
  const Tensor none = List({}), twice = List({2, -1}), both = List({0, -1}), outside = List({3});
  const SqueezeAttributes attributes(NodeOf("Squeeze", 25));
  EXPECT_EQ(SqueezedShape({1, 2, 1}, attributes.Axes(&none)), Shape({1, 2, 1}));  // none are not all
  EXPECT_EQ(SqueezedShape({1, 2, 1}, attributes.Axes(&twice)), Shape({1, 2}));
  EXPECT_EQ(UnsqueezedShape({2, 3}, attributes.Axes(&both)), Shape({1, 2, 3, 1}));
  EXPECT_EQ(UnsqueezedShape({0}, attributes.Axes(&none)), Shape{0});
  EXPECT_THAT(ErrorOf([&] { SqueezedShape({2, 1, 1}, attributes.Axes(&both)); }), HasSubstr("dimension 0 of [2,1,1]"));
  EXPECT_THAT(ErrorOf([&] { SqueezedShape({1}, attributes.Axes(&outside)); }), HasSubstr("axis 3 is outside"));
  EXPECT_THAT(ErrorOf([&] { UnsqueezedShape({4}, attributes.Axes(&twice)); }), HasSubstr("axis 2 is named twice"));
  EXPECT_THAT(ErrorOf([&] { UnsqueezedShape({4}, attributes.Axes(nullptr)); }), HasSubstr("axes are required"));
}

TEST(SliceAttributes, RangesByVersion) {
  const SliceAttributes first(NodeOf("Slice", 1, {{"starts", Ints{1, 0}}, {"ends", Ints{3, 1}}})),
      named(NodeOf("Slice", 1, {{"starts", Ints{1}}, {"ends", Ints{-1}}, {"axes", Ints{-1}}})), late(NodeOf("Slice", 13));
  EXPECT_EQ(first.Ranges({4, 5, 6}, {}).counts, Shape({2, 1, 6}));
  EXPECT_EQ(named.Ranges({4, 5, 6}, {}).counts, Shape({4, 5, 4}));
  const Tensor starts = List({-1, 1}), ends = List({INT64_MIN, 3}), axes = List({2, 0}), steps = List({-2, 1});
  const SliceRanges ranges = late.Ranges({4, 5, 6}, {&starts, &ends, &axes, &steps});
  EXPECT_EQ(ranges.starts, Shape({1, 0, 5}));
  EXPECT_EQ(ranges.counts, Shape({2, 5, 3}));
  EXPECT_EQ(ranges.steps, Shape({1, 1, -2}));
}

TEST(SliceAttributes, Refusals) {
  const SliceAttributes late(NodeOf("Slice", 10));
  const Tensor one = List({1}), two = List({1, 2}), zero = List({0}), twice = List({1, -1});
  struct Case {
    GivenSlices given;
    Shape x;
    const char* error;
  };
  const Case cases[] = {{{&one, &two, nullptr, nullptr}, {5, 5}, "1 starts and 2 ends"},
                        {{&one, &one, &two, nullptr}, {5, 5}, "1 starts and 2 axes"},
                        {{&one, &one, nullptr, &two}, {5, 5}, "1 starts and 2 steps"},
                        {{&two, &two, nullptr, nullptr}, {5}, "2 starts were given for shape [5]"},
                        {{&two, &two, &twice, nullptr}, {5, 5}, "axis 1 is named twice"},
                        {{&one, &one, nullptr, &zero}, {5, 5}, "a step is 0"}};
  for (const Case& one_case : cases)
    EXPECT_THAT(ErrorOf([&] { late.Ranges(one_case.x, one_case.given); }), HasSubstr(one_case.error));
}

TEST(PadAttributes, ShapesAndAxes) {
  const PadAttributes early(NodeOf("Pad", 2, {{"pads", Ints{1, 0, -1, 2}}})), late(NodeOf("Pad", 18));
  EXPECT_EQ(early.Pads({3, 4}, nullptr, nullptr).result, Shape({3, 6}));
  const Tensor pads = List({-1, 5}), axes = List({-1}), twice = List({1, -1}), four = List({0, 0, 0, 0}),
               cut = List({-3, -2}), large = List({int64_t{1} << 62, 0});
  const PaddedShape padded = late.Pads({3, 4}, &pads, &axes);
  EXPECT_EQ(padded.before, Shape({0, -1}));
  EXPECT_EQ(padded.after, Shape({0, 5}));
  EXPECT_EQ(padded.result, Shape({3, 8}));
  EXPECT_THAT(ErrorOf([&] { late.Pads({3, 4}, &pads, nullptr); }), HasSubstr("2 pads for 2 axes"));
  EXPECT_THAT(ErrorOf([&] { late.Pads({3, 4}, &four, &twice); }), HasSubstr("axis 1 is named twice"));
  EXPECT_THAT(ErrorOf([&] { late.Pads({4}, &cut, nullptr); }), HasSubstr("pads -3 and -2 take more than the 4"));
  EXPECT_THAT(ErrorOf([&] { late.Pads({4}, &large, nullptr); }), HasSubstr("axis 0 has pads"));
}

TEST(CenterCropPadAttributes, ShapesAndMargins) {
  const CenterCropPadAttributes all(NodeOf("CenterCropPad", 18)), last(NodeOf("CenterCropPad", 18, {{"axes", Ints{-1}}})),
      twice(NodeOf("CenterCropPad", 18, {{"axes", Ints{1, -1}}}));
  const Tensor one = List({7}), two = List({2, 7}), negative = List({-1});
  EXPECT_EQ(all.ResultShape({5, 4}, two), Shape({2, 7}));
  EXPECT_EQ(last.ResultShape({5, 4}, one), Shape({5, 7}));
  EXPECT_EQ(CenterCropPadAttributes::Before(4, 7), 1);
  EXPECT_EQ(CenterCropPadAttributes::Before(5, 2), -1);
  EXPECT_THAT(ErrorOf([&] { all.ResultShape({5, 4}, one); }), HasSubstr("shape has 1 numbers for 2 axes"));
  EXPECT_THAT(ErrorOf([&] { last.ResultShape({5, 4}, negative); }), HasSubstr("shape[0] is -1"));
  EXPECT_THAT(ErrorOf([&] { twice.ResultShape({5, 4}, two); }), HasSubstr("named twice"));
}

TEST(ExpandTile, Shapes) {
  EXPECT_EQ(ExpandedShape({3, 1}, List({2, 1, 6})), Shape({2, 3, 6}));
  EXPECT_EQ(ExpandedShape({3, 4}, List({1})), Shape({3, 4}));
  EXPECT_EQ(ExpandedShape({1}, List({0})), Shape{0});
  EXPECT_THAT(ErrorOf([] { ExpandedShape({3}, List({2})); }),
              HasSubstr("dimension 0 of shape [3] cannot be broadcast to 2"));
  EXPECT_THAT(ErrorOf([] { ExpandedShape({1}, List({-1})); }), HasSubstr("to -1"));
  EXPECT_EQ(TiledShape({2, 3}, RepeatsOf({2, 3}, List({4, 0}))), Shape({8, 0}));
  EXPECT_THAT(ErrorOf([] { RepeatsOf({2, 3}, List({4})); }), HasSubstr("repeats has 1 numbers for shape [2,3]"));
  EXPECT_THAT(ErrorOf([] { TiledShape({2}, RepeatsOf({2}, List({-4}))); }), HasSubstr("repeat -4 of dimension 0"));
}

TEST(ShapeAttributes, Ranges) {
  const auto range = [](std::vector<Attribute> attributes) {
    return ShapeAttributes(NodeOf("Shape", 15, std::move(attributes))).Range(4);
  };
  using Pair = std::pair<size_t, size_t>;
  EXPECT_EQ(range({}), Pair(0, 4));
  EXPECT_EQ(range({{"start", int64_t{-2}}}), Pair(2, 4));
  EXPECT_EQ(range({{"start", int64_t{-9}}, {"end", int64_t{-1}}}), Pair(0, 3));
  EXPECT_EQ(range({{"start", int64_t{3}}, {"end", kOne}}), Pair(3, 3));
  EXPECT_EQ(range({{"end", int64_t{99}}}), Pair(0, 4));
}

TEST(ConstantOfShapeAttributes, ValueAndShape) {
  const ConstantOfShapeAttributes zero(NodeOf("ConstantOfShape", 9));
  EXPECT_TRUE(zero.value.is(ElementType::kFloat));
  EXPECT_EQ(*zero.value.data<float>(), 0);
  const Node two = NodeOf("ConstantOfShape", 9, {{"value", List({1, 2})}});
  EXPECT_THAT(ErrorOf([&] { ConstantOfShapeAttributes{two}; }), HasSubstr("value has 2 elements"));
  EXPECT_EQ(ConstantOfShapeAttributes::ResultShape(List({2, 0})), Shape({2, 0}));
  EXPECT_THAT(ErrorOf([] { ConstantOfShapeAttributes::ResultShape(List({2, -3})); }), HasSubstr("dimension 1 is -3"));
}

TEST(RangeBounds, Counts) {
  const auto count = [](int64_t start, int64_t limit, int64_t delta) {
    return RangeBounds<int64_t>(List({start}), List({limit}), List({delta})).Count();
  };
  EXPECT_EQ(count(0, 10, 3), 4);
  EXPECT_EQ(count(10, 0, -3), 4);
  EXPECT_EQ(count(0, 10, -1), 0);
  EXPECT_THAT(ErrorOf([&] { count(0, 10, 0); }), HasSubstr("delta is 0"));
  EXPECT_THAT(ErrorOf([&] { count(INT64_MIN, INT64_MAX, 1); }), HasSubstr("no length or too large a one"));
  EXPECT_THAT(ErrorOf([&] { RangeBounds<int64_t>(List({0}), List({1, 2}), List({1})); }),
              HasSubstr("limit has 2 elements"));
  const auto real = [](float value) { return Tensor::Of<float>(Shape(), std::span(&value, 1)); };
  EXPECT_EQ(RangeBounds<float>(real(0), real(1), real(0.3f)).Count(), 4);
  EXPECT_THAT(ErrorOf([&] { RangeBounds<float>(real(0), real(NAN), real(1)).Count(); }), HasSubstr("from 0 to nan"));
  EXPECT_THAT(ErrorOf([&] { RangeBounds<float>(List({0}), real(1), real(1)); }), HasSubstr("start is int64"));
}

TEST(TriluAttributes, Diagonals) {
  EXPECT_TRUE(TriluAttributes(NodeOf("Trilu", 14)).upper);
  EXPECT_FALSE(TriluAttributes(NodeOf("Trilu", 14, {{"upper", kZero}})).upper);
  const Tensor one = List({1}), far = List({INT64_MAX}), two = List({1, 2});
  const DiagonalOfMatrix diagonal = TriluAttributes::Diagonal({7, 3, 5}, &one);
  EXPECT_EQ(diagonal.rows, 3);
  EXPECT_EQ(diagonal.columns, 5);
  EXPECT_EQ(diagonal.k, 1);
  EXPECT_EQ(TriluAttributes::Diagonal({3, 5}, nullptr).k, 0);
  EXPECT_EQ(TriluAttributes::Diagonal({3, 5}, &far).k, 5);
  EXPECT_THAT(ErrorOf([&] { TriluAttributes::Diagonal({3}, &one); }), HasSubstr("expected at least two dimensions"));
  EXPECT_THAT(ErrorOf([&] { TriluAttributes::Diagonal({3, 5}, &two); }), HasSubstr("k has shape [2]"));
  const EyeLikeAttributes eye(NodeOf("EyeLike", 9, {{"k", INT64_MIN}}));
  EXPECT_EQ(eye.Diagonal({3, 5}).k, -3);
  EXPECT_EQ(EyeLikeAttributes(NodeOf("EyeLike", 22)).Diagonal({3, 5}).k, 0);
  EXPECT_THAT(ErrorOf([&] { eye.Diagonal({2, 3, 5}); }), HasSubstr("expected a matrix"));
}

TEST(CompressAttributes, AxesAndElements) {
  const CompressAttributes elements(NodeOf("Compress", 9)), slices(NodeOf("Compress", 11, {{"axis", int64_t{-2}}}));
  const Tensor condition(ElementType::kBool, {3}), matrix(ElementType::kBool, {1, 3}), numbers(ElementType::kInt64, {3});
  const AxisView all = elements.View({2, 3, 4}, condition), rows = slices.View({2, 3, 4}, condition);
  EXPECT_EQ(all.count, 24);
  EXPECT_EQ(rows.outer, 2);
  EXPECT_EQ(rows.count, 3);
  EXPECT_EQ(rows.inner, 4);
  EXPECT_EQ(elements.ResultShape({2, 3, 4}, 5), Shape{5});
  EXPECT_EQ(slices.ResultShape({2, 3, 4}, 1), Shape({2, 1, 4}));
  EXPECT_THAT(ErrorOf([&] { slices.View({3}, condition); }), HasSubstr("axis -2 is outside"));
  EXPECT_THAT(ErrorOf([&] { slices.View({2, 3}, matrix); }), HasSubstr("the condition is bool of shape [1,3]"));
  EXPECT_THAT(ErrorOf([&] { slices.View({2, 3}, numbers); }), HasSubstr("the condition is int64"));
}

TEST(ReverseSequenceAttributes, AxesAndLengths) {
  const ReverseSequenceAttributes time_first(NodeOf("ReverseSequence", 10)),
      batch_first(NodeOf("ReverseSequence", 10, {{"time_axis", kOne}, {"batch_axis", kZero}}));
  EXPECT_TRUE(time_first.time_first);
  EXPECT_FALSE(batch_first.time_first);
  EXPECT_EQ(time_first.Times({5, 2}), 5);
  EXPECT_EQ(batch_first.Times({5, 2}), 2);
  const Tensor lengths = List({0, 5}), long_ones = List({6, 0}), one = List({1});
  EXPECT_THAT(time_first.Lengths({5, 2}, lengths), ElementsAre(0, 5));
  EXPECT_THAT(ErrorOf([&] { time_first.Lengths({5, 2}, long_ones); }), HasSubstr("sequence_lens[0] is 6"));
  EXPECT_THAT(ErrorOf([&] { time_first.Lengths({5, 2}, one); }), HasSubstr("expected [2]"));
  EXPECT_THAT(ErrorOf([&] { time_first.Lengths({5}, one); }), HasSubstr("at least two dimensions"));
  const Node same = NodeOf("ReverseSequence", 10, {{"time_axis", kOne}});
  EXPECT_THAT(ErrorOf([&] { ReverseSequenceAttributes{same}; }), HasSubstr("time_axis is 1 and batch_axis 1"));
}

}  // namespace
}  // namespace tessera::testing
