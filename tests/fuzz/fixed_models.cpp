#include "fixed_models.h"

#include "attributes.h"
#include "model_builder.h"
#include "waves.h"

namespace tessera::fuzz {
namespace {

using testing::Int;
using testing::Ints;
using testing::ModelBuilder;
using testing::Text;
using testing::Waves;

ModelBuilder& Weights(ModelBuilder& model, const std::string& name, const std::vector<int64_t>& dims) {
  return model.Floats(name, dims, Waves(Shape(dims).num_elements(), 0.37f, 0.3f));
}

Value Numbers(const Shape& shape) { return Tensor::Of<float>(shape, Waves(shape.num_elements(), 0.21f, 1)); }

/// NCHW8c and depthwise convolutions, a residual, pooling, a resize of a size that an input says, and a classifier.
FixedModel ConvolutionNet() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, 3, -1, -1})
      .Output("y", ElementType::kFloat, {-1, 10})
      .Output("top", ElementType::kInt64, {-1, 2});
  Weights(model, "w1", {16, 3, 3, 3});
  Weights(model, "w2", {16, 1, 3, 3});
  Weights(model, "w3", {16, 16, 1, 1});
  for (const char* name : {"scale", "shift", "mean"}) Weights(model, name, {16});
  model.Floats("variance", {16}, std::vector<float>(16, 1));
  Weights(model, "fc", {16, 10});
  Weights(model, "bias", {10});
  Ints(Ints(model.Node("Conv", {"x", "w1"}, {"c1"}), "pads", {1, 1, 1, 1}), "strides", {2, 2});
  model.Node("BatchNormalization", {"c1", "scale", "shift", "mean", "variance"}, {"n1"});
  model.Node("Relu", {"n1"}, {"r1"});
  Int(Ints(model.Node("Conv", {"r1", "w2"}, {"c2"}), "pads", {1, 1, 1, 1}), "group", 16);
  model.Node("HardSwish", {"c2"}, {"h2"});
  model.Node("Conv", {"h2", "w3"}, {"c3"});
  model.Node("Add", {"c3", "r1"}, {"sum"});
  model.Floats("factors", {4}, {1, 1, 1.5f, 2});
  Text(model.Node("Resize", {"sum", "", "factors"}, {"wide"}), "mode", "linear");
  Ints(Ints(model.Node("MaxPool", {"wide"}, {"pool"}), "kernel_shape", {3, 3}), "strides", {2, 2});
  model.Node("GlobalAveragePool", {"pool"}, {"mean_of"});
  model.Node("Flatten", {"mean_of"}, {"flat"});
  model.Node("Gemm", {"flat", "fc", "bias"}, {"logits"});
  model.Node("Softmax", {"logits"}, {"y"});
  model.Ints("two", {2});
  model.Node("TopK", {"y", "two"}, {"values", "top"});
  return {"convolutions", model.proto(), {Numbers({1, 3, 16, 16})}, {Numbers({2, 3, 13, 18})}};
}

/// Embedding, attention written out with a mask, layer normalization, a gated feed-forward part.
FixedModel Transformer() {
  ModelBuilder model;
  model.Input("ids", ElementType::kInt64, {-1, -1}).Output("y", ElementType::kFloat, {-1, -1, 16});
  Weights(model, "table", {32, 16});
  for (const char* name : {"wq", "wk", "wv", "wo"}) Weights(model, name, {16, 16});
  Weights(model, "up", {16, 32});
  Weights(model, "down", {32, 16});
  Weights(model, "gamma", {16});
  Weights(model, "beta", {16});
  model.Ints("heads", {0, 0, 4, 4})
      .Ints("joined", {0, 0, 16})
      .Floats("root", {}, {0.5f})
      .Floats("half", {}, {0.70710678f})
      .Floats("one", {}, {1});
  model.Floats("point5", {}, {0.5f});
  model.Node("Gather", {"table", "ids"}, {"x"});
  for (const std::string part : {"q", "k", "v"}) {
    model.Node("MatMul", {"x", "w" + part}, {part + "0"});
    model.Node("Reshape", {part + "0", "heads"}, {part + "1"});
    Ints(model.Node("Transpose", {part + "1"}, {part}), "perm",
         part == "k" ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3});
  }
  model.Node("MatMul", {"q", "k"}, {"scores"});
  model.Node("Mul", {"scores", "root"}, {"scaled"});
  model.Node("Softmax", {"scaled"}, {"weights"});
  model.Node("MatMul", {"weights", "v"}, {"mixed"});
  Ints(model.Node("Transpose", {"mixed"}, {"turned"}), "perm", {0, 2, 1, 3});
  model.Node("Reshape", {"turned", "joined"}, {"flat"});
  model.Node("MatMul", {"flat", "wo"}, {"projected"});
  model.Node("Add", {"projected", "x"}, {"residual"});
  model.Node("LayerNormalization", {"residual", "gamma", "beta"}, {"normal"});
  model.Node("MatMul", {"normal", "up"}, {"wide"});
  model.Node("Mul", {"wide", "half"}, {"e0"});
  model.Node("Erf", {"e0"}, {"e1"});
  model.Node("Add", {"e1", "one"}, {"e2"});
  model.Node("Mul", {"wide", "e2"}, {"e3"});
  model.Node("Mul", {"e3", "point5"}, {"gelu"});
  model.Node("MatMul", {"gelu", "down"}, {"narrow"});
  model.Node("Add", {"narrow", "normal"}, {"y"});
  const auto ids = [](const Shape& shape) -> Value {
    std::vector<int64_t> numbers(static_cast<size_t>(shape.num_elements()));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i * 7 % 32);
    return Tensor::Of<int64_t>(shape, numbers);
  };
  return {"transformer", model.proto(), {ids({1, 6})}, {ids({2, 9})}};
}

/// Quantize, an integer convolution, a matmul of integers and a block of 8-bit weights, dequantize.
FixedModel QuantizedNet() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, 4, -1, -1}).Output("y", ElementType::kFloat, {-1, 6});
  model.Floats("s", {}, {0.05f})
      .Quantized("z", ElementType::kUInt8, {}, {128})
      .Floats("sw", {8}, std::vector<float>(8, 0.02f));
  std::vector<int> quantized(8 * 4 * 9), matrix(8 * 6);
  for (size_t i = 0; i < quantized.size(); ++i) quantized[i] = static_cast<int>(i * 37 % 255) - 127;
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<int>(i * 53 % 255) - 127;
  model.Quantized("w", ElementType::kInt8, {8, 4, 3, 3}, quantized)
      .Quantized("zw", ElementType::kInt8, {8}, std::vector<int>(8, 0));
  model.Quantized("m", ElementType::kInt8, {8, 6}, matrix)
      .Quantized("zm", ElementType::kInt8, {}, {0})
      .Floats("sm", {}, {0.02f});
  model.Node("QuantizeLinear", {"x", "s", "z"}, {"xq"});
  Ints(model.Node("QLinearConv", {"xq", "s", "z", "w", "sw", "zw", "s", "z"}, {"cq"}), "pads", {1, 1, 1, 1});
  model.Node("DequantizeLinear", {"cq", "s", "z"}, {"c"});
  model.Node("Relu", {"c"}, {"r"});
  model.Node("GlobalAveragePool", {"r"}, {"g"});
  model.Node("Flatten", {"g"}, {"f"});
  model.Node("QuantizeLinear", {"f", "s", "z"}, {"fq"});
  model.Node("QLinearMatMul", {"fq", "s", "z", "m", "sm", "zm", "s", "z"}, {"pq"});
  model.Node("DequantizeLinear", {"pq", "s", "z"}, {"p"});
  model.Node("DynamicQuantizeLinear", {"p"}, {"dq", "ds", "dz"});
  model.Node("DequantizeLinear", {"dq", "ds", "dz"}, {"y"});
  return {"quantized", model.proto(), {Numbers({1, 4, 8, 8})}, {Numbers({3, 4, 5, 7})}};
}

onnx::GraphProto& Body(onnx::NodeProto& node, const char* name) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::GRAPH);
  attribute.mutable_g()->set_name(name);
  return *attribute.mutable_g();
}

/// A loop that collects strings in a sequence and numbers in a scan, a branch, and an optional.
FixedModel ControlFlow() {
  ModelBuilder model;
  model.Input("count", ElementType::kInt64, {})
      .Input("words", ElementType::kString, {-1})
      .Input("x", ElementType::kFloat, {-1, 3});
  model.Output("text", ElementType::kString, {-1})
      .Output("sums", ElementType::kFloat, {-1, 3})
      .Output("picked", ElementType::kFloat, {-1, 3});
  model.Ints("zero", {0}).Constant("three", {}, std::span<const int64_t>(std::vector<int64_t>{3}));
  Int(model.Node("SequenceEmpty", {}, {"none"}), "dtype", onnx::TensorProto::STRING);
  Int(model.Node("ReduceSum", {"x", "zero"}, {"start"}), "keepdims", 0);
  onnx::GraphProto& body = Body(model.Node("Loop", {"count", "", "none", "start"}, {"all", "last", "sums"}), "body");
  ModelBuilder::Declare(body.add_input(), "i", ElementType::kInt64, {});
  ModelBuilder::Declare(body.add_input(), "more", ElementType::kBool, {});
  body.add_input()->set_name("have");
  body.mutable_input(2)->mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::STRING);
  ModelBuilder::Declare(body.add_input(), "v", ElementType::kFloat, {3});
  ModelBuilder::AddNode(body, "Identity", {"more"}, {"still"});
  ModelBuilder::AddNode(body, "StringConcat", {"words", "words"}, {"twice"});
  ModelBuilder::AddNode(body, "SequenceInsert", {"have", "twice"}, {"grown"});
  ModelBuilder::AddNode(body, "Add", {"v", "v"}, {"w"});
  ModelBuilder::AddNode(body, "Identity", {"w"}, {"scanned"});
  for (const char* name : {"still", "grown", "w", "scanned"}) body.add_output()->set_name(name);
  Int(model.Node("ConcatFromSequence", {"all"}, {"text"}), "axis", 0);
  model.Node("Greater", {"count", "three"}, {"many"});
  onnx::NodeProto& branch = model.Node("If", {"many"}, {"picked"});
  ModelBuilder::AddNode(Body(branch, "then_branch"), "Neg", {"x"}, {"n"});
  ModelBuilder::AddNode(Body(branch, "else_branch"), "Exp", {"x"}, {"e"});
  branch.mutable_attribute(0)->mutable_g()->add_output()->set_name("n");
  branch.mutable_attribute(1)->mutable_g()->add_output()->set_name("e");
  const auto inputs = [](int64_t count, std::vector<std::string> words, const Shape& shape) -> std::vector<Value> {
    return {Tensor::Of<int64_t>({}, std::vector<int64_t>{count}),
            Tensor::Of<std::string>({static_cast<int64_t>(words.size())}, std::span<const std::string>(words)),
            Numbers(shape)};
  };
  return {"control_flow", model.proto(), inputs(3, {"a", "a text that no short string holds", ""}, {2, 3}),
          inputs(5, {"b"}, {4, 3})};
}

}  // namespace

std::vector<FixedModel> FixedModels() { return {ConvolutionNet(), Transformer(), QuantizedNet(), ControlFlow()}; }

}  // namespace tessera::fuzz
