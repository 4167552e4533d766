// What lies between convolutions in blocks of channels and moves pixels, or joins images with what is not in blocks.

#include <functional>
#include <limits>

#include "optimizer/float_network.h"

namespace tessera::testing {
namespace {

using Names = std::vector<std::string>;
using Sizes = std::vector<int64_t>;

/// Nodes between convolutions, of an image of 32 channels.
struct MovementCase {
  std::string name;
  int opset;
  std::function<Names(FloatNetwork&, const std::string&)> make;
  Sizes channels = {32};  // of its results
  bool stays = true;      // in blocks
  bool any_batch = true;  // also where the batch is not known
  Sizes input = {2, 3, 11, 13};
};

Names ResizeTo(FloatNetwork& network, const std::string& x, const Names& targets, const std::string& mode,
               const std::string& coordinates, const Sizes& axes = {}, bool antialias = false) {
  Names inputs = {x, ""};
  inputs.insert(inputs.end(), targets.begin(), targets.end());
  return network.Node("Resize", inputs, 1, [&](onnx::NodeProto& node) {
    Text(node, "mode", mode);
    Text(node, "coordinate_transformation_mode", coordinates);
    if (!axes.empty()) Ints(node, "axes", axes);
    if (antialias) Int(node, "antialias", 1);
  });
}

auto Scaled(const std::vector<float>& scales, const std::string& mode, const std::string& coordinates,
            const Sizes& axes = {}, bool antialias = false) {
  return [=](FloatNetwork& network, const std::string& x) {
    return ResizeTo(network, x, {network.Floats(scales)}, mode, coordinates, axes, antialias);
  };
}

auto Sized(const Sizes& sizes, const std::string& mode, const Sizes& axes = {}) {
  return [=](FloatNetwork& network, const std::string& x) {
    return ResizeTo(network, x, {"", network.Integers(sizes)}, mode, "half_pixel", axes);
  };
}

/// Operators whose numbers came in inputs with some version, or by attributes.
auto ByInputs(const std::string& type, const std::vector<Sizes>& numbers, size_t outputs = 1, int64_t axis = 0) {
  return [=](FloatNetwork& network, const std::string& x) {
    Names inputs = {x};
    for (const Sizes& each : numbers) inputs.push_back(network.Integers(each));
    return network.Node(type, inputs, outputs, [&](onnx::NodeProto& node) {
      if (axis != 0) Int(node, "axis", axis);
    });
  };
}

auto ByAttributes(const std::string& type, const std::vector<std::pair<std::string, Sizes>>& attributes, size_t outputs = 1,
                  int64_t axis = 0) {
  return [=](FloatNetwork& network, const std::string& x) {
    return network.Node(type, {x}, outputs, [&](onnx::NodeProto& node) {
      for (const auto& [name, values] : attributes) Ints(node, name, values);
      if (axis != 0) Int(node, "axis", axis);
    });
  };
}

auto Padded(const std::string& mode, const Sizes& pads, const Sizes& axes = {}) {
  return [=](FloatNetwork& network, const std::string& x) {
    Names inputs = {x, network.Integers(pads)};
    if (mode == "constant" || !axes.empty()) inputs.push_back(mode == "constant" ? network.Constant({}) : "");
    if (!axes.empty()) inputs.push_back(network.Integers(axes));
    return network.Node("Pad", inputs, 1, [&](onnx::NodeProto& node) { Text(node, "mode", mode); });
  };
}

auto SplitBy(int64_t axis, size_t outputs) {
  return [=](FloatNetwork& network, const std::string& x) {
    return network.Node("Split", {x}, outputs, [&](onnx::NodeProto& node) {
      Int(node, "axis", axis);
      Int(node, "num_outputs", static_cast<int64_t>(outputs));
    });
  };
}

class Nchw8cMovements : public ::testing::TestWithParam<MovementCase> {};

TEST_P(Nchw8cMovements, StayInNchw8c) {
  const MovementCase& c = GetParam();
  for (const bool symbolic : {false, true}) {
    for (const bool others_read : {false, true}) {
      SCOPED_TRACE(std::string(symbolic ? "symbolic " : "") + (others_read ? "others read" : ""));
      Sizes input = c.input;
      if (symbolic) input[0] = -1;
      FloatNetwork network(input, c.opset);
      const std::string image = network.Op("Relu", {network.Conv("x", {32, 3, 3, 1, 1})});
      const Names parts = c.make(network, image);
      Names outputs;
      for (size_t i = 0; i < parts.size(); ++i) outputs.push_back(network.Conv(parts[i], {16, c.channels[i], 3, 1, 1}));
      if (others_read) outputs.insert(outputs.end(), {image, parts.back(), network.Op("Sin", {parts[0]})});
      const auto operators = Compare(network, outputs, Shape(c.input));
      if (!Blocks(operators)) return;
      if (others_read || (symbolic && !c.any_batch)) continue;
      EXPECT_EQ(operators.count("ToNchw8c") == 0 && operators.count("FromNchw8c") == parts.size(), c.stays);
    }
  }
}

const Sizes kVolume = {2, 3, 4, 7, 9};
constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

INSTANTIATE_TEST_SUITE_P(
    Resizes, Nchw8cMovements,
    ::testing::Values(
        MovementCase{"NearestTwice", 17, Scaled({1, 1, 2, 2}, "nearest", "asymmetric")},
        MovementCase{"NearestThrice", 17, Scaled({1, 1, 3, 1}, "nearest", "half_pixel")},
        MovementCase{"NearestLess", 17, Scaled({1, 1, 0.6f, 1.7f}, "nearest", "half_pixel")},
        MovementCase{"Linear", 17, Scaled({1, 1, 1.7f, 2.3f}, "linear", "half_pixel")},
        MovementCase{"LinearCorners", 13, Scaled({1, 1, 2, 2}, "linear", "align_corners")},
        MovementCase{"LinearOneAxis", 13, Scaled({1, 1, 1, 2}, "linear", "pytorch_half_pixel")},
        MovementCase{"Cubic", 17, Scaled({1, 1, 2, 0.7f}, "cubic", "half_pixel")},
        MovementCase{"NegativeAxes", 18, Scaled({2, 3}, "linear", "half_pixel", {-1, -2})},
        MovementCase{"Antialias", 18, Scaled({1, 1, 0.5f, 0.4f}, "linear", "half_pixel", {}, true)},
        MovementCase{"Channels", 17, Scaled({1, 2, 1, 1}, "nearest", "asymmetric"), {64}, false},
        MovementCase{"Sizes", 17, Sized({2, 32, 17, 23}, "linear"), {32}, true, false},
        MovementCase{"SizesOfAxes", 18, Sized({17, 23}, "nearest", {2, -1})},
        MovementCase{"Volume", 17, Scaled({1, 1, 2, 2, 2}, "nearest", "asymmetric"), {32}, true, true, kVolume},
        MovementCase{"VolumeLinear", 17, Scaled({1, 1, 2, 1.5f, 2}, "linear", "half_pixel"), {32}, true, true, kVolume}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Pads, Nchw8cMovements,
    ::testing::Values(MovementCase{"Constant", 17, Padded("constant", {0, 0, 1, 2, 0, 0, 3, 0})},
                      MovementCase{"Reflect", 17, Padded("reflect", {0, 0, 3, 3, 0, 0, 3, 3})},
                      MovementCase{"Edge", 13, Padded("edge", {0, 0, 1, 0, 0, 0, 0, 5})},
                      MovementCase{"Wrap", 19, Padded("wrap", {0, 0, 2, 0, 0, 0, 1, 1})},
                      MovementCase{"Crop", 13, Padded("reflect", {0, 0, -1, 2, 0, 0, 2, -3})},
                      MovementCase{"NegativeAxes", 18, Padded("reflect", {1, 2, 3, 4}, {-1, 2})},
                      MovementCase{"ConstantAxes", 18, Padded("constant", {1, 0, 2, 0}, {3, 1})},
                      MovementCase{"Channels", 17, Padded("constant", {0, 8, 0, 0, 0, 0, 0, 0}), {40}, false},
                      MovementCase{"Attributes", 10, ByAttributes("Pad", {{"pads", {0, 0, 1, 2, 0, 0, 3, 4}}})},
                      MovementCase{
                          "Volume", 17, Padded("reflect", {0, 0, 1, 2, 3, 0, 0, 1, 2, 3}), {32}, true, true, kVolume}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Slices, Nchw8cMovements,
    ::testing::Values(MovementCase{"SecondHalf", 13, ByInputs("Slice", {{16}, {kEnd}, {1}}), {16}},
                      MovementCase{"FirstHalf", 13, ByInputs("Slice", {{0}, {-16}, {-3}}), {16}},
                      MovementCase{"AllAxes", 13, ByInputs("Slice", {{0, 8, 1, 2}, {1, 24, -1, 9}}), {16}},
                      MovementCase{"Steps", 13, ByInputs("Slice", {{-1, 1}, {-kEnd, kEnd}, {-1, 2}, {-2, 3}})},
                      MovementCase{
                          "Attributes", 9, ByAttributes("Slice", {{"starts", {8}}, {"ends", {100}}, {"axes", {1}}}), {24}},
                      MovementCase{"AcrossBlocks", 13, ByInputs("Slice", {{4}, {20}, {1}}), {16}, false},
                      MovementCase{"EveryOther", 13, ByInputs("Slice", {{0}, {kEnd}, {1}, {2}}), {16}, false},
                      MovementCase{"Volume", 13, ByInputs("Slice", {{24, 1}, {32, 3}, {1, -1}}), {8}, true, true, kVolume}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Splits, Nchw8cMovements,
    ::testing::Values(MovementCase{"Halves", 17, ByInputs("Split", {}, 2, 1), {16, 16}},
                      MovementCase{"Sizes", 13, ByInputs("Split", {{8, 24}}, 2, -3), {8, 24}},
                      MovementCase{"Attributes", 11, ByAttributes("Split", {{"split", {8, 8, 16}}}, 3, 1), {8, 8, 16}},
                      MovementCase{"NumOutputs", 18, SplitBy(1, 4), {8, 8, 8, 8}},
                      MovementCase{"Uneven", 18, SplitBy(1, 3), {11, 11, 10}, false},
                      MovementCase{"AcrossBlocks", 13, ByInputs("Split", {{12, 20}}, 2, 1), {12, 20}, false},
                      MovementCase{"Rows", 18, SplitBy(-2, 3), {32, 32, 32}}),
    [](const auto& info) { return info.param.name; });

/// Upsample, whose last version is 9, and Resize of 10, which has no region.
TEST(Nchw8cMovement, KnowsOlderResizes) {
  for (const auto& [type, opset] : {std::pair("Upsample", 8), std::pair("Upsample", 9), std::pair("Resize", 10)}) {
    SCOPED_TRACE(type + std::to_string(opset));
    const std::vector<float> scales = {1, 1, 2, 3};
    FloatNetwork network({2, 3, 9, 7}, opset);
    Names inputs = {network.Conv("x", {32, 3, 3, 1, 1})};
    if (opset > 8) inputs.push_back(network.Floats(scales));
    const std::string larger = network.Node(type, inputs, 1, [&](onnx::NodeProto& node) {
      Text(node, "mode", "linear");
      if (opset > 8) return;
      auto* attribute = node.add_attribute();
      attribute->set_name("scales");
      attribute->set_type(onnx::AttributeProto::FLOATS);
      for (const float scale : scales) attribute->add_floats(scale);
    })[0];
    const auto operators = Compare(network, {network.Conv(larger, {16, 32, 3, 1, 1})}, {2, 3, 9, 7});
    if (!Blocks(operators)) return;
    EXPECT_FALSE(operators.contains("ToNchw8c"));
    EXPECT_EQ(operators.count("FromNchw8c"), 1u);
  }
}

/// Behind the last convolution the image leaves blocks while it is small.
TEST(Nchw8cMovement, LeavesBlocksBeforeAnImageGrows) {
  FloatNetwork network({1, 3, 16, 16});
  const std::string a = network.Conv("x", {32, 3, 3, 1, 1}), b = network.Conv(a, {32, 32, 3, 1, 1});
  const std::string larger = Scaled({1, 1, 2, 2}, "nearest", "asymmetric")(network, b)[0];
  const std::string padded = Padded("reflect", {0, 0, 1, 1, 0, 0, 1, 1})(network, larger)[0];
  const Rewriting rewriting(network.Finish({padded}), {"use_nchw8c"});
  if (rewriting.after().find("Nchw8cConv") == std::string::npos) return;
  EXPECT_EQ(rewriting.after(), "Nchw8cConv Nchw8cConv FromNchw8c Resize Pad");
}

TEST(Nchw8cMovement, SlopesByChannelWhereNoConvolutionTakesThem) {
  FloatNetwork network({2, 3, 13, 11});
  const std::string a = network.Conv("x", {32, 3, 3, 1, 1});
  const std::string b = network.PRelu(a, 32), c = network.Op("PRelu", {network.Op("Add", {a, b}), network.Constant({1})});
  const auto operators = Compare(network, {network.Conv(c, {32, 32, 3, 1, 1})}, {2, 3, 13, 11});
  if (!Blocks(operators)) return;
  EXPECT_EQ(operators.count("PRelu"), 2u);
  EXPECT_FALSE(operators.contains("ToNchw8c"));
  EXPECT_EQ(operators.count("FromNchw8c"), 1u);
}

TEST(Nchw8cMovement, TakesSlopesIn) {
  FloatNetwork network({2, 3, 13, 11});
  const std::string a = network.PRelu(network.Conv("x", {32, 3, 3, 1, 1}), 32);
  const std::string b =
      network.Op("PRelu", {network.Op("Add", {network.Conv(a, {32, 32, 3, 1, 1}), a}), network.Constant({1})});
  const auto operators = Compare(network, {network.Conv(b, {16, 32, 1})}, {2, 3, 13, 11});
  if (!Blocks(operators)) return;
  EXPECT_FALSE(operators.contains("PRelu"));
  EXPECT_EQ(operators.count("FromNchw8c"), 1u);
}

TEST(Nchw8cMovement, JoinsSeveralImages) {
  FloatNetwork network({2, 3, 13, 11});
  const std::string a = network.Conv("x", {32, 3, 3, 1, 1}), b = network.Pool("MaxPool", a, 3, 1, 1);
  const std::string c = network.Op("Max", {a, b, network.Constant({1, 32, 1, 1})});
  const std::string d = network.Op("Min", {network.Constant({}), network.Op("Mean", {a, c, b})});
  const std::string e = network.Op("Sum", {network.Conv(d, {32, 32, 3, 1, 1}), c});  // the convolution adds it
  const auto operators =
      Compare(network, {network.Conv(network.Op("Sum", {e, d, a, c}), {32, 32, 3, 1, 1})}, {2, 3, 13, 11});
  if (!Blocks(operators)) return;
  EXPECT_EQ(operators.count("Sum"), 1u);
  EXPECT_FALSE(operators.contains("ToNchw8c"));
  EXPECT_EQ(operators.count("FromNchw8c"), 1u);
}

/// As networks are told the time or a class, image by image or all the same.
TEST(Nchw8cMovement, AddsNumbersToChannels) {
  for (const bool volume : {false, true}) {
    const Sizes input = volume ? kVolume : Sizes{2, 3, 13, 11};
    FloatNetwork network(input);
    const std::string a = network.Conv("x", {32, 3, 3, 1, 1});
    const std::string number = network.Op("Sin", {network.Op("GlobalAveragePool", {a})});
    const std::string b = network.Op("Add", {number, network.Conv(a, {32, 32, 3, 1, 1})});
    const auto operators = Compare(network, {network.Conv(network.Op("Relu", {b}), {32, 32, 1})}, Shape(input));
    if (!Blocks(operators)) return;
    EXPECT_EQ(operators.count("Nchw8cShift"), 1u);
    EXPECT_FALSE(operators.contains("ToNchw8c"));
  }
}

/// Strides of a branch and of its shortcut leave the same of a size that is not known.
TEST(Nchw8cMovement, AddsShortcutsOfOpenSizes) {
  for (const bool padded : {true, false}) {
    FloatNetwork network({-1, 3, -1, -1});
    const std::string a = network.Pool("MaxPool", network.Conv("x", {32, 3, 7, 2, 3}), 3, 2, 1);
    const int64_t kernel = padded ? 3 : 1;
    const std::string b = network.Conv(network.Conv(a, {32, 32, kernel, 2, kernel / 2}), {32, 32, 3, 1, 1});
    const std::string c = network.Op("Add", {b, network.Conv(a, {32, 32, 5, 2, 2})});
    const auto operators = Compare(network, {network.Conv(network.Op("Relu", {c}), {32, 32, 1})}, {2, 3, 45, 38});
    if (!Blocks(operators)) return;
    EXPECT_FALSE(operators.contains("Add"));
    EXPECT_FALSE(operators.contains("ToNchw8c"));
  }
}

/// Rounded up, a size is another but where it divides.
TEST(Nchw8cMovement, TellsSizesThatAreRoundedUp) {
  FloatNetwork network({1, 3, -1, -1});
  const std::string a = network.Conv("x", {32, 3, 3, 1, 1});
  const std::string sum = network.Op("Add", {network.Pool("MaxPool", a, 2, 2, 0, true), network.Conv(a, {32, 32, 2, 2})});
  EXPECT_EQ(Compare(network, {network.Conv(sum, {32, 32, 3, 1, 1})}, {1, 3, 16, 12}).count("Add"), 1u);
}

/// As in pyramids of features: to the size of another image, asked of it in the run, and again.
TEST(Nchw8cMovement, ResizesToTheSizesOfOthers) {
  for (const bool ranges : {false, true}) {
    FloatNetwork network({-1, 3, -1, -1});
    const auto shape = [&](const std::string& of, int64_t start, int64_t end) {
      if (!ranges)
        return network.Op("Slice", {network.Op("Shape", {of}), network.Integers({start}), network.Integers({end})});
      return network.Node("Shape", {of}, 1, [&](onnx::NodeProto& node) { Int(Int(node, "start", start), "end", end); })[0];
    };
    const auto to_size_of = [&](const std::string& x, const std::string& other) {
      const Names parts = {shape(x, 0, -2), shape(other, 2, 4)};
      const std::string size = network.Node("Concat", parts, 1, [](onnx::NodeProto& node) { Int(node, "axis", 0); })[0];
      return ResizeTo(network, x, {"", size}, "nearest", "asymmetric")[0];
    };
    const std::string a = network.Op("Relu", {network.Conv("x", {32, 3, 3, 2, 1})}),
                      b = network.Op("Relu", {network.Conv(a, {32, 32, 3, 2, 1})});
    const std::string c = network.Op("Relu", {network.Conv(b, {32, 32, 3, 2, 1})});
    const std::string of_b = network.Conv(b, {32, 32, 1}), of_a = network.Conv(a, {32, 32, 1});
    const std::string at_b = network.Op("Add", {of_b, to_size_of(c, of_b)});
    const std::string at_a = network.Op("Add", {of_a, to_size_of(at_b, of_a)});
    const std::string joined = network.Op("Concat", {a, to_size_of(at_b, a)});
    const Names results = {network.Conv(at_a, {32, 32, 3, 1, 1}), network.Conv(at_b, {32, 32, 3, 1, 1}),
                           network.Conv(joined, {32, 64, 1})};
    const auto operators = Compare(network, results, {2, 3, 23, 27});
    if (!Blocks(operators)) return;
    for (const std::string gone : {"Add", "Shape", "ToNchw8c"}) EXPECT_FALSE(operators.contains(gone)) << gone;
    EXPECT_EQ(operators.count("FromNchw8c"), results.size());
  }
}

/// An image that no convolution computed goes into blocks to be added there, but only where the sum is read there.
TEST(Nchw8cMovement, BringsImagesInThatAreAdded) {
  for (const bool read : {true, false}) {
    FloatNetwork network({2, 32, 13, 11});
    const std::string a = network.Conv("x", {32, 32, 3, 1, 1});
    const std::string sum = network.Op("Add", {network.Op("Sin", {"x"}), network.Conv(a, {32, 32, 3, 1, 1})});
    const auto operators = Compare(network, {read ? network.Conv(sum, {32, 32, 3, 1, 1}) : sum}, {2, 32, 13, 11});
    if (!Blocks(operators)) return;
    EXPECT_EQ(operators.count("Add"), read ? 0u : 1u);
    EXPECT_EQ(operators.count("ToNchw8c"), read ? 2u : 1u);
    EXPECT_EQ(operators.count("FromNchw8c"), 1u);
  }
}

}  // namespace
}  // namespace tessera::testing
