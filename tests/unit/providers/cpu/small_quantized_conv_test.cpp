// Quantized convolutions of small images with constant weights give the quantized values that those give whose weights are
// an input.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attributes.h"
#include "model_builder.h"

namespace tessera::testing {
namespace {

using Sizes = std::vector<int64_t>;

struct QuantizedConvolution {
  Sizes input, weights, pads, strides;
  int most = 127;  // magnitude of the weights
};

int64_t CountOf(const Sizes& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

Tensor QuantizedTensor(ElementType type, const Sizes& shape, int most, int middle) {
  Tensor tensor(type, Shape(shape));
  auto* quantized = static_cast<uint8_t*>(tensor.mutable_raw());
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const uint32_t mixed = static_cast<uint32_t>(i + 1) * 2654435761u;
    quantized[i] =
        static_cast<uint8_t>(static_cast<int>((mixed >> 13) % static_cast<uint32_t>(2 * most + 1)) - most + middle);
  }
  return tensor;
}

std::vector<uint8_t> Convolve(const QuantizedConvolution& c, ElementType x_type, ElementType w_type, bool by_channel,
                              bool constant, int threads) {
  ModelBuilder model(17);
  const int x_zero = x_type == ElementType::kInt8 ? -3 : 131, w_zero = w_type == ElementType::kInt8 ? 0 : 128;
  const int64_t outputs = c.weights[0];
  const Tensor weights = QuantizedTensor(w_type, c.weights, c.most, w_zero);
  model.Input("x", x_type, c.input).Output("y", x_type, Sizes(c.input.size(), -1));
  if (!constant) model.Input("w", w_type, c.weights);
  if (constant) {
    std::vector<uint8_t> bytes(static_cast<const uint8_t*>(weights.raw()),
                               static_cast<const uint8_t*>(weights.raw()) + weights.byte_size());
    model.Constant("w", c.weights, bytes, static_cast<onnx::TensorProto::DataType>(w_type));
  }
  std::vector<int> zeros, bias;
  std::vector<float> scales;
  for (int64_t i = 0; i < outputs; ++i) {
    zeros.push_back(w_zero + (by_channel ? static_cast<int>(i * 5 % 31) - 15 : 0));
    bias.push_back(static_cast<int>(i * 977 % 5001) - 2500);
    scales.push_back((1.5f + 0.05f * static_cast<float>(i % 11)) /
                     (static_cast<float>(c.most) * std::sqrt(static_cast<float>(CountOf(c.weights) / outputs))));
  }
  model.Quantized("xz", x_type, {}, {x_zero})
      .Quantized("b", ElementType::kInt32, {outputs}, bias)
      .Floats("one", {}, {1.0f});
  model.Quantized("wz", w_type, by_channel ? Sizes{outputs} : Sizes{}, by_channel ? zeros : std::vector<int>{w_zero});
  model.Floats("s", {outputs}, scales);
  auto& node = model.Node("QLinearConv", {"x", "one", "xz", "w", "s", "wz", "one", "xz", "b"}, {"y"});
  Ints(node, "pads", c.pads);
  Ints(node, "strides", c.strides);
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.intra_op_threads = threads;
  std::vector<Value> inputs = {Value(QuantizedTensor(x_type, c.input, 127, x_type == ElementType::kInt8 ? 0 : 128))},
                     results(1);
  if (!constant) inputs.emplace_back(weights);
  model.Session(options).Run(inputs, results);
  const Tensor& y = results[0].tensor();
  return {static_cast<const uint8_t*>(y.raw()), static_cast<const uint8_t*>(y.raw()) + y.byte_size()};
}

TEST(SmallQuantizedConv, GivesTheSameValues) {
  for (const QuantizedConvolution& c : {
           QuantizedConvolution{{30, 17, 2, 2}, {16, 17, 3, 3}, {1, 1, 1, 1}, {1, 1}},
           QuantizedConvolution{
               {30, 17, 2, 2}, {16, 17, 3, 3}, {1, 1, 1, 1}, {1, 1}, 20},  // products that no sum of pairs saturates
           QuantizedConvolution{{5, 64, 1, 1}, {37, 64, 1, 1}, {0, 0, 0, 0}, {1, 1}},
           QuantizedConvolution{{4, 33, 4, 4}, {16, 33, 1, 1}, {0, 0, 0, 0}, {1, 1}},
           QuantizedConvolution{{4, 33, 7, 5}, {21, 33, 3, 2}, {1, 0, 2, 1}, {2, 3}},
           QuantizedConvolution{{3, 40, 9}, {24, 40, 5}, {2, 2}, {1}, 60},
           QuantizedConvolution{{2, 19, 9, 21}, {3, 19, 3, 3}, {1, 1, 1, 1}, {2, 1}},  // tap by tap
           QuantizedConvolution{{2, 8, 2, 2, 3}, {16, 8, 2, 2, 2}, {0, 0, 0, 1, 1, 1}, {1, 1, 1}},
       }) {
    for (const ElementType x_type : {ElementType::kUInt8, ElementType::kInt8}) {
      for (const ElementType w_type : {ElementType::kUInt8, ElementType::kInt8}) {
        for (const bool by_channel : {false, true}) {
          SCOPED_TRACE(::testing::PrintToString(c.input) + ElementTypeName(x_type).data() + ElementTypeName(w_type).data());
          EXPECT_EQ(Convolve(c, x_type, w_type, by_channel, true, 1), Convolve(c, x_type, w_type, by_channel, false, 1));
          EXPECT_EQ(Convolve(c, x_type, w_type, by_channel, true, 3), Convolve(c, x_type, w_type, by_channel, false, 1));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::testing
