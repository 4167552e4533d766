// Transposed convolutions on images in blocks of channels, against the same without the optimizer.

#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <set>

#include "attributes.h"
#include "optimizer/float_network.h"
#include "optimizer/rewriting.h"
#include "waves.h"

namespace tessera::testing {
namespace {

using Sizes = std::vector<int64_t>;

struct TransposedSpec {
  int64_t outputs, channels;
  Sizes kernel, strides, pads;  // pads: before, or before and after
  Sizes output_padding = {}, output_shape = {};
  std::string auto_pad = {};
  int64_t group = 1;
  Sizes dilations = {};
};

/// A model of images, node by node; `x` is its input.
class Generator {
 public:
  explicit Generator(Sizes input) : rank_(input.size()), model_(17) {
    model_.Input("x", ElementType::kFloat, std::move(input));
  }

  std::string Conv(const std::string& from, int64_t outputs, int64_t channels, int64_t side) {
    Sizes shape = {outputs, channels};
    shape.resize(rank_, side);
    const std::string name = Weights(shape, outputs, outputs);
    Ints(model_.Node("Conv", {from, name + "w", name + "b"}, {name}), "pads", Sizes(2 * (rank_ - 2), side / 2));
    return name;
  }

  std::string Transposed(const std::string& from, const TransposedSpec& spec) {
    Sizes shape = {spec.channels, spec.outputs / spec.group};
    shape.insert(shape.end(), spec.kernel.begin(), spec.kernel.end());
    const std::string name = Weights(shape, spec.outputs, spec.channels);
    auto& node = model_.Node("ConvTranspose", {from, name + "w", name + "b"}, {name});
    Sizes pads = spec.pads;
    if (pads.size() == spec.kernel.size()) pads.insert(pads.end(), spec.pads.begin(), spec.pads.end());
    Ints(node, "strides", spec.strides);
    if (!pads.empty()) Ints(node, "pads", pads);
    if (!spec.output_padding.empty()) Ints(node, "output_padding", spec.output_padding);
    if (!spec.output_shape.empty()) Ints(node, "output_shape", spec.output_shape);
    if (!spec.auto_pad.empty()) Text(node, "auto_pad", spec.auto_pad);
    if (!spec.dilations.empty()) Ints(node, "dilations", spec.dilations);
    if (spec.group > 1) Int(node, "group", spec.group);
    return name;
  }

  std::string Op(const std::string& type, std::initializer_list<std::string> from) {
    const std::string name = Name();
    auto& node = model_.Node(type, from, {name});
    if (type == "Concat") Int(node, "axis", 1);
    return name;
  }

  std::string BatchNormalization(const std::string& from, int64_t channels) {
    const std::string name = Name();
    for (const char* input : {"s", "o", "m", "v"}) {
      std::vector<float> values = Waves(channels, 0.9f, 0.4f);
      for (float& value : values) value += 1;  // a variance, or a factor
      model_.Floats(name + input, {channels}, values);
    }
    model_.Node("BatchNormalization", {from, name + "s", name + "o", name + "m", name + "v"}, {name});
    return name;
  }

  ModelBuilder& Finish(const std::vector<std::string>& outputs) {
    for (const std::string& output : outputs) model_.Output(output, ElementType::kFloat, Sizes(rank_, -1));
    return model_;
  }

 private:
  /// A name for a node whose weights and biases are there.
  std::string Weights(const Sizes& shape, int64_t outputs, int64_t summed) {
    const std::string name = Name();
    const int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    model_.Floats(name + "w", shape, Waves(count, 0.37f, 2 / std::sqrt(static_cast<float>(summed))));
    model_.Floats(name + "b", {outputs}, Waves(outputs, 1.1f, 0.2f));
    return name;
  }

  std::string Name() { return "v" + std::to_string(count_++); }

  size_t rank_;
  ModelBuilder model_;
  int count_ = 0;
};

/// The operators that are left, none where this machine's vectors hold no block; results are the same without the
/// optimizer.
std::optional<std::multiset<std::string>> Compare(Generator& network, const std::vector<std::string>& outputs,
                                                  const Shape& shape) {
  const std::multiset<std::string> operators = CompareLevels(network.Finish(outputs), outputs, shape);
  return Blocks(operators) ? std::optional(operators) : std::nullopt;
}

struct TransposedCase {
  std::string name;
  Sizes input;
  TransposedSpec spec;
  bool blocks = true;  // whether it is computed so
};

class Nchw8cTransposed : public ::testing::TestWithParam<TransposedCase> {};

TEST_P(Nchw8cTransposed, GivesTheSameResults) {
  const TransposedCase& c = GetParam();
  for (const std::string activation : {"", "Relu", "LeakyRelu", "Sigmoid", "Tanh"}) {
    for (const bool symbolic : {false, true}) {
      SCOPED_TRACE(activation + (symbolic ? " symbolic" : ""));
      Sizes open(c.input.size(), -1);
      open[1] = c.input[1];
      Generator network(symbolic ? open : c.input);
      std::string last =
          network.Transposed(network.Op("Relu", {network.Conv("x", c.spec.channels, c.input[1], 3)}), c.spec);
      if (!activation.empty()) last = network.Op(activation, {last});
      const auto operators = Compare(network, {network.Conv(last, 16, c.spec.outputs, 1)}, Shape(c.input));
      if (!operators) return;
      const bool known = !symbolic || c.spec.output_shape.empty();  // pads follow from both
      EXPECT_EQ(operators->count("Nchw8cConvTranspose"), c.blocks && known ? 1u : 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Nchw8cTransposed,
    ::testing::Values(
        TransposedCase{"Four", {2, 8, 9, 12}, {32, 64, {4, 4}, {2, 2}, {1, 1}}},
        TransposedCase{"FourOfOddBlocks", {1, 8, 16, 15}, {40, 24, {4, 4}, {2, 2}, {1, 1}}},
        TransposedCase{"FourOfOneRow", {2, 8, 1, 5}, {16, 32, {4, 4}, {2, 2}, {1, 1}}},
        TransposedCase{"FourOfOnePixel", {2, 8, 1, 1}, {16, 32, {4, 4}, {2, 2}, {1, 1}}},
        TransposedCase{"FourOfFewPixels", {1, 8, 2, 2}, {72, 256, {4, 4}, {2, 2}, {1, 1}}},
        TransposedCase{"FourOutputPadding", {2, 8, 7, 9}, {32, 64, {4, 4}, {2, 2}, {1, 1}, {1, 0}}},
        TransposedCase{"FourUnequalPads", {1, 8, 8, 11}, {32, 64, {4, 4}, {2, 2}, {1, 1, 0, 2}}},
        TransposedCase{"FourSame", {1, 8, 8, 11}, {32, 64, {4, 4}, {2, 2}, {}, {}, {}, "SAME_UPPER"}},
        TransposedCase{"FourOutputShape", {1, 8, 8, 11}, {32, 64, {4, 4}, {2, 2}, {}, {}, {17, 22}}},
        TransposedCase{"FourNoPads", {1, 8, 8, 11}, {32, 64, {4, 4}, {2, 2}, {0, 0}}, false},
        TransposedCase{"FourWidePads", {1, 8, 8, 11}, {32, 64, {4, 4}, {2, 2}, {3, 3}}, false},
        TransposedCase{"FourPadsDiffer", {1, 8, 8, 11}, {32, 64, {4, 4}, {2, 2}, {1, 2}}, false},
        TransposedCase{"FourDilated", {1, 8, 8, 11}, {32, 64, {4, 4}, {2, 2}, {1, 1}, {}, {}, "", 1, {2, 2}}, false},
        TransposedCase{"FourGrouped", {1, 8, 8, 11}, {32, 64, {4, 4}, {2, 2}, {1, 1}, {}, {}, "", 2}, false},
        TransposedCase{"FourUnitStride", {1, 8, 8, 11}, {32, 64, {4, 4}, {1, 1}, {1, 1}}, false},
        TransposedCase{"Three", {2, 8, 9, 12}, {32, 64, {3, 3}, {2, 2}, {1, 1}, {1, 1}}},
        TransposedCase{"ThreeNoOutputPadding", {2, 8, 11, 10}, {24, 64, {3, 3}, {2, 2}, {1, 1}}},
        TransposedCase{"ThreeOfFewPixels", {1, 8, 2, 1}, {72, 256, {3, 3}, {2, 2}, {1, 1}, {1, 1}}},
        TransposedCase{"ThreeOfOnePixel", {2, 8, 1, 1}, {16, 32, {3, 3}, {2, 2}, {1, 1}}},
        TransposedCase{"ThreeNoPads", {2, 8, 8, 11}, {32, 64, {3, 3}, {2, 2}, {0, 0}}},
        TransposedCase{"ThreeSameUpper", {1, 8, 7, 10}, {24, 64, {3, 3}, {2, 2}, {}, {}, {}, "SAME_UPPER"}},
        TransposedCase{"ThreeNoPadsOfFewPixels", {1, 8, 1, 2}, {72, 256, {3, 3}, {2, 2}, {0, 0}}},
        TransposedCase{"ThreePadsDiffer", {1, 8, 8, 11}, {32, 64, {3, 3}, {2, 2}, {0, 1}}, false},
        TransposedCase{"ThreeWidePads", {1, 8, 8, 11}, {32, 64, {3, 3}, {2, 2}, {2, 2}}, false},
        TransposedCase{"Five", {2, 8, 9, 6}, {32, 64, {5, 5}, {2, 2}, {2, 2}, {1, 1}}},
        TransposedCase{"FiveNoOutputPadding", {1, 8, 4, 7}, {24, 64, {5, 5}, {2, 2}, {2, 2}}},
        TransposedCase{"FiveSame", {2, 8, 8, 11}, {32, 64, {5, 5}, {2, 2}, {}, {}, {}, "SAME_UPPER"}},
        TransposedCase{"FiveOfOnePixel", {1, 8, 1, 1}, {16, 32, {5, 5}, {2, 2}, {1, 1, 2, 2}}},
        TransposedCase{"FiveNoPads", {1, 8, 8, 11}, {32, 64, {5, 5}, {2, 2}, {0, 0}}, false},
        TransposedCase{"ThreeSameLower", {1, 8, 8, 11}, {32, 64, {3, 3}, {2, 2}, {}, {}, {}, "SAME_LOWER"}},
        TransposedCase{"Two", {2, 8, 9, 12}, {32, 64, {2, 2}, {2, 2}, {0, 0}}},
        TransposedCase{"TwoOfOddBlocks", {2, 8, 5, 7}, {24, 40, {2, 2}, {2, 2}, {0, 0}}},
        TransposedCase{"TwoCropped", {1, 8, 5, 7}, {16, 32, {2, 2}, {2, 2}, {0, 0, 1, 0}}},
        TransposedCase{"TwoPadded", {1, 8, 5, 7}, {16, 32, {2, 2}, {2, 2}, {1, 1}}, false},
        TransposedCase{"TwoOutputPadding", {1, 8, 5, 7}, {16, 32, {2, 2}, {2, 2}, {0, 0}, {1, 1}}},
        TransposedCase{"TwoWideStride", {1, 8, 5, 7}, {16, 32, {2, 2}, {3, 3}, {0, 0}}, false},
        TransposedCase{"Spread", {2, 8, 6, 7}, {24, 32, {4, 4}, {4, 4}, {0, 0}}},
        TransposedCase{"Uneven", {1, 8, 8, 11}, {32, 64, {4, 2}, {2, 2}, {1, 0}}, false},
        TransposedCase{"Volume", {2, 8, 3, 7, 6}, {16, 32, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}}},
        TransposedCase{"VolumeOfFour", {1, 8, 3, 5, 9}, {16, 32, {4, 4, 4}, {2, 2, 2}, {1, 1, 1}}},
        TransposedCase{"VolumeOfThree", {2, 8, 4, 5, 6}, {24, 32, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}}},
        TransposedCase{"VolumeOfFive", {1, 8, 3, 5, 6}, {16, 32, {5, 5, 5}, {2, 2, 2}, {2, 2, 2}, {1, 1, 1}}},
        TransposedCase{"VolumeOfSlices", {1, 8, 3, 6, 5}, {16, 32, {1, 4, 4}, {1, 2, 2}, {0, 1, 1}}},
        TransposedCase{"VolumeApart", {1, 8, 3, 6, 5}, {16, 32, {2, 2, 2}, {3, 2, 2}, {1, 0, 0}}}),
    [](const auto& info) { return info.param.name; });

TEST(Nchw8cTransposedTest, TakesInNormalizationShortcutAndActivation) {
  const TransposedSpec doubles{32, 64, {4, 4}, {2, 2}, {1, 1}}, small{32, 64, {2, 2}, {2, 2}, {0, 0}},
      others{24, 64, {2, 2}, {2, 2}, {0, 0}};
  Generator network({2, 3, 7, 9});
  const std::string a = network.Op("Relu", {network.Conv("x", 64, 3, 3)});
  const std::string b = network.BatchNormalization(network.Transposed(a, small), 32), c = network.Transposed(a, doubles);
  const std::string d = network.Op("Relu", {network.Op("Add", {b, c})});
  const auto operators =
      Compare(network, {network.Conv(network.Op("Concat", {d, network.Transposed(a, others)}), 16, 56, 3)}, {2, 3, 7, 9});
  if (!operators) return;
  EXPECT_EQ(operators->count("Nchw8cConvTranspose"), 3u);
  for (const std::string gone : {"Add", "Relu", "BatchNormalization", "ToNchw8c"})
    EXPECT_FALSE(operators->contains(gone)) << gone;
}

TEST(Nchw8cTransposedTest, FillsTheLastBlock) {
  for (const int64_t outputs : {5, 21, 61}) {
    SCOPED_TRACE(outputs);
    Generator network({2, 8, 7, 9});
    const std::string a = network.Op("Relu", {network.Conv("x", 64, 8, 3)});
    const std::string b = network.Op("Relu", {network.Transposed(a, {outputs, 64, {4, 4}, {2, 2}, {1, 1}})});
    const auto operators = Compare(network, {b, network.Op("Tanh", {b})}, {2, 8, 7, 9});
    if (!operators) return;
    EXPECT_EQ(operators->count("Nchw8cConvTranspose"), 1u);
  }
}

TEST(Nchw8cTransposedTest, LeavesOutputsThatWouldBeMostlyZeros) {
  Generator network({1, 8, 7, 9});
  const std::string a = network.Op("Relu", {network.Conv("x", 64, 8, 3)});
  const auto operators = Compare(network, {network.Transposed(a, {3, 64, {4, 4}, {2, 2}, {1, 1}})}, {1, 8, 7, 9});
  if (!operators) return;
  EXPECT_EQ(operators->count("ConvTranspose"), 1u);
}

}  // namespace
}  // namespace tessera::testing
