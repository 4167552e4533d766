// Sizes and operands that happen to be equal, so that a shortcut for another case seems to fit.

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <tuple>

#include "providers/right_values.h"

namespace tessera::testing {
namespace {

class Coincidences : public OnEachProvider {};

INSTANTIATE_TEST_SUITE_P(On, Coincidences, ::testing::Values("cpu", "dnnl", "opencl"),
                         [](const auto& info) { return info.param; });

std::vector<float> UpTo(size_t count) {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  return numbers;
}

/// A column of pixels has one window across, whatever the stride.
TEST_P(Coincidences, PoolsOfOneColumnWithStrides) {
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    SCOPED_TRACE(op);
    ModelBuilder model(18);
    model.Input("x", ElementType::kFloat, {1, 1, 6, 1}).Output("y", ElementType::kFloat, {1, 1, 6, 1});
    Ints(Ints(model.Node(op, {"x"}, {"y"}), "kernel_shape", {1, 1}), "strides", {1, 2});
    Expect(model, {Numbers({1, 1, 6, 1}, UpTo(6))}, {Numbers({1, 1, 6, 1}, UpTo(6))});
  }
}

/// Padding at the end takes away what strides insert: the output is as long as the input, and not the same.
TEST_P(Coincidences, ConvTransposeOfOneTapAsLongAsItsInput) {
  ModelBuilder model(11);
  model.Input("x", ElementType::kFloat, {1, 1, 3}).Output("y", ElementType::kFloat, {1, 1, 3});
  model.Floats("w", {1, 1, 1}, {2});
  Ints(Ints(model.Node("ConvTranspose", {"x", "w"}, {"y"}), "strides", {2}), "pads", {0, 2});
  Expect(model, {Numbers({1, 1, 3}, {1, 2, 3})}, {Numbers({1, 1, 3}, {2, 0, 4})});
}

/// As many positions as a row has pixels, though rows are skipped.
TEST_P(Coincidences, IntegerConvolutionOfOneTapWithStrides) {
  for (const auto& [size, stride, expected] : {std::tuple(6, 3, std::vector<int32_t>{0, 3, 18, 21}),
                                               std::tuple(9, 4, std::vector<int32_t>{0, 4, 8, 36, 40, 44, 72, 76, 80})}) {
    SCOPED_TRACE(::testing::Message() << size << " by " << stride);
    const int64_t out = (size - 1) / stride + 1;
    ModelBuilder model(10);
    model.Input("x", ElementType::kUInt8, {1, 2, size, size}).Output("y", ElementType::kInt32, {1, 1, out, out});
    model.Quantized("w", ElementType::kInt8, {1, 2, 1, 1}, {1, 1});
    Ints(model.Node("ConvInteger", {"x", "w"}, {"y"}), "strides", {stride, stride});
    std::vector<uint8_t> pixels(static_cast<size_t>(2 * size * size));  // the second channel of zeros
    std::iota(pixels.begin(), pixels.begin() + size * size, uint8_t{0});
    Expect(model, {Tensor::Of<uint8_t>(Shape{1, 2, size, size}, pixels)},
           {Tensor::Of<int32_t>(Shape{1, 1, out, out}, expected)});
  }
}

/// A Transpose whose only reader multiplies it with itself.
TEST_P(Coincidences, MatMulOfATransposeWithItself) {
  ModelBuilder model(13);
  model.Input("x", ElementType::kFloat, {1, 2, 2}).Output("y", ElementType::kFloat, {1, 2, 2});
  Ints(model.Node("Transpose", {"x"}, {"t"}), "perm", {0, 2, 1});
  model.Node("MatMul", {"t", "t"}, {"y"});
  Expect(model, {Numbers({1, 2, 2}, {1, 2, 3, 4})}, {Numbers({1, 2, 2}, {7, 15, 10, 22})});
}

/// Of one channel, channels first and last are the same layout.
TEST_P(Coincidences, BlocksOfScalesBesideOneChannel) {
  ModelBuilder model(21);
  model.Input("x", ElementType::kFloat, {2, 1, 4}).Output("y", ElementType::kFloat, {2, 1, 4});
  model.Floats("scale", {2, 1, 2}, {1, 2, 4, 8});
  Int(Int(model.Node("QuantizeLinear", {"x", "scale"}, {"q"}), "axis", 2), "block_size", 2);
  Int(Int(model.Node("DequantizeLinear", {"q", "scale"}, {"y"}), "axis", 2), "block_size", 2);
  Expect(model, {Numbers({2, 1, 4}, {1, 2, 4, 6, 8, 12, 16, 24})}, {Numbers({2, 1, 4}, {1, 2, 4, 6, 8, 12, 16, 24})});
}

/// What replaces all scores of a row leaves nothing of them, whether the bias comes before or after it.
TEST_P(Coincidences, AttentionWhoseRowIsReplacedBesideABias) {
  const float half = 1 / (1 + std::exp(-0.5f));  // softmax of {0.5, 0}
  for (const float low : {-1e4f, -1e9f, -kMost}) {
    for (const bool bias_first : {false, true}) {
      SCOPED_TRACE(::testing::Message() << low << (bias_first ? ", bias first" : ", bias last"));
      ModelBuilder model(17);
      model.Input("q", ElementType::kFloat, {1, 1, 2, 2}).Input("k", ElementType::kFloat, {1, 1, 2, 2});
      model.Input("v", ElementType::kFloat, {1, 1, 2, 2}).Output("y", ElementType::kFloat, {1, 1, 2, 2});
      const std::array<uint8_t, 2> replaced = {1, 1};
      model.Constant("replaced", {1, 2}, replaced, onnx::TensorProto::BOOL);
      model.Floats("low", {}, {low}).Floats("bias", {1, 2}, {0.5f, 0});
      model.Node("MatMul", {"q", "k"}, {"s"});
      const auto replace = [&](const char* from, const char* to) { model.Node("Where", {"replaced", "low", from}, {to}); };
      const auto add = [&](const char* from, const char* to) { model.Node("Add", {from, "bias"}, {to}); };
      bias_first ? add("s", "t") : replace("s", "t");
      bias_first ? replace("t", "u") : add("t", "u");
      Int(model.Node("Softmax", {"u"}, {"p"}), "axis", -1);
      model.Node("MatMul", {"p", "v"}, {"y"});
      const bool even = bias_first || low < -1e5f;  // else the bias is what is left
      const float first = even ? 0.5f : half;
      Expect(
          model,
          {Numbers({1, 1, 2, 2}, {1, 0, 0, 2}), Numbers({1, 1, 2, 2}, {3, 0, 0, 1}), Numbers({1, 1, 2, 2}, {1, 0, 0, 1})},
          {Numbers({1, 1, 2, 2}, {first, 1 - first, first, 1 - first})}, 1e-3f);
    }
  }
}

}  // namespace
}  // namespace tessera::testing
