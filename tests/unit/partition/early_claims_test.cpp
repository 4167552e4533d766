// Providers that claim the model as written: what they see, what stands for it, and what becomes of the rest.

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <set>

#include "attributes.h"
#include "base/check.h"
#include "error_of.h"
#include "graph/graph.h"
#include "model_builder.h"
#include "session/provider_selection.h"
#include "temporary_folder.h"
#include "tessera/session.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::Floats;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::TemporaryFolder;
using testing::ToVector;

/// What the provider saw and did.
struct Seen {
  std::vector<std::string> operators;  // compiled, nested graphs in parentheses behind their node
  int compiles = 0;
  size_t parts = 0;
};
Seen& LastSeen() {
  static Seen seen;
  return seen;
}

std::string OperatorsOf(const GraphViewer& graph) {
  std::string text;
  for (const NodeIndex index : graph.nodes()) {
    const Node& node = graph.node(index);
    text += (text.empty() ? "" : " ") + node.op_type;
    for (const Attribute& attribute : node.attributes) {
      const auto* nested = std::get_if<std::shared_ptr<Graph>>(&attribute.value);
      if (nested != nullptr) text += "(" + OperatorsOf(GraphViewer(**nested)) + ")";
    }
  }
  return text;
}

/// Computes a graph of floats, or a window on one, node by node.
class Interpreter {
 public:
  explicit Interpreter(const GraphViewer& graph, const Interpreter* outer = nullptr) : graph_(graph), outer_(outer) {}

  void Set(ValueIndex value, Tensor tensor) { values_.insert_or_assign(value, std::move(tensor)); }

  const Tensor& Get(ValueIndex value) const {
    if (const Tensor* constant = graph_.constant(value); constant != nullptr) return *constant;
    if (const auto held = values_.find(value); held != values_.end()) return held->second;
    return outer_->Get(graph_.value(value).outer);
  }

  void Run() {
    for (const NodeIndex index : graph_.nodes()) Compute(graph_.node(index));
  }

 private:
  void Compute(const Node& node) {
    if (node.op_type == "If") return Branch(node);
    const Tensor& a = Get(node.inputs[0]);
    const Tensor* b = node.inputs.size() > 1 ? &Get(node.inputs[1]) : nullptr;
    Tensor result(ElementType::kFloat, a.shape());
    for (int64_t i = 0; i < a.num_elements(); ++i) {
      const float x = a.data<float>()[i], y = b == nullptr ? 0 : b->data<float>()[b->num_elements() == 1 ? 0 : i];
      result.mutable_data<float>()[i] = Apply(node.op_type, x, y);
    }
    Set(node.outputs[0], std::move(result));
  }

  static float Apply(const std::string& op, float x, float y) {
    if (op == "Add") return x + y;
    if (op == "Mul") return x * y;
    if (op == "Div") return x / y;
    if (op == "Erf") return std::erf(x);
    if (op == "Neg") return -x;
    Fail(ErrorCode::kFail, "no {}", op);
  }

  void Branch(const Node& node) {
    const bool condition = *Get(node.inputs[0]).data<bool>();
    const AttributeValue& branch = *node.FindAttribute(condition ? "then_branch" : "else_branch");
    const GraphViewer nested(*std::get<std::shared_ptr<Graph>>(branch));
    Interpreter inner(nested, this);
    inner.Run();
    for (size_t i = 0; i < node.outputs.size(); ++i) Set(node.outputs[i], inner.Get(nested.outputs()[i]));
  }

  const GraphViewer& graph_;
  const Interpreter* outer_;
  std::map<ValueIndex, Tensor> values_;
};

class Interpreted final : public Kernel {
 public:
  explicit Interpreted(const GraphViewer& graph) : graph_(graph) {}

  void Compute(KernelContext& context) override {
    Interpreter interpreter(graph_);
    for (size_t i = 0; i < graph_.inputs().size(); ++i) interpreter.Set(graph_.inputs()[i], context.required_input(i));
    interpreter.Run();
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Tensor& result = interpreter.Get(graph_.outputs()[i]);
      Tensor* output = context.output(i, result.shape());
      if (output != nullptr) std::copy_n(result.data<float>(), result.num_elements(), output->mutable_data<float>());
    }
  }

 private:
  const GraphViewer graph_;
};

/// Options: "ops", the operators to claim, separated by commas; "fails", an operator whose part does not compile.
class EarlyProvider final : public ExecutionProvider {
 public:
  std::string_view name() const noexcept override { return "EarlyExecutionProvider"; }
  bool ClaimsModelAsWritten() const noexcept override { return true; }
  const KernelRegistry& kernels() const noexcept override {
    static const KernelRegistry none;
    return none;
  }

  std::vector<ComputeCapability> GetCapability(const GraphViewer& graph, const KernelLookup&, RefusalSink&) const override {
    const std::string ops = "," + options().find("ops")->second + ",";
    ComputeCapability claim{.fuse = true, .name = "Early"};
    for (const NodeIndex index : graph.nodes()) {
      const Node& node = graph.node(index);
      if (node.domain.empty() && ops.find("," + node.op_type + ",") != std::string::npos) claim.nodes.push_back(index);
    }
    return {claim};
  }

  std::vector<std::unique_ptr<Kernel>> Compile(std::span<const FusedSubgraph> subgraphs,
                                               const CompileContext& /*context*/) override {
    ++LastSeen().compiles;
    std::vector<std::unique_ptr<Kernel>> kernels;
    for (const FusedSubgraph& subgraph : subgraphs) {
      const std::string operators = OperatorsOf(subgraph.graph), fails = options().find("fails")->second;
      if (!fails.empty() && operators.find(fails) != std::string::npos)
        Fail(ErrorCode::kEpFail, "{} is too much for it", fails);
      LastSeen().operators.push_back(operators);
      kernels.push_back(std::make_unique<Interpreted>(subgraph.graph));
    }
    LastSeen().parts = subgraphs.size();
    return kernels;
  }
};

SessionOptions Early(const std::string& ops, const std::string& fails = "") {
  static const OptionSchema schemas[] = {{"ops", OptionType::kString, "", "operators to claim"},
                                         {"fails", OptionType::kString, "", "operator whose part does not compile"}};
  static const ProviderFactory factory = {.name = "EarlyExecutionProvider",
                                          .cli_name = "early",
                                          .options = schemas,
                                          .create = [](const ProviderOptions&) -> std::unique_ptr<ExecutionProvider> {
                                            return std::make_unique<EarlyProvider>();
                                          }};
  static std::once_flag once;
  std::call_once(once, [] { AddProvider(factory); });
  LastSeen() = {};
  SessionOptions options;
  options.providers = {{"early", {{"ops", ops}, {"fails", fails}}}};
  options.log_level = LogLevel::kFatal;
  return options;
}

/// Two of Gelu as exporters write it, with a Neg between them.
ModelBuilder Gelus() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {3}).Output("y", ElementType::kFloat, {3});
  model.Floats("root", {}, {1.41421356f}).Floats("one", {}, {1}).Floats("half", {}, {0.5f});
  const auto gelu = [&](const std::string& x, const std::string& y) {
    model.Node("Div", {x, "root"}, {y + "_d"});
    model.Node("Erf", {y + "_d"}, {y + "_e"});
    model.Node("Add", {y + "_e", "one"}, {y + "_a"});
    model.Node("Mul", {x, y + "_a"}, {y + "_m"});
    model.Node("Mul", {y + "_m", "half"}, {y});
  };
  gelu("x", "g");
  model.Node("Neg", {"g"}, {"n"}, "between");
  gelu("n", "y");
  return model;
}

std::vector<float> RunOne(const Session& session, const std::vector<Value>& inputs) {
  std::vector<Value> results(1);
  session.Run(inputs, results);
  return ToVector(results[0]);
}

std::vector<float> OnCpu(const ModelBuilder& model, const std::vector<Value>& inputs) {
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  return RunOne(model.Session(options), inputs);
}

void ExpectNear(const std::vector<float>& given, const std::vector<float>& expected) {
  ASSERT_EQ(given.size(), expected.size());
  for (size_t i = 0; i < given.size(); ++i) EXPECT_NEAR(given[i], expected[i], 1e-5) << i;
}

const std::vector<Value> kThree = {Floats({3}, {-1, 0.5f, 2})};

TEST(EarlyClaims, AreOfTheOperatorsThatTheAuthorWrote) {
  const Session session = Gelus().Session(Early("Div,Erf,Add,Mul"));
  EXPECT_THAT(LastSeen().operators, ElementsAre("Div Erf Add Mul Mul", "Div Erf Add Mul Mul"));
  EXPECT_EQ(LastSeen().compiles, 1);
  EXPECT_EQ(LastSeen().parts, 2u);
  ExpectNear(RunOne(session, kThree), OnCpu(Gelus(), kThree));
  size_t early = 0;
  std::set<std::string> parts;
  for (const PlacementReport::NodeEntry& node : session.placement().nodes) {
    early += node.provider == "EarlyExecutionProvider" ? 1 : 0;
    if (!node.fused_into.empty()) parts.insert(node.fused_into);
  }
  EXPECT_EQ(early, 10u);
  EXPECT_EQ(parts.size(), 2u);
}

TEST(EarlyClaims, LeaveTheRestToBeOptimized) {
  ModelBuilder model = Gelus();
  model.Output("z", ElementType::kFloat, {3});
  model.Node("Softplus", {"x"}, {"s"});
  model.Node("Tanh", {"s"}, {"t"});
  model.Node("Mul", {"x", "t"}, {"z"});
  const Session session = model.Session(Early("Neg"));
  EXPECT_THAT(LastSeen().operators, ElementsAre("Neg"));
  std::multiset<std::string> operators;
  for (const PlacementReport::NodeEntry& node : session.placement().nodes) operators.insert(node.op_type);
  EXPECT_EQ(operators.count("Gelu"), 2u);
  EXPECT_EQ(operators.count("Erf"), 0u);
}

TEST(EarlyClaims, AreAskedForWithoutOptimization) {
  SessionOptions options = Early("Neg");
  options.optimization_level = OptimizationLevel::kNone;
  const Session session = Gelus().Session(options);
  EXPECT_THAT(LastSeen().operators, ElementsAre("Neg"));
  ExpectNear(RunOne(session, kThree), OnCpu(Gelus(), kThree));
}

/// y = yes ? -(x + x) : (x * x) + k, with k and x captured.
ModelBuilder Branches() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {3}).Input("yes", ElementType::kBool, {}).Output("y", ElementType::kFloat, {3});
  model.Floats("k", {3}, {10, 20, 30});
  model.Node("Neg", {"x"}, {"negative"});
  auto& branch = model.Node("If", {"yes"}, {"chosen"}, "choice");
  for (const char* name : {"then_branch", "else_branch"}) {
    const std::string id = name;
    auto* attribute = branch.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    auto& graph = *attribute->mutable_g();
    graph.set_name(name);
    if (id == "then_branch") {
      ModelBuilder::AddNode(graph, "Add", {"x", "negative"}, {id + "_a"});
      ModelBuilder::AddNode(graph, "Add", {id + "_a", "x"}, {id + "_r"});
    } else {
      ModelBuilder::AddNode(graph, "Mul", {"x", "x"}, {id + "_a"});
      ModelBuilder::AddNode(graph, "Add", {id + "_a", "k"}, {id + "_r"});
    }
    ModelBuilder::Declare(graph.add_output(), id + "_r", ElementType::kFloat, {3});
  }
  model.Node("Neg", {"chosen"}, {"y"});
  return model;
}

std::vector<Value> ForBranch(bool yes) { return {Floats({3}, {1, 2, 3}), Tensor::Of<bool>(Shape{}, std::span(&yes, 1))}; }

TEST(EarlyClaims, TakeControlFlowWithItsGraphs) {
  const Session session = Branches().Session(Early("Neg,If,Add,Mul"));
  ASSERT_EQ(LastSeen().operators.size(), 1u);
  EXPECT_THAT(LastSeen().operators[0], HasSubstr("If(Add Add)(Mul Add)"));
  EXPECT_THAT(RunOne(session, ForBranch(true)), ElementsAre(-1, -2, -3));
  EXPECT_THAT(RunOne(session, ForBranch(false)), ElementsAre(-11, -24, -39));
}

TEST(EarlyClaims, AreDrawnInsideNestedGraphsToo) {
  const Session session = Branches().Session(Early("Add"));
  EXPECT_THAT(LastSeen().operators, ::testing::UnorderedElementsAre("Add Add", "Add"));
  EXPECT_EQ(LastSeen().compiles, 1);  // parts of all graphs at once
  EXPECT_THAT(RunOne(session, ForBranch(true)), ElementsAre(-1, -2, -3));
  EXPECT_THAT(RunOne(session, ForBranch(false)), ElementsAre(-11, -24, -39));
}

TEST(EarlyClaims, OfControlFlowThatFailToCompileGiveItBack) {
  const Session session = Branches().Session(Early("Neg,If,Add,Mul", "If"));
  EXPECT_THAT(LastSeen().operators, ::testing::Each(::testing::Not(HasSubstr("If"))));
  EXPECT_THAT(RunOne(session, ForBranch(true)), ElementsAre(-1, -2, -3));
  EXPECT_THAT(RunOne(session, ForBranch(false)), ElementsAre(-11, -24, -39));
}

TEST(EarlyClaims, ThatFailToCompileAreOptimizedWithTheRest) {
  const Session session = Gelus().Session(Early("Div,Erf,Add,Mul", "Erf"));
  ExpectNear(RunOne(session, kThree), OnCpu(Gelus(), kThree));
  for (const PlacementReport::NodeEntry& node : session.placement().nodes)
    EXPECT_EQ(node.provider, "CPUExecutionProvider") << node.op_type;
  SessionOptions options = Early("Div,Erf,Add,Mul", "Erf");
  options.error_on_failure = true;
  EXPECT_THAT(testing::ErrorOf([&] { Gelus().Session(options); }), HasSubstr("Erf is too much for it"));
}

/// Add -> Erf -> Mul, where the Mul reads the Add as well: drawn together they would wait for each other.
TEST(EarlyClaims, AreCutWhereTheyWouldMakeACycle) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {3}).Output("y", ElementType::kFloat, {3});
  model.Node("Add", {"x", "x"}, {"a"});
  model.Node("Erf", {"a"}, {"e"});
  model.Node("Mul", {"a", "e"}, {"y"});
  const Session session = model.Session(Early("Add,Mul"));
  EXPECT_THAT(LastSeen().operators, ElementsAre("Add", "Mul"));
  ExpectNear(RunOne(session, kThree), OnCpu(model, kThree));
}

TEST(EarlyClaims, CannotBeWrittenAsAModel) {
  const TemporaryFolder folder;
  SessionOptions options = Early("Neg");
  options.optimized_model_path = folder.path() / "optimized.onnx";
  EXPECT_THAT(testing::ErrorOf([&] { Gelus().Session(options); }), HasSubstr("a provider has compiled this part"));
}

}  // namespace
}  // namespace tessera
