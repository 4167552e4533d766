// RMSNormalization takes a scale of another type than its input's, and gives a result of the scale's type.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model_builder.h"

namespace tessera {
namespace {

using testing::ModelBuilder;

constexpr ElementType kTypes[] = {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16, ElementType::kBFloat16};
constexpr int64_t kRows = 3, kColumns = 37;

/// Calls `f` with a null pointer to the type's elements.
template <class F>
auto WithElement(ElementType type, F f) {
  switch (type) {
    case ElementType::kDouble: return f(static_cast<double*>(nullptr));
    case ElementType::kFloat16: return f(static_cast<Float16*>(nullptr));
    case ElementType::kBFloat16: return f(static_cast<BFloat16*>(nullptr));
    default: return f(static_cast<float*>(nullptr));
  }
}

Tensor ToTensor(ElementType type, const Shape& shape, const std::vector<double>& values) {
  return WithElement(type, [&]<class T>(T*) {
    Tensor tensor(type, shape);
    std::transform(values.begin(), values.end(), tensor.mutable_data<T>(),
                   [](double value) { return static_cast<T>(value); });
    return tensor;
  });
}

std::vector<double> ToDoubles(const Tensor& tensor) {
  return WithElement(tensor.type(), [&]<class T>(T*) {
    const std::span<const T> values = tensor.values<T>();
    return std::vector<double>(values.begin(), values.end());
  });
}

/// Unit in the last place of a value near 1.
double UnitOf(ElementType type) {
  if (type == ElementType::kBFloat16) return 1.0 / 128;
  return type == ElementType::kFloat16 ? 1.0 / 1024 : 1e-6;
}

std::vector<double> Normalized(std::vector<double> x, const std::vector<double>& scale) {
  for (auto row = x.begin(); row != x.end(); row += kColumns) {
    double sum = 0;
    for (int64_t i = 0; i < kColumns; ++i) sum += row[i] * row[i];
    const double root = std::sqrt(sum / kColumns + 1e-5);
    for (int64_t i = 0; i < kColumns; ++i) row[i] = row[i] / root * scale[static_cast<size_t>(i)];
  }
  return x;
}

void CheckScaled(ElementType x_type, ElementType scale_type, OptimizationLevel level) {
  std::vector<double> x_values, scale_values;
  for (int64_t i = 0; i < kRows * kColumns; ++i) x_values.push_back(std::sin(static_cast<double>(i)) * 3);
  for (int64_t i = 0; i < kColumns; ++i) scale_values.push_back(0.5 + static_cast<double>(i) / 32);
  ModelBuilder model(23);
  model.Input("x", x_type, {kRows, kColumns})
      .Input("scale", scale_type, {kColumns})
      .Output("y", scale_type, {kRows, kColumns});
  model.Node("Abs", {"x"}, {"a"});
  model.Node("RMSNormalization", {"a", "scale"}, {"r"});
  model.Node("Abs", {"r"}, {"y"});
  SessionOptions options;
  options.optimization_level = level;
  std::vector<Value> results(1);
  const std::vector<Value> inputs = {ToTensor(x_type, {kRows, kColumns}, x_values),
                                     ToTensor(scale_type, {kColumns}, scale_values)};
  model.Session(options).Run(inputs, results);
  ASSERT_EQ(results[0].tensor().type(), scale_type);
  const std::vector<double> y = ToDoubles(results[0].tensor());
  const std::vector<double> expected = Normalized(ToDoubles(inputs[0].tensor()), ToDoubles(inputs[1].tensor()));
  const double precision = UnitOf(x_type) + UnitOf(scale_type);
  for (size_t i = 0; i < y.size(); ++i)
    ASSERT_NEAR(y[i], std::abs(expected[i]), precision * (1 + std::abs(expected[i]))) << i;
}

TEST(RmsNormalization, TakesAScaleOfAnyType) {
  for (const ElementType x : kTypes) {
    for (const ElementType scale : kTypes) {
      for (const OptimizationLevel level : {OptimizationLevel::kNone, OptimizationLevel::kAll}) {
        SCOPED_TRACE(std::string(ElementTypeName(x)) + " scaled by " + std::string(ElementTypeName(scale)));
        CheckScaled(x, scale, level);
      }
    }
  }
}

}  // namespace
}  // namespace tessera
