#pragma once

// Models of quantized values, and whether the optimized ones give nearly what the literal ones do.

#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "attributes.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {

using Dims = std::vector<int64_t>;

inline int64_t CountOf(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

/// Quantized values that differ from their neighbours; all there are where the shape has as many elements.
inline Tensor QuantizedFrom(ElementType type, const Shape& shape) {
  Tensor quantized(type, shape);
  for (int64_t i = 0; i < quantized.num_elements(); ++i)
    static_cast<uint8_t*>(quantized.mutable_raw())[i] = static_cast<uint8_t>(i * 37 + i / 256);
  return quantized;
}

/// A model of quantized values: float input "x" becomes quantized values of scale 0.02 around 125 (or -3), then "xd" again.
class QuantizedModel {
 public:
  QuantizedModel(const Dims& x, size_t rank_of_y, ElementType type) : type_(type), model_(17) {
    model_.Input("x", ElementType::kFloat, x).Output("y", ElementType::kFloat, Dims(rank_of_y, -1));
    Quantize("x", "xd", 0.02f, Zero());
  }

  ModelBuilder& model() { return model_; }
  int Zero() const { return type_ == ElementType::kInt8 ? -3 : 125; }
  int Lowest() const { return type_ == ElementType::kInt8 ? -128 : 0; }

  /// QuantizeLinear and DequantizeLinear.
  void Quantize(const std::string& from, const std::string& to, float scale, int zero) {
    model_.Floats(to + "_scale", {}, {scale});
    model_.Quantized(to + "_zero", type_, {}, {zero});
    model_.Node("QuantizeLinear", {from, to + "_scale", to + "_zero"}, {to + "_quantized"});
    model_.Node("DequantizeLinear", {to + "_quantized", to + "_scale", to + "_zero"}, {to});
  }

  /// Constant int8 quantized values up to `most` with a scale for each index of `axis`, dequantized.
  void Weights(const std::string& name, const Dims& dims, int64_t axis, int most) {
    std::vector<int> values;
    for (int64_t i = 0; i < CountOf(dims); ++i)
      values.push_back(static_cast<int>((i * i * 31 + 17 * i + i / 7) % (2 * most + 1)) - most);
    model_.Quantized(name + "_quantized", ElementType::kInt8, dims, values);
    std::vector<float> scales;
    for (int64_t i = 0; i < dims[static_cast<size_t>(axis)]; ++i)
      scales.push_back(0.004f + 0.0001f * static_cast<float>(i % 13));
    const auto count = static_cast<int64_t>(scales.size());
    model_.Floats(name + "_scale", {count}, scales);
    model_.Quantized(name + "_zero", ElementType::kInt8, {count}, std::vector<int>(scales.size(), 0));
    Int(model_.Node("DequantizeLinear", {name + "_quantized", name + "_scale", name + "_zero"}, {name}), "axis", axis);
  }

  void Bias(const std::string& name, int64_t count) {
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(0.3f * std::sin(static_cast<float>(i)));
    model_.Floats(name, {count}, values);
  }

 private:
  ElementType type_;
  ModelBuilder model_;
};

struct QuantizedOutcome {
  std::string operators;
  Tensor y;
};

inline QuantizedOutcome RunAt(const ModelBuilder& model, OptimizationLevel level, const Value& x) {
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.optimization_level = level;
  options.intra_op_threads = 2;
  const Session session = model.Session(options);
  QuantizedOutcome outcome;
  for (const auto& node : session.placement().nodes) {
    if (node.inserted) continue;  // between layouts, which follow the machine
    const std::string_view type(node.op_type);
    outcome.operators += outcome.operators.empty() ? "" : " ";
    outcome.operators += type == "QLinearConvNhwc" ? "QLinearConv" : type;
  }
  std::vector<Value> results(1);
  session.Run(std::vector<Value>{x}, results);
  outcome.y = results[0].tensor();
  return outcome;
}

/// The optimized model has these operators, and results that are at most `step` from the literal ones.
inline void ExpectSame(const ModelBuilder& model, const Dims& dims, const std::string& operators, float step) {
  Tensor x(ElementType::kFloat, Shape(dims));
  for (int64_t i = 0; i < x.num_elements(); ++i)
    x.mutable_data<float>()[i] = 2.6f * std::sin(static_cast<float>(i) * 0.71f);
  const Value input(x);
  const QuantizedOutcome expected = RunAt(model, OptimizationLevel::kNone, input),
                         given = RunAt(model, OptimizationLevel::kAll, input);
  EXPECT_EQ(given.operators, operators);
  ASSERT_EQ(given.y.shape(), expected.y.shape());
  int64_t apart = 0;
  for (int64_t i = 0; i < expected.y.num_elements(); ++i) {
    const float difference = std::abs(expected.y.data<float>()[i] - given.y.data<float>()[i]);
    ASSERT_LE(difference, 1.001f * step) << "element " << i << " is " << given.y.data<float>()[i] << " instead of "
                                         << expected.y.data<float>()[i];
    if (difference > 0.01f * step) ++apart;
  }
  EXPECT_LE(apart, 1 + expected.y.num_elements() / 50) << "of " << expected.y.num_elements();
}

}  // namespace tessera::testing
