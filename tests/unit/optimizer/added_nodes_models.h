#pragma once

// One model for each operator that portable passes write, of the types that it is to be written for.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "attributes.h"
#include "optimizer/quantized_model.h"
#include "optimizer/rewriting.h"

namespace tessera::testing {

inline constexpr std::array kAllFloats = {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16,
                                          ElementType::kBFloat16};
inline constexpr std::array kAllBytes = {ElementType::kUInt8, ElementType::kInt8};

template <class Visit>
auto WithFloatType(ElementType type, const Visit& visit) {
  switch (type) {
    case ElementType::kDouble: return visit(double{});
    case ElementType::kFloat16: return visit(Float16{});
    case ElementType::kBFloat16: return visit(BFloat16{});
    default: return visit(float{});
  }
}

/// Numbers as a tensor of one of kAllFloats.
inline Tensor FloatTensor(ElementType type, const Dims& dims, const std::vector<double>& values) {
  return WithFloatType(type, [&](auto zero) {
    std::vector<decltype(zero)> rounded;
    for (const double value : values) rounded.push_back(static_cast<decltype(zero)>(static_cast<float>(value)));
    return Tensor::Of<decltype(zero)>(Shape(dims), rounded);
  });
}

/// A model with one output "y", the passes that write something new into it, and inputs.
struct WritingModel {
  ModelBuilder model;
  ElementType type = ElementType::kFloat;
  std::vector<std::string> passes;
  std::vector<Value> inputs = {};

  WritingModel& Input(const std::string& name, const Dims& dims) {
    std::vector<double> values;
    for (int64_t i = 0; i < CountOf(dims); ++i) values.push_back(std::sin(0.7 * static_cast<double>(i)) * 1.5);
    model.Input(name, type, dims);
    inputs.emplace_back(FloatTensor(type, dims, values));
    return *this;
  }
  WritingModel& Bytes(const std::string& name, ElementType bytes, const Dims& dims) {
    model.Input(name, bytes, dims);
    inputs.emplace_back(QuantizedFrom(bytes, Shape(dims)));
    return *this;
  }
  /// A constant of the model's type.
  WritingModel& Numbers(const std::string& name, const Dims& dims, const std::vector<double>& values) {
    const Tensor tensor = FloatTensor(type, dims, values);
    const auto* bytes = static_cast<const uint8_t*>(tensor.raw());
    model.Constant(name, dims, std::span(bytes, tensor.byte_size()), static_cast<onnx::TensorProto::DataType>(type));
    return *this;
  }
  WritingModel& Number(const std::string& name, double value) { return Numbers(name, {}, {value}); }
  onnx::NodeProto& Node(const std::string& op, std::initializer_list<std::string> inputs,
                        std::initializer_list<std::string> outputs) {
    return model.Node(op, inputs, outputs);
  }

  /// Constant bytes of the value 8 or so.
  void Weights(const std::string& name, ElementType bytes, const Dims& dims) {
    std::vector<int> values;
    for (int64_t i = 0; i < CountOf(dims); ++i)
      values.push_back(static_cast<int>(i * 37 % 200) - (bytes == ElementType::kInt8 ? 100 : 0));
    model.Quantized(name, bytes, dims, values);
  }
  void Dequantize(const std::string& from, ElementType bytes, float scale, const std::string& to) {
    model.Floats(to + "_scale", {}, {scale}).Quantized(to + "_zero", bytes, {}, {3});
    Node("DequantizeLinear", {from, to + "_scale", to + "_zero"}, {to});
  }
  void QuantizeTo(const std::string& from, ElementType bytes, float scale) {
    model.Floats("y_scale", {}, {scale}).Quantized("y_zero", bytes, {}, {bytes == ElementType::kInt8 ? -5 : 120});
    Node("QuantizeLinear", {from, "y_scale", "y_zero"}, {"y"});
    model.AnyOutput("y", bytes);
  }
};

inline WritingModel Writing(ElementType type, std::vector<std::string> passes, int opset = 24) {
  passes.push_back("eliminate_dead_nodes");
  return WritingModel{.model = ModelBuilder(opset), .type = type, .passes = std::move(passes)};
}

inline WritingModel ErfGelu(ElementType type, int opset = 24) {
  WritingModel w = Writing(type, {"recognize_gelu"}, opset);
  w.Input("x", {3, 5}).Number("root", std::sqrt(2.0)).Number("one", 1).Number("half", 0.5);
  w.Node("Div", {"x", "root"}, {"d"});
  w.Node("Erf", {"d"}, {"e"});
  w.Node("Add", {"e", "one"}, {"a"});
  w.Node("Mul", {"x", "a"}, {"m"});
  w.Node("Mul", {"m", "half"}, {"y"});
  w.model.Output("y", type, {3, 5});
  return w;
}

inline WritingModel TanhGelu(ElementType type) {
  WritingModel w = Writing(type, {"recognize_gelu"});
  w.Input("x", {3, 5}).Number("c", std::sqrt(0.63661977236758134)).Number("a", 0.044715).Number("three", 3);
  w.Number("one", 1).Number("half", 0.5);
  w.Node("Pow", {"x", "three"}, {"p"});
  w.Node("Mul", {"p", "a"}, {"q"});
  w.Node("Add", {"x", "q"}, {"r"});
  w.Node("Mul", {"r", "c"}, {"u"});
  w.Node("Tanh", {"u"}, {"t"});
  w.Node("Add", {"t", "one"}, {"b"});
  w.Node("Mul", {"x", "b"}, {"m"});
  w.Node("Mul", {"m", "half"}, {"y"});
  w.model.Output("y", type, {3, 5});
  return w;
}

/// A sixth of Clip(x + 3, 0, 6), and x times that.
inline WritingModel ClippedGate(bool gates) {
  WritingModel w = Writing(ElementType::kFloat, {"recognize_hard_swish"});
  w.Input("x", {3, 5}).Number("three", 3).Number("zero", 0).Number("six", 6);
  w.Node("Add", {"x", "three"}, {"s"});
  w.Node("Clip", {"s", "zero", "six"}, {"c"});
  w.Node("Div", {"c", "six"}, {gates ? "g" : "y"});
  if (gates) w.Node("Mul", {"x", "g"}, {"y"});
  w.model.Output("y", ElementType::kFloat, {3, 5});
  return w;
}

inline WritingModel GatedByHardSigmoid(ElementType type) {
  WritingModel w = Writing(type, {"recognize_hard_swish"});
  w.Input("x", {3, 5});
  Float(Float(w.Node("HardSigmoid", {"x"}, {"g"}), "alpha", 1.0f / 6), "beta", 0.5f);
  w.Node("Mul", {"x", "g"}, {"y"});
  w.model.Output("y", type, {3, 5});
  return w;
}

inline WritingModel Normalization(ElementType type, bool centers) {
  WritingModel w = Writing(type, {"recognize_normalization"});
  w.Input("x", {2, 3, 8}).Number("two", 2).Number("epsilon", 1e-3);
  w.model.Ints("axes", {-1});
  w.Numbers("g", {8}, {1, 2, 0.5, -1, 1, 1.5, 1, 0.25});
  if (centers) {
    w.Node("ReduceMean", {"x", "axes"}, {"mean"});
    w.Node("Sub", {"x", "mean"}, {"d"});
  }
  const std::string d = centers ? "d" : "x";
  w.Node("Pow", {d, "two"}, {"p"});
  w.Node("ReduceMean", {"p", "axes"}, {"v"});
  w.Node("Add", {"v", "epsilon"}, {"ve"});
  w.Node("Sqrt", {"ve"}, {"s"});
  w.Node("Div", {d, "s"}, {"n"});
  w.Node("Mul", {"n", "g"}, {"y"});
  w.model.Output("y", type, {2, 3, 8});
  return w;
}

inline WritingModel InGroups(ElementType type) {
  WritingModel w = Writing(type, {"recognize_group_normalization"});
  w.Input("x", {2, 6, 3, 4}).Numbers("scale", {3}, {1, 2, 0.5}).Numbers("bias", {3}, {0, -1, 0.5});
  w.model.Ints("to", {0, 3, -1}).Ints("back", {2, 6, 3, 4});
  w.Node("Reshape", {"x", "to"}, {"r"});
  w.Node("InstanceNormalization", {"r", "scale", "bias"}, {"n"});
  w.Node("Reshape", {"n", "back"}, {"y"});
  w.model.Output("y", type, {2, 6, 3, 4});
  return w;
}

/// Each half of the rows spelled by itself; the angles are those of each batch, or of all.
inline WritingModel Rotation(ElementType type, bool one_batch) {
  WritingModel w = Writing(type, {"recognize_rotary_embedding"});
  w.Input("x", {2, 4, 5, 6}).Input("cos", {one_batch ? 1 : 2, 1, 5, 3}).Input("sin", {one_batch ? 1 : 2, 1, 5, 3});
  w.model.Ints("zero", {0}).Ints("half", {3}).Ints("end", {6}).Ints("axis", {3});
  w.Node("Slice", {"x", "zero", "half", "axis"}, {"x1"});
  w.Node("Slice", {"x", "half", "end", "axis"}, {"x2"});
  w.Node("Mul", {"x1", "cos"}, {"x1c"});
  w.Node("Mul", {"x2", "sin"}, {"x2s"});
  w.Node("Mul", {"x2", "cos"}, {"x2c"});
  w.Node("Mul", {"x1", "sin"}, {"x1s"});
  w.Node("Sub", {"x1c", "x2s"}, {"y1"});
  w.Node("Add", {"x2c", "x1s"}, {"y2"});
  Int(w.Node("Concat", {"y1", "y2"}, {"y"}), "axis", -1);
  w.model.Output("y", type, {2, 4, 5, 6});
  return w;
}

/// Keys and values of two heads, each repeated for two of the queries'.
inline WritingModel RepeatedHeads(ElementType type) {
  WritingModel w = Writing(type, {"fold_repeated_kv_heads"});
  w.Input("q", {2, 4, 5, 8}).Input("k", {2, 2, 7, 8}).Input("v", {2, 2, 7, 8});
  w.model.Ints("axis", {2}).Ints("grown", {1, 1, 2, 1, 1}).Ints("joined", {2, 4, 7, 8});
  for (const std::string name : {"k", "v"}) {
    w.Node("Unsqueeze", {name, "axis"}, {name + "u"});
    w.Node("Expand", {name + "u", "grown"}, {name + "e"});
    w.Node("Reshape", {name + "e", "joined"}, {name + "r"});
  }
  w.Node("Attention", {"q", "kr", "vr"}, {"y"});
  w.model.Output("y", type, {2, 4, 5, 8});
  return w;
}

/// A matrix of bytes that is dequantized with a scale for each column.
inline WritingModel NBitsWeights(ElementType type) {
  WritingModel w = Writing(type, {"recognize_matmul_nbits"});
  w.Input("x", {3, 64}).Numbers("scale", {8}, {0.01, 0.02, 0.01, 0.005, 0.01, 0.01, 0.02, 0.015});
  w.Weights("w", ElementType::kInt8, {64, 8});
  Int(w.Node("DequantizeLinear", {"w", "scale"}, {"d"}), "axis", 1);
  w.Node("MatMul", {"x", "d"}, {"y"});
  w.model.Output("y", type, {3, 8});
  return w;
}

inline WritingModel IntegerMatMul(ElementType x, ElementType weights) {
  WritingModel w = Writing(ElementType::kFloat, {"fuse_integer_matmul"});
  w.Bytes("x", x, {5, 8}).Weights("w", weights, {8, 6});
  w.Dequantize("x", x, 0.02f, "xd");
  w.Dequantize("w", weights, 0.01f, "wd");
  w.Node("MatMul", {"xd", "wd"}, {"y"});
  w.model.Output("y", ElementType::kFloat, {5, 6});
  return w;
}

/// Conv, MatMul or Gemm of bytes with constant bytes. The scales are such that no result lies between two bytes.
inline WritingModel QuantizedWeights(const std::string& op, ElementType x, ElementType weights, ElementType y) {
  WritingModel w = Writing(ElementType::kFloat, {"fuse_quantized"});
  const bool is_conv = op == "Conv";
  w.Bytes("x", x, is_conv ? Dims{1, 4, 5, 5} : Dims{5, 8});
  w.Weights("w", weights, is_conv ? Dims{6, 4, 3, 3} : Dims{8, 6});
  w.Dequantize("x", x, 0.02f, "xd");
  w.Dequantize("w", weights, 0.011f, "wd");
  w.Node(op, {"xd", "wd"}, {"f"});
  w.QuantizeTo("f", y, 0.3137f);
  return w;
}

inline WritingModel QuantizedBinary(const std::string& op, ElementType bytes) {
  WritingModel w = Writing(ElementType::kFloat, {"fuse_quantized"});
  w.Bytes("a", bytes, {5, 8}).Bytes("b", bytes, {8});
  w.Dequantize("a", bytes, 0.02f, "ad");
  w.Dequantize("b", bytes, 0.011f, "bd");
  w.Node(op, {"ad", "bd"}, {"f"});
  w.QuantizeTo("f", bytes, 0.03137f);
  return w;
}

inline WritingModel QuantizedAverage(ElementType bytes) {
  WritingModel w = Writing(ElementType::kFloat, {"fuse_quantized"});
  w.Bytes("x", bytes, {1, 4, 5, 5});
  w.Dequantize("x", bytes, 0.02f, "xd");
  w.Node("GlobalAveragePool", {"xd"}, {"f"});
  w.QuantizeTo("f", bytes, 0.03137f);
  return w;
}

/// Parts of one type of bytes, of which the whole is of another.
inline WritingModel QuantizedConcat(ElementType x, ElementType y) {
  WritingModel w = Writing(ElementType::kFloat, {"hoist_quantize_over_concat"});
  w.Bytes("a", x, {2, 3}).Bytes("b", x, {2, 5});
  w.Dequantize("a", x, 0.02f, "ad");
  w.Dequantize("b", x, 0.011f, "bd");
  Int(w.Node("Concat", {"ad", "bd"}, {"f"}), "axis", 1);
  w.QuantizeTo("f", y, 0.03137f);
  return w;
}

}  // namespace tessera::testing
