// Models whose own numbers are of bfloat16.

#include <cstring>
#include <functional>

#include "providers/onednn_models.h"

namespace tessera::testing {
namespace {

Tensor Halves(const Tensor& floats) {
  std::vector<BFloat16> values;
  for (const float value : floats.values<float>()) values.emplace_back(value);
  return Tensor::Of<BFloat16>(floats.shape(), values);
}

void Retype(onnx::ValueInfoProto& value) {
  auto& type = *value.mutable_type()->mutable_tensor_type();
  if (type.elem_type() == onnx::TensorProto::FLOAT) type.set_elem_type(onnx::TensorProto::BFLOAT16);
}

/// The same model of bfloat16; constants whose names begin with "keep" stay as they are.
ModelBuilder OfHalfPrecision(ModelBuilder model) {
  onnx::GraphProto& graph = *model.proto().mutable_graph();
  for (auto& input : *graph.mutable_input()) Retype(input);
  for (auto& output : *graph.mutable_output()) Retype(output);
  for (auto& constant : *graph.mutable_initializer()) {
    if (constant.data_type() != onnx::TensorProto::FLOAT || constant.name().starts_with("keep")) continue;
    const std::string raw = constant.raw_data();
    std::string halves;
    for (size_t i = 0; i < raw.size(); i += sizeof(float)) {
      float value;
      std::memcpy(&value, raw.data() + i, sizeof(value));
      const BFloat16 half(value);
      halves.append(reinterpret_cast<const char*>(&half), sizeof(half));
    }
    constant.set_raw_data(halves);
    constant.set_data_type(onnx::TensorProto::BFLOAT16);
  }
  return model;
}

std::vector<float> RunHalfPrecision(const Session& session, const std::vector<Value>& inputs) {
  std::vector<Value> results(1);
  session.Run(inputs, results);
  EXPECT_TRUE(results[0].tensor().is(ElementType::kBFloat16));
  std::vector<float> numbers;
  for (const BFloat16 value : results[0].tensor().values<BFloat16>()) numbers.push_back(static_cast<float>(value));
  return numbers;
}

struct Fp16Model {
  const char* name;
  std::vector<int64_t> x, y;
  std::function<void(ModelBuilder&)> add;
};

std::vector<Fp16Model> HalfImages() {
  const auto pads = [](onnx::NodeProto& node) -> onnx::NodeProto& { return Ints(node, "pads", {1, 1, 1, 1}); };
  return {{"residual block",
           {2, 16, 8, 8},
           {2, 16, 8, 8},
           [=](ModelBuilder& model) {
             pads(model.Node("Conv", {"x", "w", "c"}, {"a"}));
             model.Node("Relu", {"a"}, {"b"});
             pads(model.Node("Conv", {"b", "w"}, {"d"}));
             model.Node("Add", {"d", "x"}, {"e"});
             model.Node("Relu", {"e"}, {"y"});
           }},
          {"few channels",
           {1, 3, 9, 9},
           {1, 4, 4, 4},
           [=](ModelBuilder& model) {
             pads(model.Node("Conv", {"x", "w3"}, {"a"}));
             Ints(Ints(model.Node("MaxPool", {"a"}, {"y"}), "kernel_shape", {2, 2}), "strides", {2, 2});
           }},
          {"inverted bottleneck",
           {1, 16, 8, 8},
           {1, 16, 8, 8},
           [=](ModelBuilder& model) {
             Int(pads(model.Node("Conv", {"x", "depthwise", "c"}, {"a"})), "group", 16);
             model.Node("HardSwish", {"a"}, {"b"});
             model.Node("GlobalAveragePool", {"b"}, {"g"});
             model.Node("Conv", {"g", "p"}, {"h"});
             model.Node("Sigmoid", {"h"}, {"i"});
             model.Node("Mul", {"b", "i"}, {"j"});
             model.Node("Conv", {"j", "p"}, {"y"});
           }},
          {"normalized",
           {2, 16, 6, 6},
           {2, 16, 6, 6},
           [=](ModelBuilder& model) {
             model.Node("Conv", {"x", "p"}, {"a"});
             model.Node("PRelu", {"a", "slope"}, {"b"});
             model.Node("BatchNormalization", {"b", "c", "c", "c", "c"}, {"d"});
             model.Node("InstanceNormalization", {"d", "c", "c"}, {"y"});
           }},
          {"transposed",
           {1, 16, 5, 5},
           {1, 16, 9, 9},
           [=](ModelBuilder& model) {
             Ints(pads(model.Node("ConvTranspose", {"x", "w", "c"}, {"a"})), "strides", {2, 2});
             model.Node("Relu", {"a"}, {"y"});
           }},
          {"tiles",
           {1, 16, 5, 5},
           {1, 16, 15, 15},
           [=](ModelBuilder& model) { Ints(model.Node("ConvTranspose", {"x", "w", "c"}, {"y"}), "strides", {3, 3}); }},
          {"joined and resized", {1, 16, 4, 4}, {1, 32, 8, 8}, [=](ModelBuilder& model) {
             model.Node("Conv", {"x", "p"}, {"a"});
             Int(model.Node("Concat", {"a", "x"}, {"b"}), "axis", 1);
             model.Floats("keep_scales", {4}, {1, 1, 2, 2});
             model.Node("Resize", {"b", "", "keep_scales"}, {"y"});
           }}};
}

std::vector<Fp16Model> HalfRows() {
  return {{"feed forward",
           {2, 5, 16},
           {2, 5, 16},
           [](ModelBuilder& model) {
             model.Node("LayerNormalization", {"x", "c", "c"}, {"a"});
             model.Node("MatMul", {"a", "m"}, {"b"});
             model.Node("Add", {"b", "c"}, {"d"});
             model.Node("Gelu", {"d"}, {"e"});
             model.Node("MatMul", {"e", "m"}, {"f"});
             model.Node("Add", {"f", "x"}, {"y"});
           }},
          {"heads",
           {1, 6, 16},
           {1, 6, 16},
           [](ModelBuilder& model) {
             model.Ints("apart", {1, 6, 2, 8}).Ints("together", {1, 6, 16});
             model.Node("Reshape", {"x", "apart"}, {"a"});
             Ints(model.Node("Transpose", {"a"}, {"q"}), "perm", {0, 2, 1, 3});
             Ints(model.Node("Transpose", {"a"}, {"k"}), "perm", {0, 2, 3, 1});
             model.Node("MatMul", {"q", "k"}, {"s"});
             Int(model.Node("Softmax", {"s"}, {"t"}), "axis", -1);
             model.Node("MatMul", {"t", "q"}, {"u"});
             Ints(model.Node("Transpose", {"u"}, {"v"}), "perm", {0, 2, 1, 3});
             model.Node("Reshape", {"v", "together"}, {"y"});
           }},
          {"attention",
           {2, 2, 6, 16},
           {2, 2, 6, 16},
           [](ModelBuilder& model) { Int(model.Node("Attention", {"x", "x", "x"}, {"y"}), "is_causal", 1); }},
          {"classifier",
           {3, 16},
           {3, 1},
           [](ModelBuilder& model) {
             Int(model.Node("Gemm", {"x", "m", "c"}, {"a"}), "transB", 1);
             model.Floats("low", {}, {-0.5f}).Floats("high", {}, {0.5f});
             model.Node("Clip", {"a", "low", "high"}, {"b"});
             model.Node("Exp", {"b"}, {"d"});
             model.Ints("axes", {1});
             model.Node("ReduceMean", {"d", "axes"}, {"y"});
           }},
          {"whole numbers",
           {3, 16},
           {3, 16},
           [](ModelBuilder& model) {
             model.Node("Round", {"x"}, {"a"});
             model.Node("Add", {"a", "c"}, {"b"});
             model.Node("Round", {"b"}, {"d"});
             model.Node("MatMul", {"d", "whole"}, {"e"});
             model.Node("Round", {"e"}, {"y"});
           }},
          {"short sums", {3, 4}, {3, 4}, [](ModelBuilder& model) { model.Node("MatMul", {"x", "small"}, {"y"}); }}};
}

TEST(OnednnHalfPrecision, AsFloatsWithinTheirPrecision) {
  if (!HasBfloat16()) GTEST_SKIP() << "no matmuls of bfloat16 here";
  std::vector<Fp16Model> cases = HalfImages();
  for (Fp16Model& one : HalfRows()) cases.push_back(std::move(one));
  for (const Fp16Model& one : cases) {
    for (const OptimizationLevel level : {OptimizationLevel::kNone, OptimizationLevel::kAll}) {
      SCOPED_TRACE(::testing::Message() << one.name << " at level " << static_cast<int>(level));
      ModelBuilder floats(23);
      floats.Input("x", ElementType::kFloat, one.x).Output("y", ElementType::kFloat, one.y);
      Weights(floats, "w", {16, 16, 3, 3}, -0.2f, 0.2f);
      Weights(floats, "w3", {4, 3, 3, 3});
      Weights(floats, "depthwise", {16, 1, 3, 3});
      Weights(floats, "p", {16, 16, 1, 1});
      Weights(floats, "slope", {16, 1, 1});
      Weights(floats, "m", {16, 16});
      Weights(floats, "small", {4, 4});
      floats.Floats("whole", {16, 16}, std::vector<float>(256, 2));
      Weights(floats, "c", {16}, 0.5f, 1.0f);
      one.add(floats);
      const Tensor x = RandomTensor(Shape(one.x), 4);
      SessionOptions options = OnProvider("dnnl");
      options.optimization_level = level;
      const ModelBuilder halves = OfHalfPrecision(floats);
      const Session session = halves.Session(options);
      if (level == OptimizationLevel::kNone) {
        for (const auto& node : session.placement().nodes) {
          EXPECT_EQ(node.provider, "DnnlExecutionProvider")
              << node.op_type << (node.refusals.empty() ? "" : ": " + node.refusals[0].second);
        }
      }
      const std::vector<float> expected = RunOne(floats.Session(OnProvider("cpu")), x);
      ExpectRoughly(RunHalfPrecision(session, {Halves(x)}), expected);
      ExpectRoughly(RunHalfPrecision(halves.Session(OnProvider("cpu")), {Halves(x)}), expected);
    }
  }
}

/// What the CPU provider computes as float32 is left to it, and so is what the processor has no instructions for.
TEST(OnednnHalfPrecision, AreLeftWithoutClaimsOfAll) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {4, 16}).Output("y", ElementType::kFloat, {4, 16});
  Weights(model, "m", {16, 16});
  model.Node("MatMul", {"x", "m"}, {"y"});
  SessionOptions options = OnProvider("dnnl");
  options.optimization_level = OptimizationLevel::kNone;
  options.providers[0].options.clear();
  const auto node = OfHalfPrecision(model).Session(options).placement().nodes[0];
  EXPECT_EQ(node.provider, "CPUExecutionProvider");
  EXPECT_NE(node.refusals[0].second.find(HasBfloat16() ? "claims=all" : "no instructions"), std::string::npos)
      << node.refusals[0].second;
}

}  // namespace
}  // namespace tessera::testing
