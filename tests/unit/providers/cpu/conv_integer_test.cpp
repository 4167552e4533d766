// Sums of convolutions of quantized values with constant weights are those of weights that are an input.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attributes.h"
#include "model_builder.h"

namespace tessera::testing {
namespace {

using Sizes = std::vector<int64_t>;

struct Sums {
  Sizes input, weights, pads, strides, dilations;
  int64_t group = 1;
};

Tensor QuantizedTensor(ElementType type, const Sizes& shape, uint32_t seed) {
  Tensor tensor(type, Shape(shape));
  auto* quantized = static_cast<uint8_t*>(tensor.mutable_raw());
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    quantized[i] = static_cast<uint8_t>((static_cast<uint32_t>(i + 1) * 2654435761u + seed) >> 13);
  return tensor;
}

struct Way {
  ElementType x, w;
  bool zero_by_channel, zeros;
  bool constant;
  int threads;
};

std::vector<int32_t> Convolve(const Sums& c, const Way& way) {
  ModelBuilder model(17);
  const Tensor weights = QuantizedTensor(way.w, c.weights, 77);
  model.Input("x", way.x, c.input).Output("y", ElementType::kInt32, Sizes(c.input.size(), -1));
  if (!way.constant) model.Input("w", way.w, c.weights);
  if (way.constant) {
    const auto* from = static_cast<const uint8_t*>(weights.raw());
    model.Constant("w", c.weights, std::vector<uint8_t>(from, from + weights.byte_size()),
                   static_cast<onnx::TensorProto::DataType>(way.w));
  }
  auto& node = model.Node("ConvInteger", {"x", "w"}, {"y"});
  if (way.zeros) {
    const int64_t count = way.zero_by_channel ? c.weights[0] : 1;
    std::vector<int> zeros;
    for (int64_t i = 0; i < count; ++i)
      zeros.push_back((way.w == ElementType::kInt8 ? 0 : 69) + static_cast<int>(i * 5 % 31) - 15);
    model.Quantized("xz", way.x, {}, {way.x == ElementType::kInt8 ? -3 : 131});
    model.Quantized("wz", way.w, way.zero_by_channel ? Sizes{count} : Sizes{}, zeros);
    node.add_input("xz");
    node.add_input("wz");
  }
  Ints(node, "pads", c.pads);
  Ints(node, "strides", c.strides);
  Ints(node, "dilations", c.dilations);
  Int(node, "group", c.group);
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.intra_op_threads = way.threads;
  std::vector<Value> values = {Value(QuantizedTensor(way.x, c.input, 5))}, results(1);
  if (!way.constant) values.emplace_back(weights);
  model.Session(options).Run(values, results);
  const auto sums = results[0].tensor().values<int32_t>();
  return {sums.begin(), sums.end()};
}

TEST(ConvInteger, SumsOfConstantWeights) {
  for (const Sums& c : {
           Sums{{2, 17, 12, 13}, {21, 17, 3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}},
           Sums{{1, 64, 300}, {37, 64, 5}, {6, 6}, {1}, {3}},
           Sums{{1, 22, 130}, {16, 22, 12}, {3, 3}, {6}, {1}},
           Sums{{1, 40, 129}, {4, 40, 1}, {0, 0}, {1}, {1}},
           Sums{{3, 24, 9, 20}, {32, 12, 3, 2}, {0, 1, 1, 1}, {2, 1}, {1, 1}, 2},
           Sums{{1, 12, 20, 20}, {12, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 12},
           Sums{{2, 8, 6, 5, 7}, {16, 8, 2, 2, 2}, {0, 0, 0, 1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
           Sums{{30, 17, 2, 2}, {16, 17, 3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}},  // as rows of one matmul
           Sums{{5, 64, 1, 1}, {37, 64, 1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1}},
           Sums{{4, 33, 7, 5}, {21, 33, 3, 2}, {1, 0, 2, 1}, {2, 3}, {1, 1}},
           Sums{{1, 16, 50}, {1, 16, 3}, {1, 1}, {1}, {1}},
           Sums{{2, 24, 9, 20}, {12, 6, 3, 3}, {1, 1, 1, 1}, {1, 1}, {2, 1}, 4},  // few outputs, tap by tap
           Sums{{3, 9, 7, 7}, {6, 3, 3, 2}, {2, 0, 1, 1}, {2, 3}, {1, 2}, 3},
           Sums{{2, 8, 6, 5, 7}, {4, 4, 2, 2, 2}, {0, 0, 0, 1, 1, 1}, {1, 2, 2}, {1, 1, 1}, 2},
           Sums{{1, 300, 17, 19}, {5, 300, 3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}},
       }) {
    for (const ElementType x : {ElementType::kUInt8, ElementType::kInt8}) {
      for (const ElementType w : {ElementType::kUInt8, ElementType::kInt8}) {
        for (const auto& [by_channel, zeros] : {std::pair(false, false), std::pair(false, true), std::pair(true, true)}) {
          SCOPED_TRACE(::testing::PrintToString(c.input) + ElementTypeName(x).data() + ElementTypeName(w).data());
          const std::vector<int32_t> expected = Convolve(c, {x, w, by_channel, zeros, false, 1});
          EXPECT_EQ(Convolve(c, {x, w, by_channel, zeros, true, 1}), expected);
          EXPECT_EQ(Convolve(c, {x, w, by_channel, zeros, true, 3}), expected);
        }
      }
    }
  }
}

/// Of images with two axes, plainly. Both have int8's type and no zero points.
std::vector<int32_t> ConvolvePlainly(const Sums& c) {
  const Tensor input = QuantizedTensor(ElementType::kInt8, c.input, 5),
               weights = QuantizedTensor(ElementType::kInt8, c.weights, 77);
  const auto size = [&](size_t i) {
    return (c.input[i + 2] + c.pads[i] + c.pads[i + 2] - (c.weights[i + 2] - 1) * c.dilations[i] - 1) / c.strides[i] + 1;
  };
  const int64_t height = c.input[2], width = c.input[3], per_group = c.weights[0] / c.group, depth = c.weights[1];
  std::vector<int32_t> sums;
  const auto sum = [&](int64_t n, int64_t output, int64_t y, int64_t x) {
    int32_t total = 0;
    for (int64_t i = 0; i < depth * c.weights[2] * c.weights[3]; ++i) {
      const int64_t channel = i / (c.weights[2] * c.weights[3]), ky = i / c.weights[3] % c.weights[2],
                    kx = i % c.weights[3];
      const int64_t row = y * c.strides[0] + ky * c.dilations[0] - c.pads[0],
                    column = x * c.strides[1] + kx * c.dilations[1] - c.pads[1];
      if (row < 0 || row >= height || column < 0 || column >= width) continue;
      const int64_t plane = n * c.input[1] + output / per_group * depth + channel;
      total += input.data<int8_t>()[(plane * height + row) * width + column] *
               weights.data<int8_t>()[output * depth * c.weights[2] * c.weights[3] + i];
    }
    return total;
  };
  for (int64_t n = 0; n < c.input[0]; ++n) {
    for (int64_t output = 0; output < c.weights[0]; ++output) {
      for (int64_t y = 0; y < size(0); ++y) {
        for (int64_t x = 0; x < size(1); ++x) sums.push_back(sum(n, output, y, x));
      }
    }
  }
  return sums;
}

/// Rows of every width up to more than two vectors, and short ones that are computed together.
TEST(ConvInteger, TapByTap) {
  for (const int64_t outputs : {1, 4}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (int64_t width = 1; width <= 35; ++width) {
        const Sums c{{1, 6, 4, width}, {2 * outputs, 3, 3, 3}, {1, 1, 1, 1}, {1, stride}, {1, 1}, 2},
            depthwise{{1, 3, 4, width}, {3 * outputs, 1, 3, 3}, {1, 1, 1, 1}, {1, stride}, {1, 1}, 3};
        for (const Sums& each : {c, depthwise}) {
          for (const bool constant : {false, true})
            ASSERT_EQ(Convolve(each, {ElementType::kInt8, ElementType::kInt8, false, false, constant, 1}),
                      ConvolvePlainly(each))
                << width << " wide, stride " << stride << ", " << each.weights[0] << " outputs";
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::testing
