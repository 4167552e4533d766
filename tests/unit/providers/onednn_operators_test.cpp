#include "providers/onednn_models.h"

namespace tessera::testing {
namespace {

/// Runs on both providers and compares; every node that `takes` says is oneDNN's.
void ExpectOnOnednn(const ModelBuilder& model, const std::vector<Value>& inputs, bool takes = true, float tolerance = 1e-4f) {
  SessionOptions options = OnProvider("dnnl"), plain = OnProvider("cpu");
  options.optimization_level = plain.optimization_level = OptimizationLevel::kNone;
  const Session session = model.Session(options);
  for (const auto& node : session.placement().nodes) {
    EXPECT_EQ(node.provider, takes ? "DnnlExecutionProvider" : "CPUExecutionProvider") << node.op_type << (node.refusals.empty() ? "" : ": " + node.refusals[0].second);
  }
  std::vector<Value> results(session.outputs().size()), expected(results.size());
  session.Run(inputs, results);
  model.Session(plain).Run(inputs, expected);
  for (size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i].tensor().shape(), expected[i].tensor().shape());
    ExpectNear(ToVector(results[i]), ToVector(expected[i]), tolerance);
  }
}

TEST(OnednnOperators, Reductions) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"}) {
    for (const std::vector<int64_t>& axes : {std::vector<int64_t>{2}, {-1, 1}, {0}, {}, {3}}) {
      for (const int64_t keeps : {0, 1}) {
        SCOPED_TRACE(::testing::Message() << op << " of " << axes.size() << " axes, keepdims " << keeps);
        ModelBuilder model;
        model.Input("x", ElementType::kFloat, {3, 5, 1, 7});
        ModelBuilder::Declare(model.proto().mutable_graph()->add_output(), "y", ElementType::kFloat, {});
        model.proto().mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
        model.Node("Abs", {"x"}, {"a"});
        auto& node = axes.empty() ? model.Node(op, {"a"}, {"y"}) : model.Node(op, {"a", "axes"}, {"y"});
        if (!axes.empty()) model.Ints("axes", axes);
        Int(node, "keepdims", keeps);
        ExpectOnOnednn(model, {RandomTensor({3, 5, 1, 7}, 4)});
      }
    }
  }
}

TEST(OnednnOperators, Elementwise) {
  for (const char* op : {"Exp", "Neg", "Reciprocal", "Round", "Mish", "Pow"}) {
    SCOPED_TRACE(op);
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {2, 3, 17}).Output("y", ElementType::kFloat, {2, 3, 17});
    model.Floats("two", {}, {2.0f});
    const bool of_two = std::string_view(op) == "Pow";
    if (std::string_view(op) == "Reciprocal") {
      model.Floats("one", {}, {3.0f});
      model.Node("Add", {"x", "one"}, {"a"});
    } else {
      model.Floats("four", {}, {4.0f});
      model.Node("Mul", {"x", "four"}, {"a"});
    }
    if (of_two) {
      model.Node(op, {"a", "two"}, {"y"});
    } else {
      model.Node(op, {"a"}, {"y"});
    }
    ExpectOnOnednn(model, {RandomTensor({2, 3, 17}, 4)});
  }
}

/// Of which oneDNN would give the other operand.
TEST(OnednnOperators, ExtremesOfNaN) {
  for (const char* op : {"Max", "Min"}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {64}).Input("z", ElementType::kFloat, {64}).Output("y", ElementType::kFloat, {64});
    model.Node(op, {"x", "z"}, {"y"});
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> x(64, 1.0f), z(64, 2.0f);
    x[3] = z[7] = nan;
    std::vector<Value> results(1);
    model.Session(OnProvider("dnnl")).Run(std::vector<Value>{Tensor::Of<float>(Shape{64}, x), Tensor::Of<float>(Shape{64}, z)}, results);
    const auto y = ToVector(results[0]);
    EXPECT_TRUE(std::isnan(y[3])) << op;
    EXPECT_TRUE(std::isnan(y[7])) << op;
  }
}

TEST(OnednnOperators, SlopesOfEveryShape) {
  for (const std::vector<int64_t>& slope : {std::vector<int64_t>{1}, {6, 1, 1}, {2, 6, 4, 5}, {5}, {1, 1, 4, 1}}) {
    SCOPED_TRACE(::testing::Message() << slope.size() << " dimensions from " << slope[0]);
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {2, 6, 4, 5}).Output("y", ElementType::kFloat, {2, 6, 4, 5});
    model.Floats("s", slope, Random(static_cast<size_t>(Shape(slope).num_elements()), 3));
    model.Node("PRelu", {"x", "s"}, {"y"});
    ExpectOnOnednn(model, {RandomTensor({2, 6, 4, 5}, 4)});
  }
}

struct ResizeCase {
  const char *mode, *positions, *rounding;
  std::vector<float> scales;
  std::vector<int64_t> sizes;
  bool takes;
};

TEST(OnednnOperators, Resizing) {
  const ResizeCase cases[] = {{"nearest", "asymmetric", "floor", {1, 1, 2, 3}, {}, true},
                              {"nearest", "half_pixel", "round_prefer_ceil", {1, 1, 3, 2}, {}, true},
                              {"nearest", "half_pixel", "round_prefer_floor", {}, {2, 3, 12, 8}, true},
                              {"nearest", "asymmetric", "ceil", {1, 1, 2, 2}, {}, false},
                              {"nearest", "half_pixel", "round_prefer_floor", {1, 1, 0.5f, 0.5f}, {}, false},
                              {"linear", "half_pixel", "floor", {1, 1, 2, 0.5f}, {}, true},
                              {"linear", "half_pixel", "floor", {}, {2, 3, 7, 11}, true},
                              {"linear", "half_pixel", "floor", {1, 1, 1.3f, 1.3f}, {}, false},
                              {"linear", "align_corners", "floor", {1, 1, 2, 2}, {}, false},
                              {"cubic", "half_pixel", "floor", {1, 1, 2, 2}, {}, false},
                              {"linear", "half_pixel", "floor", {1, 2, 2, 2}, {}, false}};
  for (const ResizeCase& c : cases) {
    SCOPED_TRACE(::testing::Message() << c.mode << " " << c.positions << " " << c.rounding << ", by " << (c.scales.empty() ? "sizes" : "scales"));
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {2, 3, 6, 4}).Output("y", ElementType::kFloat, {-1, -1, -1, -1});
    if (!c.scales.empty()) model.Floats("scales", {4}, c.scales);
    if (!c.sizes.empty()) model.Ints("sizes", c.sizes);
    auto& node = c.scales.empty() ? model.Node("Resize", {"x", "", "", "sizes"}, {"y"}) : model.Node("Resize", {"x", "", "scales"}, {"y"});
    Text(node, "mode", c.mode);
    Text(node, "coordinate_transformation_mode", c.positions);
    Text(node, "nearest_mode", c.rounding);
    ExpectOnOnednn(model, {RandomTensor({2, 3, 6, 4}, 4)}, c.takes);
  }
}

TEST(OnednnOperators, Normalizations) {
  for (const int64_t axis : {-1, 1}) {
    for (const bool shifts : {true, false}) {
      SCOPED_TRACE(::testing::Message() << "axis " << axis << ", shift " << shifts);
      ModelBuilder model;
      model.Input("x", ElementType::kFloat, {2, 5, 12}).Output("y", ElementType::kFloat, {2, 5, 12});
      const std::vector<int64_t> dims = axis == -1 ? std::vector<int64_t>{12} : std::vector<int64_t>{5, 12};
      for (const char* name : {"scale", "shift"}) model.Floats(name, dims, Random(static_cast<size_t>(Shape(dims).num_elements()), 3));
      Int(model.Node("LayerNormalization", {"x", "scale", shifts ? "shift" : ""}, {"y"}), "axis", axis);
      ExpectOnOnednn(model, {RandomTensor({2, 5, 12}, 4)});
    }
  }
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 5, 6, 7}).Output("y", ElementType::kFloat, {2, 5, 6, 7});
  for (const char* name : {"scale", "shift"}) Weights(model, name, {5});
  model.Node("InstanceNormalization", {"x", "scale", "shift"}, {"y"});
  ExpectOnOnednn(model, {RandomTensor({2, 5, 6, 7}, 4)});
}

/// `states`: 0 none given, 1 the first, 2 both.
void TestRecurrent(const std::string& op, const char* direction, int64_t resets_after, bool bias, int states) {
  SCOPED_TRACE(::testing::Message() << op << " " << direction << ", linear_before_reset " << resets_after << ", bias " << bias << ", states " << states);
  constexpr int64_t kSteps = 5, kBatch = 3, kInputs = 7, kHidden = 6;
  const int64_t directions = std::string_view(direction) == "bidirectional" ? 2 : 1, gates = op == "LSTM" ? 4 : 3;
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {kSteps, kBatch, kInputs}).Output("y", ElementType::kFloat, {kSteps, directions, kBatch, kHidden});
  model.Output("yh", ElementType::kFloat, {directions, kBatch, kHidden});
  Weights(model, "w", {directions, gates * kHidden, kInputs});
  Weights(model, "r", {directions, gates * kHidden, kHidden});
  Weights(model, "b", {directions, 2 * gates * kHidden});
  std::vector<Value> values = {RandomTensor({kSteps, kBatch, kInputs}, 4)};
  for (int i = 0; i < states; ++i) {
    model.Input("s" + std::to_string(i), ElementType::kFloat, {directions, kBatch, kHidden});
    values.push_back(RandomTensor({directions, kBatch, kHidden}, 5 + static_cast<unsigned>(i)));
  }
  std::vector<std::string> inputs = {"x", "w", "r", bias ? "b" : "", ""}, outputs = {"y", "yh"};
  for (int i = 0; i < states; ++i) inputs.push_back("s" + std::to_string(i));
  if (op == "LSTM") {
    outputs.push_back("yc");
    model.Output("yc", ElementType::kFloat, {directions, kBatch, kHidden});
  }
  auto& node = ModelBuilder::AddNode(*model.proto().mutable_graph(), op, inputs, outputs);
  Int(node, "hidden_size", kHidden);
  Text(node, "direction", direction);
  if (op == "GRU") Int(node, "linear_before_reset", resets_after);
  ExpectOnOnednn(model, values);
}

TEST(OnednnOperators, Recurrences) {
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    for (const bool bias : {true, false}) {
      for (const int states : {0, 1, 2}) TestRecurrent("LSTM", direction, 0, bias, states);
      for (const int64_t resets_after : {0, 1}) {
        for (const int states : {0, 1}) TestRecurrent("GRU", direction, resets_after, bias, states);
      }
    }
  }
}

/// Only the last state is asked for, and what follows reads it.
TEST(OnednnOperators, LastStates) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {4, 2, 7}).Output("y", ElementType::kFloat, {2, 1, 2, 3});
  Weights(model, "w", {2, 24, 7});
  Weights(model, "r", {2, 24, 6});
  model.Floats("p", {6, 3}, Random(18, 3));
  auto& node = model.Node("LSTM", {"x", "w", "r"}, {"", "h"});
  Int(node, "hidden_size", 6);
  Text(node, "direction", "bidirectional");
  model.Node("MatMul", {"h", "p"}, {"m"});
  model.Ints("shape", {2, 1, 2, 3});
  model.Node("Reshape", {"m", "shape"}, {"y"});
  ExpectOnOnednn(model, {RandomTensor({4, 2, 7}, 4)});
}

}  // namespace
}  // namespace tessera::testing
