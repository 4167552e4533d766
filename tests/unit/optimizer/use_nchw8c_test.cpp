#include <limits>
#include <optional>

#include "optimizer/float_network.h"

namespace tessera::testing {
namespace {

struct Nchw8cConvCase {
  std::string name;
  std::vector<int64_t> input;
  Nchw8cConvSpec first, second;
};

class Nchw8cConvolutions : public ::testing::TestWithParam<Nchw8cConvCase> {};

TEST_P(Nchw8cConvolutions, GiveTheSameResults) {
  const Nchw8cConvCase& c = GetParam();
  for (const std::string activation : {"", "Relu", "LeakyRelu", "PRelu", "HardSigmoid", "HardSwish", "Sigmoid", "Silu"}) {
    for (const bool symbolic : {false, true}) {
      SCOPED_TRACE(activation + (symbolic ? " symbolic" : ""));
      std::vector<int64_t> open(c.input.size(), -1);
      open[1] = c.input[1];
      FloatNetwork network(symbolic ? open : c.input);
      const std::string first = network.Conv("x", c.first);
      std::string last = network.Conv(network.Op("Relu", {first}), c.second);
      if (activation == "Silu") {
        last = network.Op("Mul", {network.Op("Sigmoid", {last}), last});
      } else if (activation == "PRelu") {
        last = network.PRelu(last, c.second.outputs);
      } else if (!activation.empty()) {
        last = network.Op(activation, {last});
      }
      Compare(network, {network.Conv(last, {16, c.second.outputs, 1})}, Shape(c.input));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Nchw8cConvolutions,
    ::testing::Values(
        Nchw8cConvCase{"Pointwise", {2, 3, 20, 17}, {24, 3, 3, 1, 1}, {40, 24, 1}},
        Nchw8cConvCase{"PointwiseStrided", {2, 3, 15, 18}, {16, 3, 7, 2, 3}, {16, 16, 1, 2}},
        Nchw8cConvCase{"OneBlock", {1, 1, 9, 9}, {8, 1, 3}, {8, 8, 3, 1, 1}},
        Nchw8cConvCase{"Deep", {1, 3, 13, 11}, {328, 3, 1}, {24, 328, 1}},
        Nchw8cConvCase{"Winograd", {2, 3, 29, 30}, {64, 3, 3, 1, 1}, {64, 64, 3, 1, 1}},
        Nchw8cConvCase{"WinogradNoPads", {1, 3, 40, 41}, {32, 3, 3, 1, 2}, {48, 32, 3}},
        Nchw8cConvCase{"WinogradSmall", {1, 3, 12, 14}, {64, 3, 1}, {64, 64, 3, 1, 1}},
        Nchw8cConvCase{"WinogradDilated", {2, 3, 33, 30}, {64, 3, 3, 1, 1}, {64, 64, 3, 1, 2, 1, 2}},
        Nchw8cConvCase{"WinogradDilatedNoPads", {1, 3, 50, 47}, {64, 3, 3, 1, 1}, {72, 64, 3, 1, 0, 1, 3}},
        Nchw8cConvCase{"WinogradDilatedWidePads", {1, 3, 25, 31}, {64, 3, 3, 1, 1}, {64, 64, 3, 1, 5, 1, 3}},
        Nchw8cConvCase{"WinogradOfTwo", {2, 3, 7, 6}, {64, 3, 3, 1, 1}, {72, 64, 3, 1, 1}},
        Nchw8cConvCase{"WinogradOfTwoNoPads", {1, 3, 9, 8}, {64, 3, 3, 1, 1}, {64, 64, 3}},
        Nchw8cConvCase{"WinogradOfTwoWidePads", {1, 3, 5, 7}, {64, 3, 1}, {64, 64, 3, 1, 2}},
        Nchw8cConvCase{"WinogradStrided", {2, 3, 41, 44}, {64, 3, 3, 1, 1}, {72, 64, 3, 2, 1}},
        Nchw8cConvCase{"WinogradStridedNoPads", {1, 3, 47, 40}, {64, 3, 3, 1, 1}, {64, 64, 3, 2}},
        Nchw8cConvCase{"WinogradStridedWidePads", {1, 3, 44, 39}, {64, 3, 1}, {64, 64, 3, 2, 2}},
        Nchw8cConvCase{"WinogradGrouped", {2, 3, 21, 18}, {64, 3, 3, 1, 1}, {96, 64, 3, 1, 1, 4}},
        Nchw8cConvCase{"WinogradGroupedDilated", {2, 3, 25, 28}, {64, 3, 3, 1, 1}, {64, 64, 3, 1, 2, 2, 2}},
        Nchw8cConvCase{"WinogradGroupedStrided", {2, 3, 49, 46}, {128, 3, 3, 1, 1}, {128, 128, 3, 2, 1, 2}},
        Nchw8cConvCase{"WinogradOfFour", {2, 3, 30, 27}, {64, 3, 3, 1, 1}, {64, 64, 4, 1, 1}},
        Nchw8cConvCase{"WinogradOfFourDilated", {1, 3, 41, 38}, {64, 3, 3, 1, 1}, {64, 64, 4, 1, 6, 1, 2}},
        Nchw8cConvCase{"WinogradOfFourStrided", {2, 3, 42, 39}, {64, 3, 3, 1, 1}, {72, 64, 4, 2, 1}},
        Nchw8cConvCase{"WinogradOfFourStridedNoPads", {1, 3, 41, 44}, {64, 3, 3, 1, 1}, {64, 64, 4, 2, 0}},
        Nchw8cConvCase{"WinogradOfFourStridedWidePads", {1, 3, 37, 40}, {64, 3, 1}, {64, 64, 4, 2, 3}},
        Nchw8cConvCase{"WinogradOfFive", {2, 3, 21, 24}, {64, 3, 3, 1, 1}, {72, 64, 5, 1, 2}},
        Nchw8cConvCase{"WinogradOfFiveNoPads", {1, 3, 23, 20}, {64, 3, 3, 1, 1}, {64, 64, 5}},
        Nchw8cConvCase{"WinogradOfFiveGroupedDilated", {1, 3, 29, 31}, {64, 3, 3, 1, 1}, {64, 64, 5, 1, 7, 2, 2}},
        Nchw8cConvCase{"WinogradOfSeven", {2, 3, 20, 23}, {64, 3, 3, 1, 1}, {64, 64, 7, 1, 3}},
        Nchw8cConvCase{"WinogradOfSevenNoPads", {1, 3, 25, 23}, {32, 3, 3, 1, 1}, {48, 32, 7}},
        Nchw8cConvCase{"WinogradRowOfThree", {2, 3, 22, 29}, {64, 3, 3, 1, 1}, {64, 64, 1, 1, 0, 1, 1, {}, {3, 1}}},
        Nchw8cConvCase{"WinogradColumnOfThree", {2, 3, 27, 22}, {64, 3, 3, 1, 1}, {72, 64, 3, 1, 1, 1, 1, {}, {1, 0}}},
        Nchw8cConvCase{"WinogradRowOfFive", {1, 3, 22, 29}, {64, 3, 3, 1, 1}, {64, 64, 1, 1, 0, 1, 1, {}, {5, 0}}},
        Nchw8cConvCase{"WinogradColumnOfFive", {1, 3, 31, 24}, {64, 3, 3, 1, 1}, {64, 64, 5, 1, 4, 1, 2, {}, {1, 0}}},
        Nchw8cConvCase{"WinogradRowOfSeven", {2, 3, 17, 17}, {64, 3, 3, 1, 1}, {72, 64, 1, 1, 0, 1, 1, {}, {7, 3}}},
        Nchw8cConvCase{"WinogradColumnOfSeven", {2, 3, 19, 17}, {64, 3, 3, 1, 1}, {64, 64, 7, 1, 5, 2, 1, {}, {1, 0}}},
        Nchw8cConvCase{"WinogradAxisForm", {2, 3, 150}, {64, 3, 3, 1, 1}, {64, 64, 3, 1, 2, 1, 2}},
        Nchw8cConvCase{"WinogradLineOfSeven", {2, 3, 170}, {64, 3, 3, 1, 1}, {64, 64, 7, 1, 3}},
        Nchw8cConvCase{"WinogradLineOfThreeStrided", {1, 3, 170}, {64, 3, 3, 1, 1}, {64, 64, 3, 2, 1}},
        Nchw8cConvCase{"WinogradLineOfFive", {1, 3, 201}, {64, 3, 3, 1, 1}, {64, 64, 5, 1, 6, 2, 3}},
        Nchw8cConvCase{"WinogradLineOfEleven", {2, 3, 190}, {64, 3, 3, 1, 1}, {72, 64, 11, 1, 5}},
        Nchw8cConvCase{"WinogradLineOfElevenDilated", {1, 3, 333}, {64, 3, 7, 1, 3}, {64, 64, 11, 1, 28, 1, 3}},
        Nchw8cConvCase{"WinogradLineOfElevenNoPads", {3, 3, 67}, {64, 3, 5, 2, 1}, {64, 64, 11, 1, 0, 2}},
        Nchw8cConvCase{"Line", {2, 3, 41}, {16, 3, 7, 3, 2}, {24, 16, 9, 2, 4}},
        Nchw8cConvCase{"LineDilated", {1, 3, 40}, {16, 3, 3, 1, 1}, {24, 16, 3, 1, 16, 1, 16}},
        Nchw8cConvCase{"LineGrouped", {2, 3, 33}, {32, 3, 3, 1, 1}, {48, 32, 3, 1, 1, 2}},
        Nchw8cConvCase{"LineDepthwise", {2, 3, 77}, {16, 3, 3, 1, 1}, {16, 16, 31, 1, 15, 16}},
        Nchw8cConvCase{"LineOfOnePixel", {2, 3, 1}, {16, 3, 1}, {24, 16, 3, 1, 1}},
        Nchw8cConvCase{"SmallImage", {1, 3, 5, 5}, {64, 3, 1}, {72, 64, 3, 1, 1}},
        Nchw8cConvCase{"Strided", {1, 3, 31, 30}, {16, 3, 3, 1, 1}, {24, 16, 3, 2, 1}},
        Nchw8cConvCase{"Dilated", {1, 3, 19, 23}, {16, 3, 3, 1, 1}, {32, 16, 3, 1, 4, 1, 4}},
        Nchw8cConvCase{"Grouped", {2, 3, 9, 9}, {32, 3, 3, 1, 1}, {48, 32, 3, 1, 1, 2}},
        Nchw8cConvCase{"GroupsOfHalfABlock", {1, 3, 17, 13}, {32, 3, 3, 1, 1}, {32, 32, 3, 1, 1, 8}},
        Nchw8cConvCase{"GroupsOfAQuarter", {1, 3, 11, 13}, {16, 3, 3, 1, 1}, {32, 16, 3, 2, 1, 8}},
        Nchw8cConvCase{"GroupsThatWiden", {2, 3, 9, 8}, {16, 3, 3, 1, 1}, {64, 16, 3, 1, 1, 4}},
        Nchw8cConvCase{"Depthwise", {2, 3, 19, 23}, {24, 3, 3, 1, 1}, {24, 24, 3, 1, 1, 24}},
        Nchw8cConvCase{"DepthwiseStrided", {1, 3, 18, 23}, {16, 3, 3, 1, 1}, {16, 16, 5, 2, 2, 16}},
        Nchw8cConvCase{"DepthwiseWide", {1, 3, 6, 5}, {8, 3, 3, 1, 1}, {8, 8, 7, 1, 3, 8}},
        Nchw8cConvCase{"DepthwiseOfSeven", {2, 3, 23, 30}, {16, 3, 3, 1, 1}, {16, 16, 7, 1, 3, 16}},
        Nchw8cConvCase{"DepthwiseOfSevenNoPads", {1, 3, 20, 21}, {16, 3, 3, 1, 1}, {16, 16, 7, 1, 0, 16}},
        Nchw8cConvCase{"DepthwiseOfSevenStrided", {2, 3, 22, 31}, {16, 3, 3, 1, 1}, {16, 16, 7, 2, 3, 16}},
        Nchw8cConvCase{"DepthwiseOfSevenWidePads", {1, 3, 12, 9}, {8, 3, 3, 1, 1}, {8, 8, 7, 1, 6, 8}},
        Nchw8cConvCase{"DepthwiseOfFiveDilated", {1, 3, 29, 24}, {8, 3, 3, 1, 1}, {8, 8, 5, 1, 6, 8, 3}},
        Nchw8cConvCase{"DepthwiseDilatedWidePads", {1, 3, 9, 11}, {8, 3, 3, 1, 1}, {8, 8, 3, 1, 7, 8, 4}},
        Nchw8cConvCase{"StepsOfNine", {1, 3, 15, 18}, {24, 3, 9, 1, 4}, {16, 24, 1}},
        Nchw8cConvCase{"StepsOfSix", {1, 3, 26, 31}, {24, 3, 6, 2, 2}, {16, 24, 1}},
        Nchw8cConvCase{"StepsOfEleven", {1, 3, 35, 31}, {24, 3, 11, 4, 2}, {16, 24, 1}},
        Nchw8cConvCase{"StepsOfFour", {2, 3, 20, 24}, {24, 3, 4, 2, 1}, {16, 24, 1}},
        Nchw8cConvCase{"StepsOfSixteen", {2, 3, 32, 48}, {24, 3, 16, 16}, {16, 24, 1}},
        Nchw8cConvCase{"StepsOfFourteen", {1, 3, 42, 29}, {40, 3, 14, 14}, {16, 40, 1}},
        Nchw8cConvCase{"DepthwiseOfSevens", {1, 3, 15, 14}, {16, 3, 3, 1, 1}, {16, 16, 5, 1, 2, 16}},
        Nchw8cConvCase{"DepthwiseNarrow", {1, 3, 4, 3}, {8, 3, 3, 1, 1}, {8, 8, 5, 2, 2, 8}},
        Nchw8cConvCase{"DepthwisePadded", {1, 3, 9, 11}, {8, 3, 3, 1, 1}, {8, 8, 3, 1, 4, 8}},
        Nchw8cConvCase{"DepthwisePaddedStrided", {1, 3, 9, 10}, {8, 3, 3, 1, 1}, {8, 8, 5, 2, 6, 8}},
        Nchw8cConvCase{"DepthwiseDilated", {1, 3, 14, 15}, {8, 3, 3, 1, 1}, {8, 8, 3, 1, 2, 8, 2}},
        Nchw8cConvCase{"Volume", {2, 3, 5, 9, 11}, {16, 3, 3, 1, 1, 1, 1, {3, 1, 1}}, {24, 16, 3, 2, 1, 1, 1, {3, 2, 1}}},
        Nchw8cConvCase{"VolumeOfSlices", {2, 3, 4, 9, 10}, {16, 3, 7, 2, 3}, {32, 16, 1, 1, 0, 1, 1, {3, 1, 1}}},
        Nchw8cConvCase{"VolumeOfSlicesStrided", {1, 3, 9, 6, 7}, {16, 3, 3, 1, 1}, {32, 16, 1, 2, 0, 1, 1, {3, 2, 2, 2}}},
        Nchw8cConvCase{"VolumeWinograd", {2, 3, 5, 25, 23}, {64, 3, 3, 1, 1}, {64, 64, 3, 1, 1}},
        Nchw8cConvCase{"VolumeWinogradDeep", {1, 3, 6, 22, 26}, {32, 3, 3, 1, 1}, {32, 32, 3, 1, 1, 1, 1, {3, 2, 2, 2}}},
        Nchw8cConvCase{"VolumeWinogradStrided", {2, 3, 5, 38, 41}, {64, 3, 3, 1, 1}, {64, 64, 3, 2, 1}},
        Nchw8cConvCase{"VolumeWinogradOfTwoGrouped", {2, 3, 4, 7, 8}, {64, 3, 3, 1, 1}, {64, 64, 3, 1, 1, 2}},
        Nchw8cConvCase{"VolumeDilated", {1, 3, 5, 17, 13}, {16, 3, 3, 1, 1}, {32, 16, 3, 1, 4, 1, 4, {3, 1, 2, 2}}},
        Nchw8cConvCase{"VolumeGrouped", {1, 3, 5, 9, 9}, {32, 3, 3, 1, 1}, {32, 32, 3, 1, 1, 8, 1, {3, 1, 1}}},
        Nchw8cConvCase{"VolumeDepthwise", {2, 3, 6, 9, 14}, {16, 3, 3, 1, 1}, {16, 16, 3, 1, 1, 16, 1, {3, 1, 1}}},
        Nchw8cConvCase{"VolumeDepthwiseFlat", {1, 3, 3, 9, 11}, {16, 3, 3, 1, 1}, {16, 16, 3, 2, 1, 16, 1, {1, 2, 1}}},
        Nchw8cConvCase{"VolumeOfPadding", {1, 3, 2, 7, 7}, {16, 3, 3, 1, 1}, {16, 16, 3, 1, 1, 1, 1, {1, 1, 3}}}),
    [](const auto& info) { return info.param.name; });

TEST(UseNchw8c, TakesShortcutsInAndLeavesPlainOutputs) {
  FloatNetwork network({2, 3, 16, 18});
  const std::string a = network.Op("Relu", {network.Conv("x", {32, 3, 3, 2, 1})});
  const std::string b = network.Conv(a, {32, 32, 1});
  const std::string c = network.Op("Relu", {network.Op("Add", {b, a})});
  const std::string d = network.Op("Add", {network.Conv(c, {32, 32, 3, 1, 1}), network.Conv(c, {32, 32, 1})});
  const std::string e = network.Conv(d, {32, 32, 3, 1, 1, 32});
  const auto operators = Compare(network, {network.Op("Add", {c, e}), d}, {2, 3, 16, 18});
  if (!Blocks(operators)) return;
  EXPECT_FALSE(operators.contains("Add"));
  EXPECT_FALSE(operators.contains("Relu"));
  EXPECT_EQ(operators.count("FromNchw8c"), 2u);
}

TEST(UseNchw8c, ComputesWhatLiesBetween) {
  FloatNetwork network({2, 3, 21, 19});
  const std::string a = network.Conv("x", {16, 3, 3, 1, 1});
  const std::string b = network.Pool("MaxPool", a, 3, 2, 1);
  const std::string c =
      network.Op("Relu", {network.Op("BatchNormalization", {b, network.Constant({16}), network.Constant({16}),
                                                            network.Constant({16}), network.Constant({16})})});
  const std::string d = network.Op("Concat", {network.Conv(c, {24, 16, 1}), b, network.Pool("AveragePool", c, 3, 1, 1)});
  const std::string e = network.Op("Mul", {d, network.Constant({1, 56, 1, 1})});
  const std::string gate = network.Op("Sigmoid", {network.Conv(network.Op("GlobalAveragePool", {e}), {56, 56, 1})});
  const std::string f = network.Op("Tanh", {network.Op("Mul", {gate, e})});
  const std::string g = network.Pool("AveragePool", network.Conv(f, {32, 56, 3, 1, 1}), 3, 2, 1, false, true);
  const std::string h = network.Pool("AveragePool", g, 2, 2, 0, true);
  const auto operators = Compare(network, {network.Conv(h, {16, 32, 1}), h}, {2, 3, 21, 19});
  if (!Blocks(operators)) return;
  for (const std::string gone : {"MaxPool", "AveragePool", "BatchNormalization", "GlobalAveragePool", "ToNchw8c"}) {
    EXPECT_FALSE(operators.contains(gone)) << gone;
  }
  EXPECT_TRUE(operators.contains("Nchw8cScale"));
}

/// What com.microsoft has of elementwise operators, too.
TEST(UseNchw8c, ComputesContributedActivations) {
  FloatNetwork network({2, 3, 21, 19});
  const std::string quick = network.Node("QuickGelu", {network.Conv("x", {16, 3, 3, 1, 1})}, 1,
                                         [](onnx::NodeProto& node) { node.set_domain("com.microsoft"); })[0];
  const auto operators = Compare(network, {network.Conv(quick, {32, 16, 3, 1, 1})}, {2, 3, 21, 19});
  if (!Blocks(operators)) return;
  EXPECT_TRUE(operators.contains("QuickGelu"));
  EXPECT_FALSE(operators.contains("ToNchw8c"));
  EXPECT_EQ(operators.count("FromNchw8c"), 1u);
}

TEST(UseNchw8c, ComputesWhatLiesBetweenLines) {
  FloatNetwork network({2, 3, 150});
  const std::string a = network.Conv("x", {16, 3, 7, 2, 3});
  const std::string b = network.Pool("MaxPool", a, 3, 2, 1);
  const std::string c =
      network.Op("Relu", {network.Op("BatchNormalization", {b, network.Constant({16}), network.Constant({16}),
                                                            network.Constant({16}), network.Constant({16})})});
  const std::string d = network.Op("Concat", {network.Conv(c, {24, 16, 1}), b, network.Pool("AveragePool", c, 3, 1, 1)});
  const std::string e = network.Op("Mul", {d, network.Constant({1, 56, 1})});
  const std::string gate = network.Op("Sigmoid", {network.Conv(network.Op("GlobalAveragePool", {e}), {56, 56, 1})});
  const std::string f = network.Op("Tanh", {network.Op("Mul", {gate, e})});
  const std::string g = network.GroupNorm(network.Conv(f, {32, 56, 5, 1, 2}), 4, 32);
  const auto operators = Compare(network, {network.Conv(g, {16, 32, 1}), g}, {2, 3, 150});
  if (!Blocks(operators)) return;
  for (const std::string gone : {"MaxPool", "AveragePool", "BatchNormalization", "GlobalAveragePool", "ToNchw8c"}) {
    EXPECT_FALSE(operators.contains(gone)) << gone;
  }
  EXPECT_TRUE(operators.contains("Nchw8cScale"));
}

TEST(UseNchw8c, ComputesWhatLiesBetweenVolumes) {
  FloatNetwork network({2, 3, 8, 13, 11});
  const std::string a = network.Conv("x", {16, 3, 3, 1, 1, 1, 1, {3, 1, 1}});
  const std::string b = network.Pool("MaxPool", a, 3, 2, 1);
  const std::string c =
      network.Op("Relu", {network.Op("BatchNormalization", {b, network.Constant({16}), network.Constant({16}),
                                                            network.Constant({16}), network.Constant({16})})});
  const std::string d = network.Op("Concat", {network.Conv(c, {24, 16, 1}), b, network.Pool("AveragePool", c, 3, 1, 1)});
  const std::string e = network.Op("Mul", {d, network.Constant({1, 56, 1, 1, 1})});
  const std::string gate = network.Op("Sigmoid", {network.Conv(network.Op("GlobalAveragePool", {e}), {56, 56, 1})});
  const std::string f = network.Op("Tanh", {network.Op("Mul", {gate, e})});
  const std::string g = network.Pool("AveragePool", network.Conv(f, {32, 56, 3, 1, 1}), 3, 2, 1, false, true);
  const auto operators = Compare(network, {network.Conv(g, {16, 32, 1}), g}, {2, 3, 8, 13, 11});
  if (!Blocks(operators)) return;
  for (const std::string gone : {"MaxPool", "AveragePool", "BatchNormalization", "GlobalAveragePool", "ToNchw8c"}) {
    EXPECT_FALSE(operators.contains(gone)) << gone;
  }
  EXPECT_TRUE(operators.contains("Nchw8cScale"));
}

TEST(UseNchw8c, EntersWhilePadding) {
  const std::vector<int64_t> image = {2, 32, 21, 19}, volume = {2, 32, 5, 9, 7};
  const auto entries = [](const std::vector<int64_t>& input, std::initializer_list<Nchw8cConvSpec> readers) {
    FloatNetwork network(input);
    std::vector<std::string> results;
    for (const Nchw8cConvSpec& spec : readers) results.push_back(network.Conv("x", spec));
    const auto operators = Compare(network, results, Shape(input));
    return Blocks(operators) ? std::optional(operators.count("ToNchw8c")) : std::nullopt;
  };
  const auto expect = [&](size_t count, const std::vector<int64_t>& input, std::initializer_list<Nchw8cConvSpec> readers) {
    EXPECT_EQ(entries(input, readers).value_or(count), count)
        << input.size() << " axes, " << readers.begin()->kernel << " wide";
  };
  expect(0, image, {{64, 32, 3, 2, 1}});
  expect(0, image, {{64, 32, 5, 1, 2}});
  expect(0, image, {{64, 32, 5, 3, 3, 2}});
  expect(0, volume, {{64, 32, 3, 2, 1, 1, 1, {3, 2, 1}}});
  expect(1, image, {{64, 32, 3, 2, 1}, {64, 32, 3, 2, 1}});        // both read the blocks
  expect(1, image, {{64, 32, 3, 2, 1, 1, 2}, {32, 32, 3, 1, 1}});  // neither pads
}

TEST(UseNchw8c, NormalizesGroups) {
  for (const bool volume : {false, true}) {
    const std::vector<int64_t> input = volume ? std::vector<int64_t>{2, 3, 4, 13, 11} : std::vector<int64_t>{2, 3, 29, 23};
    FloatNetwork network(input);
    std::string last = network.Conv("x", {32, 3, 3, 1, 1});
    for (const int64_t groups : {32, 16, 4, 2, 1}) {
      last = network.Op("Sigmoid", {network.GroupNorm(last, groups, 32)});
      last = network.Conv(last, {32, 32, 3, 1, 1});
    }
    const auto operators = Compare(network, {last}, Shape(input));
    if (!Blocks(operators)) return;
    EXPECT_EQ(operators.count("Nchw8cGroupNormalization"), 5u);
    EXPECT_FALSE(operators.contains("ToNchw8c"));
  }
}

TEST(UseNchw8c, FillsBlocksBetweenConvolutions) {
  FloatNetwork network({2, 3, 24, 20});
  const std::string a = network.Op("Sigmoid", {network.Conv("x", {61, 3, 3, 1, 1})});
  const std::string b = network.Pool("MaxPool", network.Op("Relu", {network.Conv(a, {46, 61, 3, 1, 1})}), 3, 2, 1);
  const std::string c = network.Op("Add", {network.Conv(b, {64, 46, 3, 1, 1}), network.Conv(b, {64, 46, 1})});
  const auto operators = Compare(network, {network.Conv(c, {61, 64, 1})}, {2, 3, 24, 20});
  if (!Blocks(operators)) return;
  EXPECT_EQ(operators.count("Nchw8cConv"), 4u);  // an output keeps its channels
}

/// Heads of detectors: counts of outputs that leave every place of a last block empty, and one block alone.
TEST(UseNchw8c, FillsTheLastBlockOfHeads) {
  for (const int64_t outputs : {5, 6, 7, 12, 13, 15, 17, 63}) {
    SCOPED_TRACE(outputs);
    for (const bool symbolic : {false, true}) {
      const int64_t side = symbolic ? -1 : 21;
      FloatNetwork network({symbolic ? -1 : 2, 64, side, side});
      const std::string a = network.Op("Relu", {network.Conv("x", {64, 64, 3, 1, 1})});
      const std::string b = network.Conv(a, {outputs, 64, 3, 1, 1}), strided = network.Conv(a, {outputs, 64, 3, 2, 1});
      // Others read the same outputs: element by element, as a mean, and as an image.
      const auto operators = Compare(network,
                                     {b, strided, network.Op("Tanh", {b}), network.Op("GlobalAveragePool", {b}),
                                      network.Op("Add", {network.Op("Abs", {b}), b}), network.Conv(b, {9, outputs, 1})},
                                     {2, 64, 21, 21});
      if (!Blocks(operators)) return;
      EXPECT_EQ(operators.count("Nchw8cConv"), 3u);
      EXPECT_EQ(operators.count("FromNchw8c"), 2u);
    }
  }
}

/// Of windows that Winograd's transform takes fewer outputs are enough.
TEST(UseNchw8c, FillsTheLastBlockOfTransforms) {
  struct Case {
    int64_t outputs, window, stride;
    bool fills;
  };
  for (const Case& c :
       {Case{4, 3, 1, true}, Case{3, 3, 1, false}, Case{9, 3, 1, true}, Case{4, 3, 2, false}, Case{9, 3, 2, false},
        Case{9, 5, 1, true}, Case{4, 5, 1, false}, Case{9, 7, 1, true}, Case{9, 9, 1, false}}) {
    SCOPED_TRACE(::testing::Message() << c.outputs << " outputs of " << c.window << ", stride " << c.stride);
    FloatNetwork network({2, 64, 29, 31});
    const std::string a = network.Op("Relu", {network.Conv("x", {64, 64, 3, 1, 1})});
    const auto operators =
        Compare(network, {network.Conv(a, {c.outputs, 64, c.window, c.stride, c.window / 2})}, {2, 64, 29, 31});
    if (!Blocks(operators)) return;
    EXPECT_EQ(operators.count("Nchw8cConv"), c.fills ? 2u : 1u);
  }
}

TEST(UseNchw8c, FillsTheLastBlockOfVolumes) {
  FloatNetwork network({2, 64, 5, 9, 11});
  const std::string a = network.Conv("x", {64, 64, 3, 1, 1, 1, 1, {3, 1, 1}});
  const auto operators = Compare(network, {network.Conv(a, {21, 64, 3, 1, 1, 1, 1, {3, 1, 1}})}, {2, 64, 5, 9, 11});
  if (!Blocks(operators)) return;
  EXPECT_EQ(operators.count("Nchw8cConv"), 2u);
}

TEST(UseNchw8c, LeavesOutputsThatWouldBeMostlyZeros) {
  FloatNetwork network({1, 64, 21, 21});
  const std::string a = network.Conv("x", {64, 64, 3, 1, 1});
  const auto operators =
      Compare(network, {network.Conv(a, {3, 64, 3, 1, 1}), network.Conv(a, {12, 64, 1})}, {1, 64, 21, 21});
  if (!Blocks(operators)) return;
  EXPECT_EQ(operators.count("Nchw8cConv"), 1u);
}

TEST(UseNchw8c, LeavesWhatDoesNotDivideOrPay) {
  FloatNetwork odd({1, 3, 12, 12});
  const std::string a = odd.Conv("x", {20, 3, 3, 1, 1});
  EXPECT_FALSE(Blocks(Compare(odd, {odd.Conv(a, {20, 20, 3, 1, 1})}, {1, 3, 12, 12})));
  FloatNetwork lone({1, 32, 12, 12});
  EXPECT_FALSE(Blocks(Compare(lone, {lone.Conv("x", {32, 32, 1})}, {1, 32, 12, 12})));
}

TEST(UseNchw8c, LeavesConvolutionsWithoutOutputs) {
  FloatNetwork network({1, 3, 12, 12});
  const std::string a = network.Conv("x", {64, 3, 3, 1, 1});
  const auto operators = Compare(network, {network.Conv(a, {64, 64, 1}), network.Conv(a, {0, 64, 1})}, {1, 3, 12, 12});
  EXPECT_EQ(operators.count("Conv"), Blocks(operators) ? 1u : 3u);
}

TEST(UseNchw8c, LeavesGroupsThatTheKernelRefuses) {
  for (const int64_t group : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    FloatNetwork network({1, 64, 12, 12});
    ModelBuilder model = network.Finish({network.Conv("x", {64, 64, 3, 1, 1})});
    model.proto().mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_i(group);
    EXPECT_EQ(Rewriting(model, {"use_nchw8c"}).after(), "Conv");
  }
}

TEST(UseNchw8c, MovesForOneConvolutionThatComputesMuch) {
  FloatNetwork network({1, 64, 12, 12});
  FloatNetwork probe({1, 3, 12, 12});  // whether this machine computes in blocks at all
  const std::string a = probe.Conv("x", {64, 3, 3, 1, 1});
  if (!Blocks(Compare(probe, {probe.Conv(a, {64, 64, 1})}, {1, 3, 12, 12}))) return;
  EXPECT_TRUE(Blocks(Compare(network, {network.Conv("x", {64, 64, 3, 1, 1})}, {1, 64, 12, 12})));
  // Few outputs of a window pay as well: without blocks their inputs are gathered.
  FloatNetwork head({1, 64, 12, 12}), pixel({1, 64, 12, 12});
  EXPECT_TRUE(Blocks(Compare(head, {head.Conv("x", {12, 64, 3, 1, 1})}, {1, 64, 12, 12})));
  EXPECT_FALSE(Blocks(Compare(pixel, {pixel.Conv("x", {64, 64, 1})}, {1, 64, 12, 12})));
  // A first convolution reads the image as it is: only its output moves. An odd block would fill half of a long vector.
  FloatNetwork first({1, 3, 24, 24}), odd({1, 3, 24, 24});
  EXPECT_TRUE(Blocks(Compare(first, {first.Conv("x", {16, 3, 7, 2, 3})}, {1, 3, 24, 24})));
  EXPECT_FALSE(Blocks(Compare(odd, {odd.Conv("x", {24, 3, 7, 2, 3})}, {1, 3, 24, 24})));
  // Depthwise: large windows, and those that leave elements out. One alone is brought into blocks and out of them by Conv
  // itself.
  const auto moves = [](const Nchw8cConvSpec& spec, int64_t width) {
    FloatNetwork alone({1, 32, 12, width}), two({1, 32, 12, width});
    EXPECT_FALSE(Blocks(Compare(alone, {alone.Conv("x", spec)}, {1, 32, 12, width})));
    const std::string first = two.Conv("x", spec);
    return Blocks(Compare(two, {two.Conv(first, spec)}, {1, 32, 12, width}));
  };
  EXPECT_TRUE(moves({32, 32, 7, 1, 3, 32}, 70));
  EXPECT_TRUE(moves({32, 32, 3, 1, 2, 32, 2}, 12));
  EXPECT_TRUE(moves({32, 32, 3, 2, 3, 32, 3}, 70));
  EXPECT_FALSE(moves({32, 32, 3, 1, 2, 32, 2}, 70));
  EXPECT_FALSE(moves({32, 32, 5, 1, 2, 32}, 12));
}

}  // namespace
}  // namespace tessera::testing
