// Which algorithms a convolution is ranked with, and in which layout it computes.

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "kernels/conv/choose/choose.h"
#include "kernels/conv/choose/costs.h"
#include "kernels/conv/choose/layout.h"
#include "kernels/conv/choose/problem.h"
#include "kernels/conv/depthwise/depthwise_small.h"
#include "kernels/conv/nchw8c/nchw8c.h"
#include "tessera/error.h"

namespace tessera::cpu {
namespace {

/// Of square windows that keep an image's size, but for strides.
struct Sizes {
  int64_t channels, outputs, image;
  int64_t kernel = 1, stride = 1, groups = 1, batch = 1, dilation = 1;
};

ConvProblem Square(const Sizes& of, ConvLayout layout = ConvLayout::kNchw, ConvTypes types = ConvTypes::kFloat) {
  const int64_t pad = (of.kernel - 1) * of.dilation / 2, output = (of.image - 1) / of.stride + 1;
  const auto both = [](int64_t size) { return Shape{size, size}; };
  ConvProblem problem{.layout = layout,
                      .types = types,
                      .batch = of.batch,
                      .channels = of.channels,
                      .outputs = of.outputs,
                      .groups = of.groups};
  problem.window = {both(of.image),    both(output), both(of.kernel), both(of.stride),
                    both(of.dilation), both(pad),    both(pad)};
  const bool nchw8c = layout == ConvLayout::kNchw8c || layout == ConvLayout::kNchw8cFromPlanes;
  if (nchw8c) problem.window = problem.window.WithRank(kSpatialAxes);
  return problem;
}

/// But for the implicit GEMM, whose place among them is another on each processor.
std::string Names(const ConvCandidates& ranked) {
  std::string text;
  for (const ConvCandidate& candidate : ranked) {
    if (candidate.algorithm == ConvAlgorithm::kImplicitGemm) continue;
    text += (text.empty() ? "" : " < ") + std::string(NameOf(candidate.algorithm));
  }
  return text;
}

struct RankedCase {
  std::string name;
  ConvProblem problem;
  std::string expected;  // best first
};
void PrintTo(const RankedCase& ranked, std::ostream* out) { *out << ranked.name; }

class RankedConvolutions : public ::testing::TestWithParam<RankedCase> {};

TEST_P(RankedConvolutions, AreInOrder) {
  const ConvCandidates ranked = RankConvAlgorithms(GetParam().problem);
  EXPECT_EQ(Names(ranked), GetParam().expected);
  for (const ConvCandidate* next = ranked.begin() + 1; next < ranked.end(); ++next) EXPECT_GE(next->ns, (next - 1)->ns);
}

ConvProblem Unknown(ConvProblem problem) {
  problem.known_image = false;
  return problem;
}
ConvProblem Computed(ConvProblem problem) {
  problem.constant_weights = false;
  return problem;
}

constexpr auto kNchw8c = ConvLayout::kNchw8c;

INSTANTIATE_TEST_SUITE_P(
    Floats, RankedConvolutions,
    ::testing::Values(
        RankedCase{"Pointwise", Square({64, 128, 56}), "GEMM"},
        RankedCase{"PointwiseOfWholeVectors", Square({64, 128, 16}), "GEMM < GEMM, packed weights"},
        RankedCase{"PointwiseOfFewPixels", Square({64, 128, 5}), "GEMM, packed weights < GEMM"},
        RankedCase{"PointwiseOfHandfuls", Square({64, 128, 4, 1, 1, 1, 8}),
                   "im2col, all images < GEMM < GEMM, packed weights"},
        RankedCase{"PointwiseOfUnknownImages", Unknown(Square({64, 128, 4})), "GEMM"},
        RankedCase{"PointwiseWithComputedWeights", Computed(Square({64, 128, 4})), "GEMM"},
        RankedCase{"Window", Square({64, 128, 56, 3}), "Winograd < im2col"},
        RankedCase{"WindowOfFewChannels", Square({4, 128, 56, 3}), "im2col"},
        RankedCase{"WindowStrided", Square({64, 128, 56, 3, 2}), "im2col"},
        RankedCase{"WindowOfMuchWork", Square({512, 640, 7, 3}), "im2col, packed weights < im2col < Winograd"},
        RankedCase{"WindowWithComputedWeights", Computed(Square({64, 128, 56, 3})), "im2col"},
        RankedCase{"WindowOfHandfuls", Square({64, 128, 5, 3}), "im2col, all images < im2col, packed weights < im2col"},
        RankedCase{"FewOutputs", Square({64, 3, 56, 5}), "kn2row < im2col"},
        RankedCase{"FewOutputsStrided", Square({64, 3, 56, 5, 2}), "im2col"},
        RankedCase{"Groups", Square({64, 64, 56, 3, 1, 4}), "im2col"},
        RankedCase{"DepthwiseLong", Square({12, 12, 56, 3, 1, 12}), "depthwise, planes < depthwise"},
        RankedCase{"DepthwiseWide", Square({12, 12, 56, 7, 1, 12}), "depthwise"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Nchw8c, RankedConvolutions,
    ::testing::Values(RankedCase{"Pointwise", Square({64, 128, 56}, kNchw8c), "direct"},
                      RankedCase{"Window", Square({64, 128, 56, 3}, kNchw8c), "Winograd < Winograd < direct"},
                      RankedCase{"WindowOfNinePixels", Square({64, 64, 3, 3}, kNchw8c), "direct < Winograd < Winograd"},
                      RankedCase{"WindowOfPlanes", Square({3, 64, 56, 3}, ConvLayout::kNchw8cFromPlanes), "direct"},
                      RankedCase{"WindowDilated", Square({256, 64, 20, 3, 1, 1, 1, 12}, kNchw8c),
                                 "direct, by regions < Winograd < Winograd"},
                      RankedCase{"Depthwise", Square({64, 64, 56, 3, 1, 64}, kNchw8c), "depthwise"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Bytes, RankedConvolutions,
    ::testing::Values(
        RankedCase{"Window", Square({64, 128, 56, 3}, ConvLayout::kNchw, ConvTypes::kBytes), "im2col < im2col, int16"},
        RankedCase{"WindowOfFewPixels", Square({64, 128, 8, 3}, ConvLayout::kNchw, ConvTypes::kBytesToInt32),
                   "im2col, all images < im2col < im2col, int16"},
        RankedCase{"ImagesOfFewPixelsAndChannels", Square({3, 32, 2, 3, 1, 1, 16}, ConvLayout::kNchw, ConvTypes::kBytes),
                   "im2col, all images < im2col < im2col, int16"},
        RankedCase{"AnImageOfFewPixelsAndChannels", Square({3, 32, 2, 3}, ConvLayout::kNchw, ConvTypes::kBytes),
                   "im2col < im2col, int16"},
        RankedCase{"WindowOfDeepChannels", Square({4096, 64, 56, 7}, ConvLayout::kNchw, ConvTypes::kBytes),
                   "im2col, int16"},
        RankedCase{"Depthwise", Square({64, 64, 56, 3, 1, 64}, ConvLayout::kNchw, ConvTypes::kBytes),
                   "depthwise < im2col, int16"},
        RankedCase{"DepthwiseToInt32", Square({64, 64, 56, 3, 1, 64}, ConvLayout::kNchw, ConvTypes::kBytesToInt32),
                   "depthwise < im2col, int16"},
        RankedCase{"FewOutputsOfGroups", Square({64, 32, 56, 3, 1, 16}, ConvLayout::kNchw, ConvTypes::kBytes),
                   "direct < im2col, int16"}),
    [](const auto& info) { return info.param.name; });

SymbolicShape Declared(std::initializer_list<int64_t> sizes) {
  SymbolicShape shape;
  for (const int64_t size : sizes) shape.push_back({.value = size, .symbol = {}});
  return shape;
}

Node ConvOf(int64_t group) {
  Node node;
  node.op_type = "Conv";
  node.attributes.push_back({"group", group});
  return node;
}

TEST(ConvProblem, GroupsThatOutputsDoNotFallIntoAreErrors) {
  const Shape weights{4, 9, 3, 3};
  EXPECT_NO_THROW(DescribeConv(ConvOf(2), Declared({1, 18, 8, 8}), weights));
  EXPECT_THROW(DescribeConv(ConvOf(3), {}, weights), Error);
  EXPECT_THROW(DescribeConv(ConvOf(INT64_MAX), {}, weights), Error);
  EXPECT_THROW(DescribeConv(ConvOf(INT64_MAX), {}, {0, 9, 3, 3}), Error);
}

TEST(ConvProblem, DeclaredSizesThatMemoryCannotHaveAreNotKnown) {
  const Shape weights{16, 16, 3, 3};
  const ConvProblem usual = DescribeConv(ConvOf(1), Declared({2, 16, 8, 8}), weights);
  EXPECT_TRUE(usual.known_image);
  EXPECT_EQ(usual.batch, 2);
  constexpr int64_t kHuge = int64_t{1} << 40;
  for (const SymbolicShape& image :
       {Declared({1, 16, kHuge, 8}), Declared({kHuge, 16, 8, 8}), Declared({1, 16, kHuge, kHuge})}) {
    const ConvProblem problem = DescribeConv(ConvOf(1), image, weights);
    EXPECT_FALSE(problem.known_image);
    EXPECT_EQ(problem.batch, 0);
    EXPECT_TRUE(problem.possible());
    EXPECT_TRUE(DescribeLikelyConv(ConvOf(1), image, weights).possible());
  }
}

TEST(ChooseConv, PlanesInLanes) {
  if (SmallPlanesTogether() == 0) GTEST_SKIP() << "no kernel here";
  const auto first = [](const ConvProblem& problem) {
    return std::string(NameOf(RankConvAlgorithms(problem).front().algorithm));
  };
  EXPECT_EQ(first(Square({64, 64, 1, 3, 1, 64})), "depthwise, small planes");
  EXPECT_EQ(first(Square({12, 12, 3, 5, 1, 12, 64, 2})), "depthwise, small planes");
  EXPECT_EQ(first(Square({12, 12, 56, 5, 1, 12, 64, 2})), "depthwise");
}

TEST(ChooseConv, ImplicitGemmOfFewOutputs) {
  const auto place = [](const ConvProblem& problem) {
    const ConvCandidates ranked = RankConvAlgorithms(problem);
    const ConvCandidate* found = ranked.Find(ConvAlgorithm::kImplicitGemm);
    return found == nullptr ? -1 : found - ranked.begin();
  };
  EXPECT_EQ(place(Square({64, 12, 24, 3, 2})), 0);
  EXPECT_EQ(place(Square({3, 8, 96, 5, 2})), 0);
  EXPECT_EQ(place(Square({32, 16, 9, 3, 1, 4, 4})), 0);
  EXPECT_GT(place(Square({512, 512, 28, 3})), 0);
  EXPECT_GT(place(Square({256, 256, 3, 3, 1, 1, 32})), 0);
  EXPECT_EQ(place(Unknown(Square({64, 12, 24, 3, 2}))), -1);
  EXPECT_EQ(place(Computed(Square({64, 12, 24, 3, 2}))), -1);
}

TEST(ChooseConv, AHintComesFirst) {
  const ConvCandidates ranked = RankConvAlgorithms(Square({64, 128, 56, 3}));
  const auto preferring = [&](std::string_view hint) { return Names(ranked.Preferring(ConvPreference::Parse(hint))); };
  EXPECT_EQ(preferring("direct"), "im2col < Winograd");
  EXPECT_EQ(preferring("winograd"), "Winograd < im2col");
  EXPECT_EQ(preferring("im2col"), "im2col < Winograd");
  EXPECT_EQ(preferring("kn2row"), "Winograd < im2col");
  EXPECT_EQ(preferring("oneDNN jit:avx2"), "Winograd < im2col");
}

TEST(ChooseConv, OneDnnTakesTheTransformForManyPixels) {
  EXPECT_EQ(Names(RankConvAlgorithms(Square({64, 128, 56, 3}, ConvLayout::kNchwc))), "Winograd < direct");
  EXPECT_EQ(Names(RankConvAlgorithms(Square({512, 640, 7, 3}, ConvLayout::kNchwc))), "direct < Winograd");
  EXPECT_EQ(Names(RankConvAlgorithms(Square({64, 128, 56, 5}, ConvLayout::kNchwc))), "direct");
}

TEST(ChooseConv, CostsAreThoseOfTheMachine) { EXPECT_EQ(ConvCostsHere().lanes >= kChannelBlock, SuitsChannelBlocks()); }

TEST(ChooseConvLayout, ChannelsFillBlocks) {
  EXPECT_EQ(ChooseFloatLayout(Square({64, 128, 56, 3})), kNchw8c);
  EXPECT_EQ(ChooseFloatLayout(Square({3, 64, 224, 7, 2})), ConvLayout::kNchw8cFromPlanes);
  EXPECT_EQ(ChooseFloatLayout(Square({12, 64, 56, 3})), ConvLayout::kNchw);
  EXPECT_EQ(ChooseFloatLayout(Square({64, 64, 56, 3, 1, 64})), kNchw8c);
  EXPECT_EQ(ChooseFloatLayout(Square({64, 64, 56, 3, 1, 16})), kNchw8c);            // two groups fill a block
  EXPECT_EQ(ChooseFloatLayout(Square({64, 64, 56, 3, 1, 32})), kNchw8c);            // four do
  EXPECT_EQ(ChooseFloatLayout(Square({48, 96, 56, 3, 1, 48})), ConvLayout::kNchw);  // eight would
}

TEST(ChooseConvLayout, OutputsOfZeroWeightsFillTheLastBlock) {
  EXPECT_EQ(ChooseFloatLayout(Square({128, 127, 56})), kNchw8c);
  EXPECT_EQ(ChooseFloatLayout(Square({64, 127, 56})), ConvLayout::kNchw);  // of too few products each
  EXPECT_EQ(ChooseFloatLayout(Square({128, 28, 56})), ConvLayout::kNchw);
  EXPECT_EQ(ChooseFloatLayout(Square({64, 4, 56, 3})), kNchw8c);
  EXPECT_EQ(ChooseFloatLayout(Square({64, 3, 56, 3})), ConvLayout::kNchw);
  EXPECT_EQ(ChooseFloatLayout(Square({64, 4, 56, 3, 2})), ConvLayout::kNchw);  // which no transform fits
}

TEST(ChooseConvLayout, ImagesOfFewPixelsStayInNchw) {
  EXPECT_EQ(ChooseFloatLayout(Square({64, 64, 3, 3})), ConvLayout::kNchw);
  EXPECT_EQ(ChooseFloatLayout(Square({64, 64, 4, 3})), kNchw8c);
  EXPECT_EQ(ChooseFloatLayout(Square({64, 64, 4, 3, 1, 1, 16})), ConvLayout::kNchw);
  EXPECT_EQ(ChooseFloatLayout(Square({64, 64, 3, 1})), kNchw8c);
}

TEST(ChooseConvLayout, WhatComputesMuchPaysForItsMoves) {
  const auto gain = [](const ConvProblem& problem, ConvLayout layout) {
    const double elements = problem.input_pixels() * static_cast<double>(problem.channels) +
                            problem.output_pixels() * static_cast<double>(problem.outputs);
    return Nchw8cGain(problem, layout) / elements;
  };
  EXPECT_EQ(gain(Square({64, 128, 56, 3}), kNchw8c), 3);
  EXPECT_EQ(gain(Square({64, 64, 56}), kNchw8c), 1);
  EXPECT_EQ(gain(Square({512, 512, 14}), kNchw8c), 3);
  EXPECT_EQ(gain(Square({64, 64, 56, 3, 1, 64}), kNchw8c), 1);
  EXPECT_EQ(gain(Square({64, 64, 56, 7, 1, 64}), kNchw8c), 3);
}

TEST(ChooseConvLayout, BytesOfFewChannelsStayInNchw) {
  EXPECT_TRUE(SuitsNhwc(Square({64, 64, 56, 3}), 0));
  EXPECT_FALSE(SuitsNhwc(Square({64, 64, 56, 3}), 0.1));
  EXPECT_FALSE(SuitsNhwc(Square({64, 3, 56, 3}), 0));
  EXPECT_TRUE(SuitsNhwc(Square({64, 64, 56, 3, 1, 64}), 0.1));
  EXPECT_FALSE(SuitsNhwc(Square({16, 16, 56, 3, 1, 16}), 0));
}

}  // namespace
}  // namespace tessera::cpu
