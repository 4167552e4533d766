#include <cmath>
#include <numeric>
#include <set>

#include "attributes.h"
#include "base/cpu_features.h"
#include "kernels/gemm/rows_u8s8.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {
namespace {

using Dims = std::vector<int64_t>;

/// Of weights: types without zero points, or with one for each channel.
enum class Weights { kInt8, kUInt8, kInt8WithZeros, kUInt8WithZeros };

struct LastConvSpec {
  int64_t outputs, channels, kernel = 1, stride = 1, group = 1, dilation = 1;
  Dims pads = {0, 0, 0, 0};
  int most = 40;  // magnitude of the weights
};

/// A network of 8-bit quantized values; `x` is its input.
class QuantizedNetwork {
 public:
  QuantizedNetwork(Dims x, ElementType type, Weights weights = Weights::kInt8)
      : type_(type), weights_(weights), model_(17) {
    model_.Input("x", type, std::move(x));
    auto* import = model_.proto().add_opset_import();
    import->set_domain("com.microsoft");
    import->set_version(1);
    model_.Quantized("zero", type, {}, {type == ElementType::kInt8 ? -7 : 121});
    model_.Floats("scale", {}, {0.02f});
  }

  /// From here on the scale of activations is known at run time only.
  void ComputeScale() {
    scale_ = "computed_scale";
    Int(model_.Node("Cast", {"x"}, {"floats"}), "to", 1);
    Int(model_.Node("ReduceMax", {"floats"}, {"most"}), "keepdims", 0);
    model_.Floats("none", {}, {0.0f});
    model_.Node("Mul", {"most", "none"}, {"nothing"});
    model_.Node("Add", {"nothing", "scale"}, {scale_});
  }

  std::string Conv(const std::string& from, const LastConvSpec& spec) {
    const std::string name = Name();
    const Dims dims = {spec.outputs, spec.channels / spec.group, spec.kernel, spec.kernel};
    const int64_t depth = dims[1] * dims[2] * dims[3];
    const bool is_unsigned = weights_ == Weights::kUInt8 || weights_ == Weights::kUInt8WithZeros;
    const int middle = is_unsigned ? 128 : 0;
    std::vector<int> weights, bias, zeros;
    std::vector<float> scales;
    for (int64_t i = 0; i < spec.outputs * depth; ++i) {
      const uint32_t mixed = static_cast<uint32_t>(i + 1) * 2654435761u;
      const int weight = static_cast<int>((mixed >> 13) % static_cast<uint32_t>(2 * spec.most + 1)) - spec.most;
      weights.push_back(weight + middle);
    }
    for (int64_t i = 0; i < spec.outputs; ++i) {
      zeros.push_back(middle + static_cast<int>(i * 5 % 31) - 15);
      bias.push_back(static_cast<int>(i * 977 % 5001) - 2500);
      scales.push_back((1.5f + 0.05f * static_cast<float>(i % 11)) /
                       (static_cast<float>(spec.most) * std::sqrt(static_cast<float>(depth))));
    }
    const ElementType type = is_unsigned ? ElementType::kUInt8 : ElementType::kInt8;
    model_.Quantized(name + "w", type, dims, weights);
    const bool shifted = weights_ == Weights::kInt8WithZeros || weights_ == Weights::kUInt8WithZeros;
    model_.Quantized(name + "z", type, shifted ? Dims{spec.outputs} : Dims{}, shifted ? zeros : std::vector<int>{middle});
    model_.Quantized(name + "b", ElementType::kInt32, {spec.outputs}, bias);
    model_.Floats(name + "s", {spec.outputs}, scales);
    auto& node = model_.Node(
        "QLinearConv", {from, scale_, "zero", name + "w", name + "s", name + "z", scale_, "zero", name + "b"}, {name});
    Int(node, "group", spec.group);
    Ints(node, "strides", {spec.stride, spec.stride});
    Ints(node, "dilations", {spec.dilation, spec.dilation});
    Ints(node, "pads", spec.pads);
    return name;
  }

  std::string Add(const std::string& a, const std::string& b) {
    const std::string name = Name();
    model_.Node("QLinearAdd", {a, "scale", "zero", b, "scale", "zero", "scale", "zero"}, {name})
        .set_domain("com.microsoft");
    return name;
  }

  std::string Multiply(const std::string& a, const std::string& b) {
    const std::string name = Name();
    model_.Node("QLinearMul", {a, "scale", "zero", b, "scale", "zero", "scale", "zero"}, {name})
        .set_domain("com.microsoft");
    return name;
  }

  std::string Average(const std::string& from) {
    const std::string name = Name();
    model_.Node("QLinearGlobalAveragePool", {from, "scale", "zero", "scale", "zero"}, {name}).set_domain("com.microsoft");
    return name;
  }

  std::string MaxPool(const std::string& from, const std::vector<int64_t>& kernel = {3, 2}) {
    const std::string name = Name();
    auto& node = model_.Node("MaxPool", {from}, {name});
    Ints(node, "kernel_shape", kernel);
    Ints(node, "strides", {2, 1});
    Ints(node, "pads", {1, 0, 1, 1});
    return name;
  }

  /// Along the axis, in parts of these sizes.
  std::vector<std::string> Split(const std::string& from, int64_t axis, const std::vector<int64_t>& sizes) {
    const std::string name = Name();
    model_.Ints(name, sizes);
    std::vector<std::string> parts;
    for (size_t i = 0; i < sizes.size(); ++i) parts.push_back(Name());
    Int(ModelBuilder::AddNode(*model_.proto().mutable_graph(), "Split", {from, name}, parts), "axis", axis);
    return parts;
  }

  std::string Slice(const std::string& from, int64_t axis, int64_t begin, int64_t end) {
    const std::string name = Name();
    model_.Ints(name + "begin", {begin}).Ints(name + "end", {end}).Ints(name + "axis", {axis});
    model_.Node("Slice", {from, name + "begin", name + "end", name + "axis"}, {name});
    return name;
  }

  std::string Concat(const std::vector<std::string>& parts, int64_t axis) {
    const std::string name = Name();
    Int(ModelBuilder::AddNode(*model_.proto().mutable_graph(), "Concat", parts, {name}), "axis", axis);
    return name;
  }

  ModelBuilder& Finish(const std::vector<std::string>& outputs) {
    for (const std::string& output : outputs) model_.Output(output, type_, {-1, -1, -1, -1});
    return model_;
  }

  ElementType type() const { return type_; }

 private:
  std::string Name() { return "v" + std::to_string(count_++); }

  ElementType type_;
  Weights weights_;
  std::string scale_ = "scale";
  ModelBuilder model_;
  int count_ = 0;
};

/// The same quantized values with and without the optimizer; returns the operators that are left.
std::multiset<std::string> Compare(QuantizedNetwork& network, const std::vector<std::string>& outputs, const Shape& shape) {
  const ModelBuilder& model = network.Finish(outputs);
  Tensor x(network.type(), shape);
  auto* quantized = static_cast<uint8_t*>(x.mutable_raw());
  for (int64_t i = 0; i < x.num_elements(); ++i) quantized[i] = static_cast<uint8_t>(i * i * 31 + i * 7 + i / 13);
  const LevelResults expected = RunAt(model, OptimizationLevel::kNone, x, outputs.size());
  const LevelResults given = RunAt(model, OptimizationLevel::kAll, x, outputs.size());
  for (size_t o = 0; o < outputs.size(); ++o) {
    const Tensor &e = expected.values[o].tensor(), &g = given.values[o].tensor();
    EXPECT_EQ(g.shape(), e.shape());
    if (g.shape() != e.shape()) continue;
    const auto *a = static_cast<const uint8_t*>(e.raw()), *b = static_cast<const uint8_t*>(g.raw());
    int64_t wrong = 0;
    std::set<uint8_t> seen;
    for (int64_t i = 0; i < e.num_elements(); ++i) {
      seen.insert(a[i]);
      if (a[i] == b[i]) continue;
      if (wrong++ == 0)
        ADD_FAILURE() << outputs[o] << " at " << i << ": " << static_cast<int>(a[i]) << ", " << static_cast<int>(b[i]);
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(seen.size(), std::min<size_t>(static_cast<size_t>(e.num_elements()), 30) / 2)
        << "quantized values say little";
  }
  return given.operators;
}

size_t Expected(size_t convolutions) { return cpu::PaddedRowsWidth() > 0 ? convolutions : 0; }

struct NhwcConvCase {
  std::string name;
  Dims input;
  LastConvSpec conv;
};

class NhwcConvolutions : public ::testing::TestWithParam<std::tuple<NhwcConvCase, std::tuple<ElementType, Weights>>> {};

TEST_P(NhwcConvolutions, GiveTheSameValues) {
  const auto& [test, types] = GetParam();
  const LastConvSpec& conv = test.conv;
  QuantizedNetwork network(test.input, std::get<0>(types), std::get<1>(types));
  // Wide ones around it make it worth while to turn the image.
  const std::string before =
      network.Conv(network.Conv("x", {3 * conv.channels, test.input[1]}), {conv.channels, 3 * conv.channels});
  const std::string after =
      network.Conv(network.Conv(network.Conv(before, conv), {6 * conv.outputs, conv.outputs}), {5, 6 * conv.outputs});
  EXPECT_EQ(Compare(network, {after}, Shape(test.input)).count("QLinearConvNhwc"), Expected(5));
}

const auto kTypes = ::testing::Values(
    std::tuple{ElementType::kUInt8, Weights::kInt8}, std::tuple{ElementType::kInt8, Weights::kInt8},
    std::tuple{ElementType::kUInt8, Weights::kUInt8}, std::tuple{ElementType::kInt8, Weights::kInt8WithZeros},
    std::tuple{ElementType::kUInt8, Weights::kUInt8WithZeros});

std::string NameOf(const ::testing::TestParamInfo<NhwcConvolutions::ParamType>& info) {
  constexpr const char* kWeights[] = {"", "UnsignedWeights", "ZeroPoints", "UnsignedZeroPoints"};
  const auto& [type, weights] = std::get<1>(info.param);
  return std::get<0>(info.param).name + (type == ElementType::kInt8 ? "Signed" : "Unsigned") +
         kWeights[static_cast<int>(weights)];
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, NhwcConvolutions,
    ::testing::Combine(
        ::testing::Values(NhwcConvCase{"InPlace", {2, 8, 9, 7}, {24, 16}},
                          NhwcConvCase{"OddChannels", {1, 8, 5, 5}, {13, 7}},
                          NhwcConvCase{"OneColumn", {1, 8, 5, 5}, {40, 12}},
                          NhwcConvCase{"Square", {1, 8, 9, 10}, {20, 12, 3, 1, 1, 1, {1, 1, 1, 1}}},
                          NhwcConvCase{"Strided", {2, 8, 11, 9}, {17, 6, 3, 2, 1, 1, {1, 0, 0, 2}}},
                          NhwcConvCase{"StridedPoint", {1, 8, 9, 9}, {33, 20, 1, 2}},
                          NhwcConvCase{"Dilated", {1, 8, 12, 11}, {16, 8, 3, 1, 1, 2, {2, 2, 2, 2}}},
                          NhwcConvCase{"Groups", {1, 8, 8, 7}, {24, 16, 3, 1, 2, 1, {1, 1, 1, 1}}},
                          NhwcConvCase{"Deep", {1, 8, 6, 5}, {36, 170, 3, 1, 1, 1, {1, 1, 1, 1}}},
                          NhwcConvCase{"LargeWeights", {1, 8, 6, 5}, {36, 160, 1, 1, 1, 1, {0, 0, 0, 0}, 63}},
                          NhwcConvCase{"OnePixel", {2, 8, 1, 1}, {36, 20}}, NhwcConvCase{"FewRows", {1, 8, 1, 2}, {36, 20}},
                          NhwcConvCase{"Depthwise", {1, 8, 9, 8}, {64, 64, 3, 1, 64, 1, {1, 1, 1, 1}}},
                          NhwcConvCase{"DepthwiseStrided", {2, 8, 9, 8}, {40, 40, 3, 2, 40, 1, {1, 0, 1, 1}}},
                          NhwcConvCase{"DepthwiseWide", {1, 8, 9, 8}, {35, 35, 5, 1, 35, 1, {2, 2, 2, 2}}},
                          NhwcConvCase{"DepthwiseBeyond", {1, 8, 4, 3}, {48, 48, 5, 1, 48, 2, {4, 4, 4, 4}}},
                          NhwcConvCase{"DepthwiseLarge", {1, 8, 9, 8}, {64, 64, 3, 1, 64, 1, {0, 1, 2, 0}, 127}}),
        kTypes),
    NameOf);

class FirstNhwcConvolutions : public NhwcConvolutions {};

TEST_P(FirstNhwcConvolutions, GiveTheSameValues) {
  const auto& [test, types] = GetParam();
  QuantizedNetwork network(test.input, std::get<0>(types), std::get<1>(types));
  const std::string after = network.Conv(network.Conv("x", test.conv), {6 * test.conv.outputs, test.conv.outputs});
  EXPECT_EQ(Compare(network, {network.Conv(after, {5, 6 * test.conv.outputs})}, Shape(test.input)).count("QLinearConvNhwc"),
            Expected(3));
}

// Windows whose lines are short.
INSTANTIATE_TEST_SUITE_P(
    Kinds, FirstNhwcConvolutions,
    ::testing::Combine(::testing::Values(NhwcConvCase{"TwoChannels", {2, 2, 9, 11}, {24, 2, 3, 1, 1, 1, {1, 1, 1, 1}}},
                                         NhwcConvCase{"OneChannel", {1, 1, 9, 11}, {24, 1, 3}},
                                         NhwcConvCase{"ThreeChannels", {2, 3, 11, 13}, {32, 3, 3, 2, 1, 1, {1, 1, 1, 1}}},
                                         NhwcConvCase{"Wide", {2, 3, 12, 14}, {24, 3, 7, 2, 1, 1, {3, 3, 3, 3}}},
                                         NhwcConvCase{"Dilated", {1, 3, 12, 14}, {24, 3, 3, 1, 1, 2, {0, 0, 0, 0}}},
                                         NhwcConvCase{"ManyWords", {2, 16, 9, 8}, {24, 16, 3, 1, 1, 1, {0, 1, 1, 0}}},
                                         NhwcConvCase{"ManyLines", {1, 2, 18, 19}, {16, 2, 17, 1, 1, 1, {8, 8, 8, 8}}},
                                         NhwcConvCase{"WiderThanImage", {2, 3, 3, 2}, {24, 3, 5, 1, 1, 1, {2, 2, 2, 2}}}),
                       kTypes),
    NameOf);

TEST(Nhwc, ComputesWhatLiesBetween) {
  for (const ElementType type : {ElementType::kUInt8, ElementType::kInt8}) {
    QuantizedNetwork network({2, 3, 16, 14}, type);
    const std::string first = network.Conv("x", {48, 3, 3, 1, 1, 1, {1, 1, 1, 1}});
    const std::string pooled = network.MaxPool(first);
    const std::string left = network.Conv(pooled, {48, 48, 3, 1, 48, 1, {1, 1, 1, 1}});
    const std::string right = network.Conv(pooled, {48, 48});
    const std::string sum = network.Add(left, right);
    const auto operators = Compare(network, {network.Average(sum), sum}, Shape{2, 3, 16, 14});
    EXPECT_EQ(operators.count("QLinearConvNhwc"), Expected(3));
    EXPECT_EQ(operators.count("MaxPoolNhwc"), Expected(1));
    EXPECT_LE(operators.count("Transpose"), 3u);
  }
}

TEST(Nhwc, ScalesChannels) {
  for (const ElementType type : {ElementType::kUInt8, ElementType::kInt8}) {
    QuantizedNetwork network({2, 24, 8, 6}, type);
    const std::string first = network.Conv("x", {48, 24, 3, 1, 1, 1, {1, 1, 1, 1}});
    const std::string gate = network.Conv(network.Average(first), {48, 48});
    const std::string last = network.Conv(network.Add(gate, network.Multiply(first, gate)), {20, 48});
    const auto operators = Compare(network, {last}, Shape{2, 24, 8, 6});
    EXPECT_EQ(operators.count("QLinearConvNhwc"), Expected(3));
    EXPECT_EQ(operators.count("Transpose"), Expected(2));
  }
}

TEST(Nhwc, JoinsAndCuts) {
  for (const ElementType type : {ElementType::kUInt8, ElementType::kInt8}) {
    for (const int64_t axis : {1, 2, 3, -3, -1}) {
      QuantizedNetwork network({2, 24, 8, 6}, type);
      const std::string first = network.Conv("x", {48, 24, 3, 1, 1, 1, {1, 1, 1, 1}});
      const bool channels = axis == 1 || axis == -3;
      const int64_t size = channels ? 48 : axis == 2 ? 8 : 6;
      const std::vector<std::string> parts = network.Split(first, axis, {2, size - 2});
      const std::string part = network.Slice(first, axis, 1, 4);
      const std::string joined = network.Concat({parts[1], part, parts[0]}, axis);
      const auto operators = Compare(network, {network.Conv(joined, {20, channels ? 51 : 48})}, Shape{2, 24, 8, 6});
      EXPECT_EQ(operators.count("QLinearConvNhwc"), Expected(2));
      EXPECT_EQ(operators.count("Transpose"), Expected(2)) << "along " << axis;
    }
  }
}

TEST(Nhwc, KeepsPartsThatAreRead) {
  QuantizedNetwork network({1, 24, 8, 6}, ElementType::kUInt8);
  const std::string first = network.Conv("x", {48, 24, 3, 1, 1, 1, {1, 1, 1, 1}});
  const std::vector<std::string> parts = network.Split(first, 1, {40, 8});
  const std::string joined = network.Concat({network.Conv(parts[0], {96, 40}), parts[1]}, 1);
  Compare(network, {network.Conv(joined, {20, 104}), parts[1]}, Shape{1, 24, 8, 6});
}

TEST(Nhwc, PoolsWindowsOfManyPixels) {
  for (const ElementType type : {ElementType::kUInt8, ElementType::kInt8}) {
    QuantizedNetwork network({1, 8, 16, 14}, type);
    const std::string pooled = network.MaxPool(network.Conv("x", {331, 8}), {9, 10});
    EXPECT_EQ(Compare(network, {network.Conv(pooled, {24, 331})}, Shape{1, 8, 16, 14}).count("MaxPoolNhwc"), Expected(1));
  }
}

TEST(Nhwc, TakesScalesThatAreComputed) {
  for (const ElementType type : {ElementType::kUInt8, ElementType::kInt8}) {
    QuantizedNetwork network({2, 8, 7, 6}, type);
    network.ComputeScale();
    const std::string wide = network.Conv("x", {51, 8});
    const std::string depthwise = network.Conv(wide, {51, 51, 3, 1, 51, 1, {1, 1, 1, 1}});
    EXPECT_EQ(Compare(network, {network.Conv(depthwise, {24, 51})}, Shape{2, 8, 7, 6}).count("QLinearConvNhwc"),
              Expected(3));
  }
}

TEST(Nhwc, LeavesWhatDoesNotPay) {
  QuantizedNetwork alone({1, 16, 8, 8}, ElementType::kUInt8);
  EXPECT_EQ(Compare(alone, {alone.Conv("x", {16, 16, 3})}, Shape{1, 16, 8, 8}).count("QLinearConvNhwc"), 0u);
  QuantizedNetwork large({1, 16, 8, 8},
                         ElementType::kUInt8);  // weights that products of bytes take in many steps without VNNI
  const std::string wide = large.Conv("x", {96, 16, 1, 1, 1, 1, {0, 0, 0, 0}, 127});
  EXPECT_EQ(Compare(large, {large.Conv(wide, {16, 96, 1, 1, 1, 1, {0, 0, 0, 0}, 127})}, Shape{1, 16, 8, 8})
                .count("QLinearConvNhwc"),
            HasByteDotProducts() ? 2u : 0u);
}

}  // namespace
}  // namespace tessera::testing
