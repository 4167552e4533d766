// Operators on rows, columns and planes that fill few vectors, of every length around those of vectors, as their
// definitions have them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "attributes.h"
#include "model_builder.h"

namespace tessera::short_rows {
namespace {

std::vector<float> Random(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> numbers(-2, 2);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = numbers(random);
  return values;
}

std::vector<Value> Compute(const testing::ModelBuilder& model, const std::vector<int64_t>& dims,
                           const std::vector<float>& x) {
  return model.Session().Run(std::vector<std::string>{"x"}, std::vector<Value>{testing::Floats(dims, x)});
}

TEST(ShortRows, SoftmaxOfEveryLength) {
  for (const bool log : {false, true}) {
    testing::ModelBuilder model;
    model.Input("x", ElementType::kFloat, {-1, -1}).Output("y", ElementType::kFloat, {-1, -1});
    model.Node(log ? "LogSoftmax" : "Softmax", {"x"}, {"y"});
    const Session session = model.Session();
    for (int64_t count = 1; count <= 70; ++count) {
      constexpr int64_t kRows = 3;
      const std::vector<float> x = Random(kRows * count, static_cast<unsigned>(count));
      const auto y = testing::ToVector(
          session.Run(std::vector<std::string>{"x"}, std::vector<Value>{testing::Floats({kRows, count}, x)})[0]);
      for (int64_t r = 0; r < kRows; ++r) {
        const auto row = std::span(x).subspan(static_cast<size_t>(r * count), static_cast<size_t>(count));
        double sum = 0;
        for (const float value : row) sum += std::exp(static_cast<double>(value));
        for (size_t i = 0; i < row.size(); ++i) {
          const double expected = log ? row[i] - std::log(sum) : std::exp(static_cast<double>(row[i])) / sum;
          ASSERT_NEAR(y[static_cast<size_t>(r * count) + i], expected, 2e-6) << count;
        }
      }
    }
  }
}

/// Few different values, so that many are equal; the least of all floats' keys is not told from one that was taken.
TEST(ShortRows, TopKOfEveryLength) {
  const float values[] = {-std::numeric_limits<float>::infinity(), -1, 0, -0.0f, 2, std::numeric_limits<float>::infinity()};
  std::mt19937 random(3);
  for (const int64_t largest : {0, 1}) {
    testing::ModelBuilder model;
    model.Input("x", ElementType::kFloat, {-1, -1}).Input("k", ElementType::kInt64, {1});
    model.Output("y", ElementType::kFloat, {-1, -1}).Output("i", ElementType::kInt64, {-1, -1});
    testing::Int(model.Node("TopK", {"x", "k"}, {"y", "i"}), "largest", largest);
    const Session session = model.Session();
    for (int64_t count = 1; count <= 300; count += count < 70 ? 1 : 23) {
      std::vector<float> x(static_cast<size_t>(count));
      for (float& value : x) value = values[random() % std::size(values)];
      std::vector<int64_t> order(static_cast<size_t>(count));
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
        const float first = x[static_cast<size_t>(a)], second = x[static_cast<size_t>(b)];
        return largest != 0 ? first > second : first < second;
      });
      for (const int64_t k : {1, 2, 5, 8, 9}) {
        if (k > count) continue;
        const auto found = session.Run(
            std::vector<std::string>{"x", "k"},
            std::vector<Value>{testing::Floats({1, count}, x), Tensor::Of<int64_t>({1}, std::vector<int64_t>{k})});
        const auto indices = found[1].tensor().values<int64_t>();
        for (size_t i = 0; i < static_cast<size_t>(k); ++i) ASSERT_EQ(indices[i], order[i]) << k << " of " << count;
      }
    }
  }
}

TEST(ShortRows, TopKOfTheLeastIntegers) {
  testing::ModelBuilder model;
  model.Input("x", ElementType::kInt32, {-1}).Output("y", ElementType::kInt32, {-1}).Output("i", ElementType::kInt64, {-1});
  model.Ints("k", {3});
  model.Node("TopK", {"x", "k"}, {"y", "i"});
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  const auto found = model.Session().Run(
      std::vector<std::string>{"x"},
      std::vector<Value>{Tensor::Of<int32_t>({5}, std::vector<int32_t>{kLeast, 7, kLeast, kLeast, kLeast})});
  const auto indices = found[1].tensor().values<int64_t>();
  EXPECT_EQ(std::vector<int64_t>(indices.begin(), indices.end()), (std::vector<int64_t>{1, 0, 2}));
}

TEST(ShortRows, ReductionsOverMiddleAxes) {
  for (const char* op : {"ReduceSum", "ReduceMax"}) {
    testing::ModelBuilder model;
    model.Input("x", ElementType::kFloat, {-1, -1, -1}).Output("y", ElementType::kFloat, {-1, -1, -1}).Ints("axes", {1});
    model.Node(op, {"x", "axes"}, {"y"});
    const Session session = model.Session();
    for (const int64_t rows : {1, 7, 8, 33, 50}) {
      for (const int64_t columns : {1, 3, 16, 31, 32, 33, 96, 130}) {
        const std::vector<float> x = Random(2 * rows * columns, 5);
        const auto y = testing::ToVector(
            session.Run(std::vector<std::string>{"x"}, std::vector<Value>{testing::Floats({2, rows, columns}, x)})[0]);
        for (int64_t i = 0; i < 2 * columns; ++i) {
          double sum = 0, most = -3;
          for (int64_t r = 0; r < rows; ++r) {
            const double value = x[static_cast<size_t>((i / columns * rows + r) * columns + i % columns)];
            sum += value;
            most = std::max(most, value);
          }
          ASSERT_NEAR(y[static_cast<size_t>(i)], op == std::string("ReduceSum") ? sum : most, 1e-5)
              << op << " " << rows << " " << columns;
        }
      }
    }
  }
}

/// Few columns of a constant matrix, and an activation.
TEST(ShortRows, MatMulsOfFewColumns) {
  for (const int64_t k : {100, 128, 257, 800}) {
    for (const int64_t n : {1, 2, 3, 4, 5, 33}) {
      const std::vector<float> b = Random(k * n, 1), bias = Random(n, 2);
      testing::ModelBuilder model;
      model.Input("x", ElementType::kFloat, {-1, k}).Output("y", ElementType::kFloat, {-1, n});
      model.Floats("b", {k, n}, b).Floats("c", {n}, bias);
      model.Node("Gemm", {"x", "b", "c"}, {"sum"});
      model.Node("Relu", {"sum"}, {"y"});
      const Session session = model.Session();
      for (const int64_t m : {1, 15, 16, 19, 33}) {
        const std::vector<float> x = Random(m * k, 3);
        const auto y = testing::ToVector(
            session.Run(std::vector<std::string>{"x"}, std::vector<Value>{testing::Floats({m, k}, x)})[0]);
        for (int64_t i = 0; i < m * n; ++i) {
          double sum = bias[static_cast<size_t>(i % n)];
          for (int64_t p = 0; p < k; ++p)
            sum += static_cast<double>(x[static_cast<size_t>(i / n * k + p)]) * b[static_cast<size_t>(p * n + i % n)];
          ASSERT_NEAR(y[static_cast<size_t>(i)], std::max(sum, 0.0), 2e-4) << m << " " << k << " " << n;
        }
      }
    }
  }
}

/// Sums of products of quantized values are exact, with zero points of either operand.
TEST(ShortRows, MatMulsOfIntegers) {
  std::mt19937 random(9);
  const auto quantized_of = [](bool is_signed, uint8_t byte) {
    return is_signed ? static_cast<int32_t>(static_cast<int8_t>(byte)) : static_cast<int32_t>(byte);
  };
  for (const bool a_signed : {false, true}) {
    for (const bool b_signed : {false, true}) {
      for (const auto& [k, n] : {std::pair<int64_t, int64_t>{3, 1}, {64, 17}, {130, 40}, {700, 33}}) {
        for (const int64_t b_zeros : {int64_t{0}, int64_t{1}, n}) {
          const ElementType a_type = a_signed ? ElementType::kInt8 : ElementType::kUInt8,
                            b_type = b_signed ? ElementType::kInt8 : ElementType::kUInt8;
          std::vector<uint8_t> b(static_cast<size_t>(k * n)), zeros(static_cast<size_t>(b_zeros));
          for (uint8_t& byte : b) byte = static_cast<uint8_t>(random());
          for (uint8_t& byte : zeros) byte = static_cast<uint8_t>(random());
          testing::ModelBuilder model;
          model.Input("a", a_type, {-1, k}).Output("y", ElementType::kInt32, {-1, n});
          const std::vector<uint8_t> a_zero = {131};
          model.Constant("b", {k, n}, b, static_cast<onnx::TensorProto::DataType>(b_type));
          model.Constant("za", {}, a_zero, static_cast<onnx::TensorProto::DataType>(a_type));
          model.Constant("zb", b_zeros == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{b_zeros}, zeros,
                         static_cast<onnx::TensorProto::DataType>(b_type));
          model.Node("MatMulInteger", {"a", "b", "za", b_zeros == 0 ? "" : "zb"}, {"y"});
          const Session session = model.Session();
          for (const int64_t m : {1, 5, 13}) {
            std::vector<uint8_t> a(static_cast<size_t>(m * k));
            for (uint8_t& byte : a) byte = static_cast<uint8_t>(random());
            Tensor x(a_type, Shape{m, k});
            std::memcpy(x.mutable_raw(), a.data(), a.size());
            const auto found = session.Run(std::vector<std::string>{"a"}, std::vector<Value>{std::move(x)});
            const auto y = found[0].tensor().values<int32_t>();
            for (int64_t i = 0; i < m * n; ++i) {
              const int32_t b_zero =
                  b_zeros == 0 ? 0 : quantized_of(b_signed, zeros[static_cast<size_t>(b_zeros == 1 ? 0 : i % n)]);
              int32_t sum = 0;
              for (int64_t p = 0; p < k; ++p) {
                sum += (quantized_of(a_signed, a[static_cast<size_t>(i / n * k + p)]) - quantized_of(a_signed, a_zero[0])) *
                       (quantized_of(b_signed, b[static_cast<size_t>(p * n + i % n)]) - b_zero);
              }
              ASSERT_EQ(y[static_cast<size_t>(i)], sum) << m << " " << k << " " << n << " " << b_zeros;
            }
          }
        }
      }
    }
  }
}

TEST(ShortRows, BatchNormalizationOfSmallPlanes) {
  constexpr int64_t kImages = 3, kChannels = 5;
  const std::vector<float> scale = Random(kChannels, 1), bias = Random(kChannels, 2), mean = Random(kChannels, 3);
  std::vector<float> variance = Random(kChannels, 4);
  for (float& value : variance) value = std::abs(value) + 0.5f;
  testing::ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, kChannels, -1}).Output("y", ElementType::kFloat, {-1, kChannels, -1});
  model.Floats("s", {kChannels}, scale)
      .Floats("b", {kChannels}, bias)
      .Floats("m", {kChannels}, mean)
      .Floats("v", {kChannels}, variance);
  model.Node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"});
  const Session session = model.Session();
  for (const int64_t pixels : {1, 2, 15, 16, 49, 81}) {
    const std::vector<float> x = Random(kImages * kChannels * pixels, 7);
    const auto y = testing::ToVector(session.Run(std::vector<std::string>{"x"},
                                                 std::vector<Value>{testing::Floats({kImages, kChannels, pixels}, x)})[0]);
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t c = i / static_cast<size_t>(pixels) % kChannels;
      ASSERT_NEAR(y[i], (x[i] - mean[c]) / std::sqrt(variance[c] + 1e-5f) * scale[c] + bias[c], 1e-5f) << pixels;
    }
  }
}

TEST(ShortRows, PoolsOfFiveByFive) {
  for (const char* op : {"MaxPool", "AveragePool"}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t width : {5, 7, 15, 16, 17, 20, 27}) {
        constexpr int64_t kPlanes = 3, kHeight = 9;
        testing::ModelBuilder model;
        model.Input("x", ElementType::kFloat, {1, kPlanes, kHeight, width})
            .Output("y", ElementType::kFloat, {-1, -1, -1, -1});
        auto& node = model.Node(op, {"x"}, {"y"});
        testing::Ints(node, "kernel_shape", {5, 5});
        testing::Ints(node, "pads", {2, 2, 2, 2});
        testing::Ints(node, "strides", {stride, stride});
        const std::vector<float> x = Random(kPlanes * kHeight * width, 11);
        const auto y = testing::ToVector(Compute(model, {1, kPlanes, kHeight, width}, x)[0]);
        const int64_t rows = (kHeight - 1) / stride + 1, columns = (width - 1) / stride + 1;
        for (int64_t i = 0; i < kPlanes * rows * columns; ++i) {
          const int64_t plane = i / (rows * columns), r = i / columns % rows * stride, c = i % columns * stride;
          double sum = 0, most = -3;
          int64_t count = 0;
          for (int64_t v = std::max<int64_t>(r - 2, 0); v <= std::min(r + 2, kHeight - 1); ++v) {
            for (int64_t h = std::max<int64_t>(c - 2, 0); h <= std::min(c + 2, width - 1); ++h, ++count) {
              const double value = x[static_cast<size_t>((plane * kHeight + v) * width + h)];
              sum += value;
              most = std::max(most, value);
            }
          }
          const double expected = op == std::string("MaxPool") ? most : sum / static_cast<double>(count);
          ASSERT_NEAR(y[static_cast<size_t>(i)], expected, 1e-5) << op << " " << stride << " " << width << " " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::short_rows
