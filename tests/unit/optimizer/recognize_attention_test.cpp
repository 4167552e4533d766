#include <array>
#include <limits>
#include <span>

#include "attributes.h"
#include "lowering/lower_graph.h"
#include "optimizer/rewriting.h"
#include "session/session_state.h"

namespace tessera::testing {
namespace {

/// Portable, and in the lowering of providers that have the operator of ai.tessera.
const std::vector<std::string> kRecognized = {"recognize_attention", "recognize_broadcast_attention",
                                              "eliminate_dead_nodes"};

std::vector<std::string> RecognizedAnd(std::vector<std::string> passes) {
  passes.insert(passes.end(), kRecognized.begin(), kRecognized.end());
  return passes;
}

/// Domains of the Attentions in a graph, "onnx" for ONNX's.
std::multiset<std::string> Domains(const Graph& graph) {
  std::multiset<std::string> domains;
  for (const NodeIndex index : graph.TopologicalOrder()) {
    const Node& node = graph.node(index);
    if (node.op_type == "Attention") domains.insert(node.domain.empty() ? "onnx" : node.domain);
  }
  return domains;
}

/// How a model spells attention out.
struct Spelling {
  std::string name;
  std::string scale = "Div";  // "Div" or "Mul" of the scores; "operands" of queries and keys
  std::string mask;           // "Add", "Where", "inverted" (Where that picks the masking number), "both", "floor" or none
  std::string after = "Attention";
};

class RecognizeAttention : public ::testing::TestWithParam<Spelling> {};

TEST_P(RecognizeAttention, HeadsFirst) {
  const Spelling& spelling = GetParam();
  ModelBuilder model(23);
  model.Input("q", ElementType::kFloat, {2, 3, 5, 8}).Input("k", ElementType::kFloat, {2, 3, 7, 8});
  model.Input("v", ElementType::kFloat, {2, 3, 7, 6}).Output("y", ElementType::kFloat, {2, 3, 5, 6});
  model.Floats("c", {}, {2.5f}).Floats("low", {}, {-1e9f});
  Transpose(model, "k", "kt", {0, 1, 3, 2});
  std::string scores = "s";
  if (spelling.scale == "operands") {
    model.Node("Mul", {"q", "c"}, {"qs"});
    model.Node("Div", {"kt", "c"}, {"ks"});
    model.Node("MatMul", {"qs", "ks"}, {"s"});
  } else {
    model.Node("MatMul", {"q", "kt"}, {"s"});
    model.Node(spelling.scale, {"s", "c"}, {"scaled"});
    scores = "scaled";
  }
  if (spelling.mask == "Add" || spelling.mask == "both") {
    model.Input("m", ElementType::kFloat, {2, 1, 1, 7});
    model.Node("Add", {"m", scores}, {"added"});
    scores = "added";
  }
  if (spelling.mask == "Where" || spelling.mask == "both") {
    model.Floats("ignored", {}, {0});
    model.Input("allowed", ElementType::kBool, {5, 7});
    model.Node("Where", {"allowed", scores, "low"}, {"chosen"});
    scores = "chosen";
  }
  if (spelling.mask == "inverted") {
    model.Input("forbidden", ElementType::kBool, {5, 7});
    model.Node("Where", {"forbidden", "low", scores}, {"chosen"});
    scores = "chosen";
  }
  if (spelling.mask == "floor") {
    model.Input("m", ElementType::kFloat, {2, 1, 5, 7}).Floats("lowest", {}, {std::numeric_limits<float>::lowest()});
    model.Node("Mul", {"m", "lowest"}, {"masking"});  // of -2 to 2: overflows both ways
    model.Node("Add", {scores, "masking"}, {"added"});
    model.Node("Max", {"added", "lowest"}, {"floored"});
    scores = "floored";
  }
  Int(model.Node("Softmax", {scores}, {"p"}), "axis", -1);
  model.Node("MatMul", {"p", "v"}, {"y"});
  const Rewriting rewriting(model, kRecognized);
  EXPECT_EQ(rewriting.after(), spelling.after);
  for (int seed = 1; seed < 20; ++seed) EXPECT_EQ(rewriting.Difference(seed, 4, true), "") << seed;
}

INSTANTIATE_TEST_SUITE_P(Spellings, RecognizeAttention,
                         ::testing::Values(Spelling{.name = "Div"}, Spelling{.name = "Mul", .scale = "Mul"},
                                           Spelling{.name = "Operands", .scale = "operands"},
                                           Spelling{.name = "Mask", .mask = "Add"},
                                           Spelling{.name = "Where", .mask = "Where", .after = "Where Attention"},
                                           Spelling{.name = "Inverted", .mask = "inverted", .after = "Where Attention"},
                                           Spelling{.name = "Floor", .mask = "floor", .after = "Mul Max Attention"},
                                           Spelling{.name = "Both", .mask = "both", .after = "Where Attention"}),
                         [](const auto& info) { return info.param.name; });

TEST(RecognizeAttentionMasks, WholeRowsReplacedWeighAllValuesTheSame) {
  for (const bool twice : {false, true}) {
    ModelBuilder model(23);
    model.Input("q", ElementType::kFloat, {2, 3, 5, 8}).Input("k", ElementType::kFloat, {2, 3, 8, 7});
    model.Input("v", ElementType::kFloat, {2, 3, 7, 6}).Output("y", ElementType::kFloat, {2, 3, 5, 6});
    std::array<uint8_t, 35> allowed;
    for (size_t i = 0; i < allowed.size(); ++i) allowed[i] = i / 7 != 1 && i % 3 != 0;  // nothing in row 1
    const std::array<uint8_t, 7> real = {1, 1, 1, 1, 1, 0, 0};
    model.Constant("allowed", {5, 7}, allowed, onnx::TensorProto::BOOL)
        .Constant("real", {1, 7}, real, onnx::TensorProto::BOOL);
    model.Floats("low", {}, {-1e4f});
    model.Node("MatMul", {"q", "k"}, {"s"});
    model.Node("Where", {"allowed", "s", "low"}, {"chosen"});
    if (twice) model.Node("Where", {"real", "chosen", "low"}, {"again"});
    Int(model.Node("Softmax", {twice ? "again" : "chosen"}, {"p"}), "axis", -1);
    model.Node("MatMul", {"p", "v"}, {"y"});
    const Rewriting rewriting(model, kRecognized);
    EXPECT_NE(rewriting.after().find("Attention"), std::string::npos) << rewriting.after();
    EXPECT_EQ(rewriting.Difference(1, 4, true), "") << twice;
  }
}

TEST(RecognizeAttentionMasks, NumbersOfEveryType) {
  for (const ElementType type :
       {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16, ElementType::kBFloat16}) {
    ModelBuilder model(23);
    model.Input("q", type, {2, 3, 5, 8}).Input("k", type, {2, 3, 8, 7}).Input("allowed", ElementType::kBool, {5, 7});
    model.Input("v", type, {2, 3, 7, 6}).Output("y", type, {2, 3, 5, 6}).Floats("number", {}, {-1e4f});
    Int(model.Node("Cast", {"number"}, {"low"}), "to", static_cast<int64_t>(type));
    model.Node("MatMul", {"q", "k"}, {"s"});
    model.Node("Where", {"allowed", "s", "low"}, {"chosen"});
    Int(model.Node("Softmax", {"chosen"}, {"p"}), "axis", -1);
    model.Node("MatMul", {"p", "v"}, {"y"});
    const Rewriting rewriting(model, RecognizedAnd({"fold_constants"}));
    EXPECT_EQ(rewriting.after(), "Transpose Where Attention") << ElementTypeName(type);
  }
}

/// Row 1 of the scores is masked altogether, by `how` ("Where" or "Add") with `number`.
ModelBuilder MaskedRow(ElementType type, const std::string& how, float number) {
  ModelBuilder model(23);
  model.Input("q", type, {2, 3, 5, 8})
      .Input("k", type, {2, 3, 8, 7})
      .Input("v", type, {2, 3, 7, 6})
      .Output("y", type, {2, 3, 5, 6});
  std::array<uint8_t, 35> allowed;
  std::vector<float> added;
  for (size_t i = 0; i < allowed.size(); ++i) {
    allowed[i] = i / 7 != 1 && i % 3 != 0;
    added.push_back(allowed[i] != 0 ? 0.0f : number);
  }
  model.Constant("allowed", {5, 7}, allowed, onnx::TensorProto::BOOL)
      .Floats("number", {}, {number})
      .Floats("added", {5, 7}, added);
  for (const char* constant : {"number", "added"}) {
    Int(model.Node("Cast", {constant}, {std::string(constant) + "_cast"}), "to", static_cast<int64_t>(type));
  }
  model.Node("MatMul", {"q", "k"}, {"s"});
  if (how == "Where") {
    model.Node("Where", {"allowed", "s", "number_cast"}, {"masked"});
  } else {
    model.Node("Add", {"s", "added_cast"}, {"masked"});
  }
  Int(model.Node("Softmax", {"masked"}, {"p"}), "axis", -1);
  model.Node("MatMul", {"p", "v"}, {"y"});
  return model;
}

TEST(RecognizeAttentionMasks, RowsOfNothingAreAsTheyWere) {
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  for (const ElementType type :
       {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16, ElementType::kBFloat16}) {
    for (const auto& [how, number] :
         {std::pair("Where", kNothing), std::pair("Where", -1e4f), std::pair("Add", kNothing)}) {
      SCOPED_TRACE(::testing::Message() << ElementTypeName(type) << ", " << how << " of " << number);
      const Rewriting rewriting(MaskedRow(type, how, number), RecognizedAnd({"fold_constants"}));
      EXPECT_NE(rewriting.after().find("Attention"), std::string::npos) << rewriting.after();
      EXPECT_EQ(rewriting.Difference(1, 4, true), "");
    }
  }
}

Graph& Loaded(const ModelBuilder& model, Model& kept) {
  const std::string bytes = model.bytes();
  kept = LoadModel(std::as_bytes(std::span(bytes)), nullptr, {});
  return *kept.graph;
}

/// What the portable passes leave, for a session or to be written, is ONNX's; a provider's lowering takes the rest.
TEST(RecognizeAttentionMasks, BelongToTheLoweringWhereRowsMayBecomeNaN) {
  struct Case {
    std::string how;
    float number;
    std::multiset<std::string> portable, lowered;
  };
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  const Case cases[] = {
      {"Where", kNothing, {}, {"ai.tessera"}}, {"Add", kNothing, {}, {"ai.tessera"}}, {"Where", -1e4f, {"onnx"}, {"onnx"}}};
  const ModelBuilder other = MaskedRow(ElementType::kFloat, "Add", 0);
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  const Session session = other.Session(options);
  const SessionResources& resources = session.state()->model->resources;
  for (const Case& one : cases) {
    const ModelBuilder model = MaskedRow(ElementType::kFloat, one.how, one.number);
    Model kept;
    Graph& graph = Loaded(model, kept);
    OptimizationReport report = OptimizeGraph(graph, resources, {});
    EXPECT_EQ(Domains(graph), one.portable) << one.how << one.number;
    LowerGraph(graph, resources, {}, report);
    EXPECT_EQ(Domains(graph), one.lowered) << one.how << one.number;
    Graph& written = Loaded(model, kept);
    OptimizeGraph(written, resources, {.writable = true});
    EXPECT_EQ(Domains(written), std::multiset<std::string>{"onnx"}) << one.how << one.number;
  }
}

TEST(RecognizeAttentionMasks, OnlyThoseOfTheProvider) {
  Model kept;
  Graph& graph = Loaded(MaskedRow(ElementType::kFloat, "Add", 0), kept);
  const Session session = MaskedRow(ElementType::kFloat, "Add", 0).Session({});
  const SessionResources& resources = session.state()->model->resources;
  OptimizationReport report = OptimizeGraph(graph, resources, {});
  for (const NodeIndex index : graph.TopologicalOrder()) {
    if (graph.node(index).op_type == "Softmax") graph.node(index).provider = "another";
  }
  LowerGraph(graph, resources, {}, report);
  EXPECT_TRUE(Domains(graph).empty());
}

/// Queries, keys and values of [batch, rows, heads * width], as exporters reshape and transpose them.
ModelBuilder SideBySide(int opset, int64_t batch) {
  ModelBuilder model(opset);
  model.Ints("split", {0, 0, 3, 8}).Ints("joined", {0, 0, 24}).Floats("c", {}, {2.5f});
  for (const char* name : {"q", "k", "v"}) {
    const std::string value = name;
    model.Input(value, ElementType::kFloat, {batch, 5, 24});
    model.Node("Reshape", {value, "split"}, {value + "r"});
    Transpose(model, value + "r", value + "t",
              value == "k" ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3});
  }
  model.Node("MatMul", {"qt", "kt"}, {"s"});
  model.Node("Div", {"s", "c"}, {"scaled"});
  return model;
}

void Finish(ModelBuilder& model, const std::string& scores, int64_t batch) {
  Int(model.Node("Softmax", {scores}, {"p"}), "axis", 3);
  model.Node("MatMul", {"p", "vt"}, {"o"});
  Transpose(model, "o", "ot", {0, 2, 1, 3});
  model.Node("Reshape", {"ot", "joined"}, {"y"});
  model.Output("y", ElementType::kFloat, {batch, 5, 24});
}

TEST(RecognizeAttentionSideBySide, NeedsNoTranspose) {
  ModelBuilder model = SideBySide(23, 2);
  Finish(model, "scaled", 2);
  const Rewriting rewriting(model,
                            {"recognize_attention", "fuse_reshapes", "eliminate_identities", "eliminate_dead_nodes"});
  EXPECT_EQ(rewriting.after(), "Attention");
  EXPECT_EQ(rewriting.Difference(1, 4, true), "");
}

TEST(RecognizeAttentionSideBySide, WithoutHeadsInTheShape) {
  ModelBuilder model(23);
  model.Input("q", ElementType::kFloat, {6, 5, 8})
      .Input("k", ElementType::kFloat, {6, 7, 8})
      .Input("v", ElementType::kFloat, {6, 7, 8});
  Transpose(model, "k", "kt", {0, 2, 1});
  model.Node("MatMul", {"q", "kt"}, {"s"});
  model.Node("Softmax", {"s"}, {"p"});
  model.Node("MatMul", {"p", "v"}, {"y"});
  model.Output("y", ElementType::kFloat, {6, 5, 8});
  const Rewriting rewriting(model, kRecognized);
  EXPECT_EQ(rewriting.after(), "Unsqueeze Unsqueeze Unsqueeze Attention Squeeze");
  EXPECT_EQ(rewriting.Difference(1, 4, true), "");
}

TEST(RecognizeAttention, LeavesWhatOthersRead) {
  ModelBuilder model = SideBySide(23, 2);
  model.Node("Relu", {"scaled"}, {"z"});
  model.Output("z", ElementType::kFloat, {2, 3, 5, 5});
  Finish(model, "scaled", 2);
  const Rewriting rewriting(model, {"recognize_attention"});
  EXPECT_EQ(rewriting.after(), rewriting.before());
}

TEST(RecognizeAttention, LeavesOtherAxesAndScaledMasks) {
  ModelBuilder axis = SideBySide(23, 2);
  Int(axis.Node("Softmax", {"scaled"}, {"p"}), "axis", 2);
  axis.Node("MatMul", {"p", "vt"}, {"y"});
  axis.Output("y", ElementType::kFloat, {2, 3, 5, 8});
  ModelBuilder mask = SideBySide(23, 2);
  mask.Input("m", ElementType::kFloat, {5});
  mask.Node("Add", {"scaled", "m"}, {"added"});
  mask.Node("Mul", {"added", "c"}, {"again"});
  Finish(mask, "again", 2);
  for (const ModelBuilder& model : {axis, mask}) {
    const Rewriting rewriting(model, {"recognize_attention"});
    EXPECT_EQ(rewriting.after(), rewriting.before());
  }
}

/// With dimensions that only the inputs tell, whatever broadcasts in the spelt-out form does in the recognized one.
TEST(RecognizeAttention, BroadcastsAtRunTime) {
  struct Case {
    Shape q, k, mask;
  };
  const Case cases[] = {{{2, 5, 24}, {2, 5, 24}, {2, 1, 5, 5}}, {{1, 5, 24}, {2, 7, 24}, {1, 1, 5, 7}},
                        {{2, 5, 24}, {1, 7, 24}, {1, 3, 1, 7}}, {{1, 5, 24}, {1, 5, 24}, {4, 1, 1, 5}},
                        {{1, 5, 24}, {1, 5, 24}, {1, 3, 5, 1}}, {{1, 1, 24}, {1, 6, 24}, {1, 1, 4, 6}},
                        {{0, 5, 24}, {0, 5, 24}, {1, 1, 1, 1}}};
  ModelBuilder model(17);
  model.Ints("split", {0, 0, 3, 8}).Ints("joined", {0, 0, 24}).Floats("c", {}, {0.3f});
  for (const std::string value : {"q", "k", "v"}) {
    model.Input(value, ElementType::kFloat, {-1, -1, 24});
    model.Node("Reshape", {value, "split"}, {value + "r"});
    Transpose(model, value + "r", value + "t",
              value == "k" ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3});
  }
  model.Input("m", ElementType::kFloat, {-1, -1, -1, -1});
  model.Node("MatMul", {"qt", "kt"}, {"s"});
  model.Node("Mul", {"c", "s"}, {"scaled"});
  model.Node("Add", {"scaled", "m"}, {"added"});
  Finish(model, "added", -1);
  const auto session = [&](OptimizationLevel level) {
    SessionOptions options;
    options.providers = {{"cpu", {}}};
    options.optimization_level = level;
    return model.Session(options);
  };
  const Session plain = session(OptimizationLevel::kNone), fused = session(OptimizationLevel::kAll);
  EXPECT_EQ(Domains(*fused.state()->model->graph), std::multiset<std::string>{"ai.tessera"});
  for (const Case& c : cases) {
    std::vector<Value> inputs;
    for (const Shape& shape : {c.q, c.k, c.k, c.mask}) {
      Tensor tensor(ElementType::kFloat, shape);
      for (int64_t i = 0; i < tensor.num_elements(); ++i)
        tensor.mutable_data<float>()[i] = std::sin(static_cast<float>(i * 7 + shape[0]));
      inputs.emplace_back(std::move(tensor));
    }
    std::vector<Value> expected(1), given(1);
    plain.Run(inputs, expected);
    fused.Run(inputs, given);
    ASSERT_EQ(given[0].tensor().shape(), expected[0].tensor().shape()) << c.mask.ToString();
    for (int64_t i = 0; i < expected[0].tensor().num_elements(); ++i) {
      ASSERT_NEAR(given[0].tensor().data<float>()[i], expected[0].tensor().data<float>()[i], 1e-5)
          << c.mask.ToString() << " at " << i;
    }
  }
}

}  // namespace
}  // namespace tessera::testing
