#include <gmock/gmock.h>

#include "error_of.h"
#include "ops/movement/concat.h"
#include "ops/movement/depth_to_space.h"
#include "ops/movement/flatten.h"
#include "ops/movement/gather.h"
#include "ops/movement/one_hot.h"
#include "ops/movement/pad.h"
#include "ops/movement/reshape.h"
#include "ops/movement/scatter.h"
#include "ops/movement/split.h"
#include "ops/movement/transpose.h"
#include "ops/node_of.h"

namespace tessera::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

Attribute Text(std::string name, std::string text) { return {std::move(name), std::move(text)}; }

TEST(PadAttributes, Versions) {
  EXPECT_EQ(PadAttributes(NodeOf("Pad", 1, {{"paddings", Ints{1, 2}}})).pads, (Ints{1, 2}));
  const PadAttributes early(NodeOf("Pad", 2, {{"pads", Ints{1, 2}}, {"value", 3.0f}, Text("mode", "edge")}));
  EXPECT_TRUE(early.from_attributes);
  EXPECT_EQ(early.mode, PadMode::kEdge);
  EXPECT_EQ(early.value, 3);
  EXPECT_FALSE(PadAttributes(NodeOf("Pad", 11)).from_attributes);
  EXPECT_EQ(PadAttributes(NodeOf("Pad", 19, {Text("mode", "wrap")})).mode, PadMode::kWrap);
  for (const auto& [mode, version] : {std::pair("wrap", 18), {"symmetric", 25}}) {
    const Node node = NodeOf("Pad", version, {Text("mode", mode)});
    EXPECT_THAT(ErrorOf([&] { PadAttributes{node}; }), HasSubstr("is unknown"));
  }
}

TEST(ReshapeAttributes, Resolve) {
  const ReshapeAttributes copies(NodeOf("Reshape", 5)), zeros(NodeOf("Reshape", 14, {{"allowzero", int64_t{1}}}));
  EXPECT_TRUE(ReshapeAttributes(NodeOf("Reshape", 1, {{"shape", Ints{2}}})).from_attribute);
  const auto resolve = [](const ReshapeAttributes& attributes, const Shape& from, const Ints& target) {
    return attributes.Resolve(from, target);
  };
  EXPECT_EQ(resolve(copies, {2, 3, 4}, {0, -1}), Shape({2, 12}));
  EXPECT_EQ(resolve(zeros, {2, 0}, {0, 5}), Shape({0, 5}));
  EXPECT_EQ(resolve(copies, {}, {-1, 1}), Shape({1, 1}));
  EXPECT_THAT(ErrorOf([&] { resolve(copies, {2, 3}, {-1, -1}); }), HasSubstr("more than one -1"));
  EXPECT_THAT(ErrorOf([&] { resolve(copies, {2, 3}, {-1, 4}); }), HasSubstr("6 elements of shape [2,3]"));
  EXPECT_THAT(ErrorOf([&] { resolve(copies, {2}, {1, 0}); }), HasSubstr("dimension 1 of the new shape copies"));
  EXPECT_THAT(ErrorOf([&] { resolve(copies, {2}, {-2}); }), HasSubstr("dimension 0 of the new shape is -2"));
  EXPECT_THAT(ErrorOf([&] { resolve(zeros, {0}, {-1, 0}); }), HasSubstr("hold 0"));
}

TEST(FlattenAttributes, Matrices) {
  const FlattenAttributes first(NodeOf("Flatten", 1)), last(NodeOf("Flatten", 11, {{"axis", int64_t{-1}}}));
  EXPECT_EQ(first.ResultShape({2, 3, 4}), Shape({2, 12}));
  EXPECT_EQ(first.ResultShape({5}), Shape({5, 1}));
  EXPECT_EQ(last.ResultShape({2, 3, 4}), Shape({6, 4}));
  EXPECT_THAT(ErrorOf([&] { first.ResultShape({}); }), HasSubstr("axis 1 is outside [0, 0]"));
}

TEST(TransposeAttributes, Permutations) {
  const TransposeAttributes reverse(NodeOf("Transpose", 1)), given(NodeOf("Transpose", 13, {{"perm", Ints{-1, 0, 1}}}));
  EXPECT_EQ(reverse.From(0, 4), 3u);
  EXPECT_EQ(given.From(0, 3), 2u);
  reverse.Check(7);
  EXPECT_THAT(ErrorOf([&] { given.Check(2); }), HasSubstr("perm has 3 dimensions, the data 2"));
  const Node twice = NodeOf("Transpose", 13, {{"perm", Ints{0, -2}}}), none = NodeOf("Transpose", 13, {{"perm", Ints{}}});
  EXPECT_THAT(ErrorOf([&] { TransposeAttributes{twice}; }), HasSubstr("dimension 0 twice"));
  EXPECT_THAT(ErrorOf([&] { TransposeAttributes(none).Check(2); }), HasSubstr("perm has 0 dimensions"));
}

TEST(SplitAttributes, Parts) {
  const auto parts = [](int version, std::vector<Attribute> attributes, int64_t dim, const Ints* given = nullptr) {
    Node node = NodeOf("Split", version, std::move(attributes));
    node.outputs = {0, 1, 2};
    Ints found(3);
    SplitAttributes(node).FindParts(dim, given == nullptr ? std::nullopt : std::optional(std::span(*given)), found);
    return found;
  };
  EXPECT_THAT(parts(13, {}, 6), ElementsAre(2, 2, 2));
  EXPECT_THAT(parts(18, {}, 7), ElementsAre(3, 3, 1));
  EXPECT_THAT(parts(18, {}, 1), ElementsAre(1, 0, 0));
  EXPECT_THAT(parts(2, {{"split", Ints{1, 0, 5}}}, 6), ElementsAre(1, 0, 5));
  const Ints given = {4, 1, 1}, few = {6}, negative = {7, -2, 1}, none;
  EXPECT_THAT(parts(13, {}, 6, &given), ElementsAre(4, 1, 1));
  EXPECT_THAT(ErrorOf([&] { parts(13, {}, 7); }), HasSubstr("7 elements cannot be split into 3 equal parts"));
  EXPECT_THAT(ErrorOf([&] { parts(13, {}, 6, &few); }), HasSubstr("1 sizes for 3 outputs"));
  EXPECT_THAT(ErrorOf([&] { parts(13, {}, 6, &none); }), HasSubstr("0 sizes for 3 outputs"));
  EXPECT_THAT(ErrorOf([&] { parts(13, {}, 6, &negative); }), HasSubstr("size 1 of the split is -2"));
  EXPECT_THAT(ErrorOf([&] { parts(13, {}, 7, &given); }), HasSubstr("sum to 6, the dimension is 7"));
  EXPECT_THAT(ErrorOf([&] { parts(18, {{"num_outputs", int64_t{2}}}, 6); }), HasSubstr("num_outputs is 2"));
}

TEST(ConcatAttributes, Join) {
  EXPECT_EQ(ConcatAttributes(NodeOf("Concat", 1)).axis, 1);
  Shape joined{2, 3, 4};
  ConcatAttributes::Join(joined, {2, 5, 4}, 1);
  EXPECT_EQ(joined, Shape({2, 8, 4}));
  EXPECT_THAT(ErrorOf([&] { ConcatAttributes::Join(joined, {2, 5, 3}, 1); }), HasSubstr("does not fit [2,8,4]"));
  EXPECT_THAT(ErrorOf([&] { ConcatAttributes::Join(joined, {2, 5}, 1); }), HasSubstr("along axis 1"));
}

TEST(DepthToSpaceAttributes, ShapesAndModes) {
  const DepthToSpaceAttributes blocks(NodeOf("DepthToSpace", 13, {{"blocksize", int64_t{2}}, Text("mode", "CRD")}));
  EXPECT_TRUE(blocks.depth_last);
  EXPECT_EQ(blocks.SpaceShape({1, 8, 3, 5}), Shape({1, 2, 6, 10}));
  EXPECT_EQ(blocks.DepthShape({1, 2, 6, 10}), Shape({1, 8, 3, 5}));
  EXPECT_THAT(ErrorOf([&] { blocks.SpaceShape({1, 6, 3, 5}); }), HasSubstr("6 channels"));
  EXPECT_THAT(ErrorOf([&] { blocks.DepthShape({1, 2, 6, 5}); }), HasSubstr("not made of blocks of 2"));
  EXPECT_THAT(ErrorOf([&] { blocks.DepthShape({2, 6, 4}); }), HasSubstr("expected [N, C, H, W]"));
  for (const Attribute& wrong : {Attribute{"blocksize", int64_t{0}}, Text("mode", "RCD")}) {
    const Node node = NodeOf("SpaceToDepth", 28, {wrong, {"blocksize", int64_t{2}}});
    EXPECT_NE(ErrorOf([&] { DepthToSpaceAttributes{node}; }), "no error");
  }
}

TEST(GatherAttributes, Shapes) {
  EXPECT_EQ(GatherAttributes::ResultShape({2, 3, 4}, {5, 6}, 1), Shape({2, 5, 6, 4}));
  EXPECT_EQ(ElementsAxis({3, 4}, {7, 2}, -2), 0u);
  EXPECT_EQ(ElementsAxis({3, 4}, {0, 9}, 0), 0u);  // no position is outside
  EXPECT_THAT(ErrorOf([] { ElementsAxis({3, 4}, {3, 5}, 0); }), HasSubstr("dimension 1 of indices is 5"));
  EXPECT_THAT(ErrorOf([] { ElementsAxis({3, 4}, {3}, 0); }), HasSubstr("ranks differ"));
  const GatherNDAttributes batched(NodeOf("GatherND", 12, {{"batch_dims", int64_t{1}}}));
  EXPECT_EQ(batched.FirstOfSlice({2, 3, 4, 5}, {2, 7, 2}), 3u);
  EXPECT_EQ(SlicesShape({2, 3, 4, 5}, {2, 7, 2}, 3), Shape({2, 7, 5}));
  EXPECT_THAT(ErrorOf([&] { batched.FirstOfSlice({2, 3, 4}, {3, 7, 1}); }), HasSubstr("batch dimension 0 is 2 in data"));
  EXPECT_THAT(ErrorOf([&] { batched.FirstOfSlice({2, 3}, {2, 7, 2}); }), HasSubstr("tuples of 2 indices"));
}

TEST(ScatterAttributes, ReductionsAndModes) {
  EXPECT_EQ(ScatterReductionOf(NodeOf("ScatterND", 18, {Text("reduction", "max")})), ScatterReduction::kMax);
  EXPECT_EQ(ScatterElementsAttributes(NodeOf("Scatter", 9)).reduction, ScatterReduction::kNone);
  const Node wrong = NodeOf("ScatterElements", 18, {Text("reduction", "mean")});
  EXPECT_THAT(ErrorOf([&] { ScatterReductionOf(wrong); }), HasSubstr("reduction is 'mean'"));
  const Node ring = NodeOf("TensorScatter", 24, {Text("mode", "ring")});
  EXPECT_THAT(ErrorOf([&] { TensorScatterAttributes{ring}; }), HasSubstr("mode is 'ring'"));
}

TEST(ScatterAttributes, TensorScatterStaysInside) {
  const TensorScatterAttributes linear(NodeOf("TensorScatter", 24));
  const TensorScatterAttributes circular(NodeOf("TensorScatter", 24, {Text("mode", "circular")}));
  const Tensor cache(ElementType::kFloat, {2, 5, 3}), update(ElementType::kFloat, {2, 2, 3});
  const Tensor first = Tensor::Of<int64_t>({2}, Ints{3, 4});
  EXPECT_EQ(linear.Check(cache, update, nullptr), 1u);
  EXPECT_EQ(circular.Check(cache, update, &first), 1u);
  EXPECT_THAT(ErrorOf([&] { linear.Check(cache, update, &first); }),
              HasSubstr("write index 4 of batch 1 is outside [0, 3]"));
  EXPECT_THAT(ErrorOf([&] { linear.Check(update, cache, nullptr); }), HasSubstr("does not fit the cache"));
}

TEST(OneHotAttributes, TheNewDimension) {
  const OneHotAttributes last(NodeOf("OneHot", 11)), second(NodeOf("OneHot", 9, {{"axis", int64_t{1}}}));
  EXPECT_TRUE(last.wraps);
  EXPECT_FALSE(second.wraps);
  EXPECT_EQ(OneHotAttributes::ResultShape({2, 3}, 5, last.Axis({2, 3}, 5, {2})), Shape({2, 3, 5}));
  EXPECT_EQ(OneHotAttributes::ResultShape({2, 3}, 5, second.Axis({2, 3}, 5, {2})), Shape({2, 5, 3}));
  EXPECT_THAT(ErrorOf([&] { last.Axis({2}, -1, {2}); }), HasSubstr("depth is -1"));
  EXPECT_THAT(ErrorOf([&] { last.Axis({2}, 1, {3}); }), HasSubstr("expected [2]"));
}

}  // namespace
}  // namespace tessera::testing
