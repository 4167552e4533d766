// Sizes that are known at run time only, and turn out to be 0.

#include <functional>

#include "error_of.h"
#include "providers/onednn_models.h"

namespace tessera::testing {
namespace {

/// On oneDNN as on the CPU provider; all nodes are oneDNN's.
void ExpectBoth(const ModelBuilder& model, const std::vector<std::vector<Value>>& runs) {
  SessionOptions options = OnProvider("dnnl"), plain = OnProvider("cpu");
  options.optimization_level = plain.optimization_level = OptimizationLevel::kNone;
  const Session session = model.Session(options), reference = model.Session(plain);
  for (const auto& node : session.placement().nodes) EXPECT_EQ(node.provider, "DnnlExecutionProvider") << node.op_type;
  for (const std::vector<Value>& inputs : runs) {
    SCOPED_TRACE(::testing::Message() << inputs[0].tensor().shape()[0] << " first");
    std::vector<Value> results(session.outputs().size()), expected(results.size());
    reference.Run(inputs, expected);
    ASSERT_EQ(ErrorOf([&] { session.Run(inputs, results); }), "no error");
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_EQ(results[i].tensor().shape(), expected[i].tensor().shape()) << "output " << i;
      ExpectNear(ToVector(results[i]), ToVector(expected[i]));
    }
  }
}

TEST(OnednnEmpty, Recurrences) {
  constexpr int64_t kInputs = 5, kHidden = 6;
  for (const char* op : {"LSTM", "GRU"}) {
    for (const int64_t directions : {1, 2}) {
      for (const bool states : {false, true}) {
        SCOPED_TRACE(::testing::Message() << op << ", " << directions << " directions, states given: " << states);
        const bool has_cell = std::string_view(op) == "LSTM";
        const int64_t gates = has_cell ? 4 : 3;
        ModelBuilder model;
        model.Input("x", ElementType::kFloat, {-1, -1, kInputs});
        Weights(model, "w", {directions, gates * kHidden, kInputs});
        Weights(model, "r", {directions, gates * kHidden, kHidden});
        std::vector<std::string> inputs = {"x", "w", "r", "", ""}, outputs = {"y", "yh"};
        if (has_cell) outputs.push_back("yc");
        if (states) {
          for (size_t i = 1; i < outputs.size(); ++i) {
            inputs.push_back("s" + std::to_string(i));
            model.Input(inputs.back(), ElementType::kFloat, {directions, -1, kHidden});
          }
        }
        model.Output("y", ElementType::kFloat, {-1, directions, -1, kHidden});
        for (size_t i = 1; i < outputs.size(); ++i)
          model.Output(outputs[i], ElementType::kFloat, {directions, -1, kHidden});
        auto& node = ModelBuilder::AddNode(*model.proto().mutable_graph(), op, inputs, outputs);
        Int(node, "hidden_size", kHidden);
        Text(node, "direction", directions == 2 ? "bidirectional" : "forward");
        std::vector<std::vector<Value>> runs;
        for (const auto& [steps, batch] : {std::pair(0, 3), std::pair(4, 0), std::pair(0, 0), std::pair(4, 3)}) {
          auto& values = runs.emplace_back();
          values.emplace_back(RandomTensor({steps, batch, kInputs}, 1));
          for (size_t i = 1; states && i < outputs.size(); ++i)
            values.emplace_back(RandomTensor({directions, batch, kHidden}, 2));
        }
        ExpectBoth(model, runs);
      }
    }
  }
}

/// Weights of nothing are the CPU provider's.
TEST(OnednnEmpty, RecurrencesOfNothing) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, -1, -1}).Output("y", ElementType::kFloat, {-1, 1, -1, 6});
  model.Floats("w", {1, 24, 0}, {});
  Weights(model, "r", {1, 24, 6});
  Int(model.Node("LSTM", {"x", "w", "r"}, {"y"}), "hidden_size", 6);
  const Session session = model.Session(OnProvider("dnnl"));
  EXPECT_EQ(session.placement().nodes[0].provider, "CPUExecutionProvider");
  EXPECT_EQ(RunOne(session, Tensor(ElementType::kFloat, Shape{2, 3, 0})), std::vector<float>(36, 0.0f));
}

/// No sequences, no queries, no keys, no numbers in a head.
TEST(OnednnEmpty, Attention) {
  ModelBuilder model(23);
  for (const char* name : {"q", "k", "v"}) model.Input(name, ElementType::kFloat, {-1, 2, -1, -1});
  model.Output("y", ElementType::kFloat, {-1, 2, -1, -1});
  model.Node("Attention", {"q", "k", "v"}, {"y"});
  std::vector<std::vector<Value>> runs;
  for (const Shape& s : {Shape{0, 3, 4, 5}, Shape{2, 0, 4, 5}, Shape{2, 3, 0, 5}, Shape{2, 3, 4, 0}, Shape{2, 3, 4, 5}}) {
    runs.push_back({RandomTensor({s[0], 2, s[1], s[3]}, 1), RandomTensor({s[0], 2, s[2], s[3]}, 2),
                    RandomTensor({s[0], 2, s[2], 3}, 3)});
  }
  ExpectBoth(model, runs);
}

struct Case {
  const char* name;
  std::vector<int64_t> x;  // as declared; -1 is 0 in one run and 3 in another
  std::function<void(ModelBuilder&)> add;
};

std::vector<Case> Images() {
  return {{"Conv",
           {-1, 4, 6, 6},
           [](ModelBuilder& model) { Ints(model.Node("Conv", {"x", "w"}, {"y"}), "pads", {1, 1, 1, 1}); }},
          {"ConvTranspose",
           {-1, 4, 6, 6},
           [](ModelBuilder& model) { Ints(model.Node("ConvTranspose", {"x", "w"}, {"y"}), "strides", {2, 2}); }},
          {"ConvTranspose of tiles",
           {-1, 4, 6, 6},
           [](ModelBuilder& model) { Ints(model.Node("ConvTranspose", {"x", "w"}, {"y"}), "strides", {3, 3}); }},
          {"MaxPool",
           {-1, 4, 6, 6},
           [](ModelBuilder& model) { Ints(model.Node("MaxPool", {"x"}, {"y"}), "kernel_shape", {2, 2}); }},
          {"GlobalAveragePool", {-1, 4, 6, 6}, [](ModelBuilder& model) { model.Node("GlobalAveragePool", {"x"}, {"y"}); }},
          {"LRN",
           {-1, 4, 6, 6},
           [](ModelBuilder& model) {
             Ints(model.Node("Conv", {"x", "w"}, {"a"}), "pads", {1, 1, 1, 1});
             Int(model.Node("LRN", {"a"}, {"y"}), "size", 3);
           }},
          {"Resize",
           {-1, 4, 6, 6},
           [](ModelBuilder& model) {
             model.Floats("scales", {4}, {1, 1, 2, 2});
             model.Node("Resize", {"x", "", "scales"}, {"y"});
           }},
          {"BatchNormalization",
           {-1, 4, 6, 6},
           [](ModelBuilder& model) {
             model.Node("Exp", {"x"}, {"a"});
             model.Node("BatchNormalization", {"a", "c", "c", "c", "c"}, {"y"});
           }},
          {"InstanceNormalization", {-1, 4, 6, 6}, [](ModelBuilder& model) {
             model.Node("InstanceNormalization", {"x", "c", "c"}, {"y"});
           }}};
}

std::vector<Case> Rows() {
  return {{"GroupNormalization",
           {-1, 4},
           [](ModelBuilder& model) { Int(model.Node("GroupNormalization", {"x", "c", "c"}, {"y"}), "num_groups", 2); }},
          {"DequantizeLinear",
           {-1, 4},
           [](ModelBuilder& model) {
             model.Floats("s", {4}, {0.1f, 0.2f, 0.3f, 0.4f}).Quantized("z", ElementType::kInt8, {4}, {1, 2, 3, 4});
             model.Node("QuantizeLinear", {"x", "s", "z"}, {"q"});
             model.Node("DequantizeLinear", {"q", "s", "z"}, {"y"});
           }},
          {"MatMul", {-1, 4}, [](ModelBuilder& model) { model.Node("MatMul", {"x", "m"}, {"y"}); }},
          {"Gemm", {-1, 4}, [](ModelBuilder& model) { model.Node("Gemm", {"x", "m", "c"}, {"y"}); }},
          {"LayerNormalization",
           {-1, 4},
           [](ModelBuilder& model) { model.Node("LayerNormalization", {"x", "c", "c"}, {"y"}); }},
          {"Softmax",
           {-1, 4},
           [](ModelBuilder& model) {
             model.Node("MatMul", {"x", "m"}, {"a"});
             Int(model.Node("Softmax", {"a"}, {"y"}), "axis", 1);
           }},
          {"PRelu", {-1, 4}, [](ModelBuilder& model) { model.Node("PRelu", {"x", "c"}, {"y"}); }},
          {"Exp", {-1, 4}, [](ModelBuilder& model) { model.Node("Exp", {"x"}, {"y"}); }},
          {"HardSigmoid of a matmul",
           {-1, 4},
           [](ModelBuilder& model) {
             model.Node("MatMul", {"x", "m"}, {"a"});
             model.Node("HardSigmoid", {"a"}, {"y"});
           }},
          {"ReduceSum",
           {-1, 4},
           [](ModelBuilder& model) {
             model.Ints("axes", {0});
             Int(model.Node("ReduceSum", {"x", "axes"}, {"y"}), "keepdims", 1);
           }},
          {"Transpose of a matmul",
           {-1, 4},
           [](ModelBuilder& model) {
             model.Node("MatMul", {"x", "m"}, {"a"});
             model.Node("Transpose", {"a"}, {"y"});
           }},
          {"Concat of matmuls", {-1, 4}, [](ModelBuilder& model) {
             model.Node("MatMul", {"x", "m"}, {"a"});
             Int(model.Node("Concat", {"a", "x"}, {"y"}), "axis", 1);
           }}};
}

TEST(OnednnEmpty, Batches) {
  std::vector<Case> cases = Images();
  for (Case& one : Rows()) cases.push_back(std::move(one));
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, one.x).Output("y", ElementType::kFloat, std::vector<int64_t>(one.x.size(), -1));
    Weights(model, "w", {4, 4, 3, 3});
    Weights(model, "m", {4, 4});
    Weights(model, "c", {4}, 0.5f, 1.0f);
    one.add(model);
    std::vector<std::vector<Value>> runs;
    for (const int64_t batch : {0, 3}) {
      std::vector<int64_t> dims = one.x;
      dims[0] = batch;
      runs.push_back({RandomTensor(Shape(dims), 1)});
    }
    ExpectBoth(model, runs);
  }
}

}  // namespace
}  // namespace tessera::testing
