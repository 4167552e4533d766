// What a load may take: memory by kinds of what models ask for, and time until somebody stops it.

#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>

#include "attributes.h"
#include "model/loading.h"
#include "temporary_folder.h"

namespace tessera::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

ErrorCode CodeOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kOk;
}

SessionOptions WithLimit(const std::string& limit) {
  SessionOptions options = OnCpu();
  options.config["session.load_memory_limit"] = limit;
  return options;
}

/// x -> Relu -> ... -> y.
ModelBuilder ReluChain(size_t nodes, const std::vector<int64_t>& dims = {2}) {
  ModelBuilder model;
  model.Input("v0", ElementType::kFloat, dims).Output("v" + std::to_string(nodes), ElementType::kFloat, dims);
  for (size_t i = 0; i < nodes; ++i) model.Node("Relu", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
  return model;
}

onnx::FunctionProto& NewFunction(ModelBuilder& model, const std::string& name) {
  if (model.proto().opset_import_size() == 1) {
    auto& import = *model.proto().add_opset_import();
    import.set_domain("own");
    import.set_version(1);
  }
  onnx::FunctionProto& function = *model.proto().add_functions();
  function.set_domain("own");
  function.set_name(name);
  for (const auto& import : model.proto().opset_import()) *function.add_opset_import() = import;
  function.add_input("a");
  function.add_output("b");
  return function;
}

void AddCall(onnx::FunctionProto& function, const std::string& op, const std::string& domain,
             const std::vector<std::string>& inputs, const std::string& output, const std::string& name = "") {
  auto& node = *function.add_node();
  node.set_op_type(op);
  node.set_domain(domain);
  node.set_name(name);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
}

/// x -> call -> ... -> y of function `name`.
void Calls(ModelBuilder& model, const std::string& name, int count, const std::vector<int64_t>& dims) {
  model.Input("v0", ElementType::kFloat, dims).Output("v" + std::to_string(count), ElementType::kFloat, dims);
  for (int i = 0; i < count; ++i)
    model.Node(name, {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)}).set_domain("own");
}

struct MemoryKind {
  std::string name;
  std::function<ModelBuilder()> make;
};

ModelBuilder TypedInitializer() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1}).Output("y", ElementType::kFloat, {1 << 20});
  auto& tensor = *model.proto().mutable_graph()->add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(1 << 20);
  for (int i = 0; i < 1 << 20; ++i) tensor.add_float_data(static_cast<float>(i));
  model.Node("Add", {"x", "w"}, {"y"});
  return model;
}

ModelBuilder SparseInitializers() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1}).Output("y", ElementType::kFloat, {512, 512});
  auto& sum = model.Node("Sum", {"x"}, {"y"});
  for (int i = 0; i < 4; ++i) {
    auto& sparse = *model.proto().mutable_graph()->add_sparse_initializer();
    sparse.mutable_values()->set_name("w" + std::to_string(i));
    sparse.mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
    sparse.mutable_values()->add_dims(1);
    sparse.mutable_values()->add_float_data(1);
    sparse.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
    sparse.mutable_indices()->add_dims(1);
    sparse.mutable_indices()->add_int64_data(i);
    sparse.add_dims(512);
    sparse.add_dims(512);
    sum.add_input("w" + std::to_string(i));
  }
  return model;
}

ModelBuilder LongStrings() {
  ModelBuilder model;
  model.Input("i", ElementType::kInt64, {1}).Output("y", ElementType::kString, {1});
  auto& tensor = *model.proto().mutable_graph()->add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(onnx::TensorProto::STRING);
  tensor.add_dims(8);
  for (int i = 0; i < 8; ++i) tensor.add_string_data(std::string(500'000, 'a'));
  model.Node("Gather", {"w", "i"}, {"y"});
  return model;
}

ModelBuilder FunctionsInFunctions() {
  ModelBuilder model;
  Calls(model, "F8", 1, {2});
  AddCall(NewFunction(model, "F0"), "Relu", "", {"a"}, "b");
  for (int i = 1; i <= 8; ++i) {
    onnx::FunctionProto& function = NewFunction(model, "F" + std::to_string(i));
    const std::string callee = "F" + std::to_string(i - 1);
    AddCall(function, callee, "own", {"a"}, "t");
    AddCall(function, callee, "own", {"t"}, "u");
    AddCall(function, callee, "own", {"u"}, "b");
  }
  return model;
}

ModelBuilder NamesOfCalls() {
  ModelBuilder model;
  Calls(model, "Outer", 60, {2});
  AddCall(NewFunction(model, "Inner"), "Relu", "", {"a"}, "b");
  AddCall(NewFunction(model, "Outer"), "Inner", "own", {"a"}, "b", std::string(60'000, 'n'));
  return model;
}

ModelBuilder TablesOfCalls() {
  ModelBuilder model;
  Calls(model, "T", 40, {40'000});
  onnx::FunctionProto& function = NewFunction(model, "T");
  AddCall(function, "Constant", "", {}, "c");
  auto& attribute = *function.mutable_node(0)->add_attribute();
  attribute.set_name("value");
  attribute.set_type(onnx::AttributeProto::TENSOR);
  attribute.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  attribute.mutable_t()->add_dims(40'000);
  for (int i = 0; i < 40'000; ++i) attribute.mutable_t()->add_float_data(1);
  AddCall(function, "Add", "", {"a", "c"}, "b");
  return model;
}

ModelBuilder EmptyNodes() {
  ModelBuilder model;
  for (int i = 0; i < 60'000; ++i) model.proto().mutable_graph()->add_node();
  return model;
}

ModelBuilder PackedWeights() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {4, 1024}).Output("y", ElementType::kFloat, {4, 1024});
  model.Floats("w", {1024, 1024}, std::vector<float>(1 << 20, 0.5f));
  model.Node("MatMul", {"x", "w"}, {"y"});
  return model;
}

class LoadMemory : public ::testing::TestWithParam<MemoryKind> {};

TEST_P(LoadMemory, EndsInAnErrorThatNamesTheOption) {
  const ModelBuilder model = GetParam().make();
  EXPECT_THAT(ErrorOf([&] { model.Session(WithLimit("3M")); }), HasSubstr("session.load_memory_limit"));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, LoadMemory,
    ::testing::Values(MemoryKind{"TypedInitializer", TypedInitializer},
                      MemoryKind{"SparseInitializers", SparseInitializers}, MemoryKind{"LongStrings", LongStrings},
                      MemoryKind{"FunctionsInFunctions", FunctionsInFunctions}, MemoryKind{"NamesOfCalls", NamesOfCalls},
                      MemoryKind{"TablesOfCalls", TablesOfCalls}, MemoryKind{"EmptyNodes", EmptyNodes},
                      MemoryKind{"PackedWeights", PackedWeights},
                      MemoryKind{"ManyAxes", [] { return ReluChain(60, std::vector<int64_t>(3000, 1)); }}),
    [](const auto& info) { return info.param.name; });

TEST(LoadBudget, NamesWhatTookIt) {
  EXPECT_THAT(ErrorOf([] { TypedInitializer().Session(WithLimit("12M")); }), HasSubstr("tensor 'w'"));
  EXPECT_THAT(ErrorOf([] { SparseInitializers().Session(WithLimit("2M")); }), HasSubstr("sparse tensor 'w1'"));
  EXPECT_THAT(ErrorOf([] { PackedWeights().Session(WithLimit("6M")); }), HasSubstr("MatMul"));
}

/// Weights that many matmuls share are copied for each where each is scaled.
TEST(LoadBudget, NamesTheNodeThatAPassWorksFor) {
  ModelBuilder model;
  model.Floats("w", {256, 256, 1, 1}, std::vector<float>(256 * 256, 0.5f));
  for (const char* name : {"scale", "shift", "mean", "variance"}) model.Floats(name, {256}, std::vector<float>(256, 2));
  for (int i = 0; i < 24; ++i) {
    const std::string n = std::to_string(i);
    model.Output("y" + n, ElementType::kFloat, {1, 256, 2, 2});
    model.Input("x" + n, ElementType::kFloat, {1, 256, 2, 2});
    model.Node("Conv", {"x" + n, "w"}, {"c" + n});
    model.Node("BatchNormalization", {"c" + n, "scale", "shift", "mean", "variance"}, {"y" + n}, "scaled" + n);
  }
  EXPECT_THAT(ErrorOf([&] { model.Session(WithLimit("3M")); }),
              AllOf(HasSubstr("BatchNormalization 'scaled"), HasSubstr("load_memory_limit")));
}

TEST(LoadBudget, GoesBackWithTheSession) {
  EnvironmentOptions limited;
  limited.load_memory_limit = 40 << 20;
  const Environment environment(limited);
  for (int i = 0; i < 8; ++i) TypedInitializer().Session(OnCpu(), environment);
  EXPECT_THAT(ErrorOf([&] {
                std::vector<Session> held;
                for (int i = 0; i < 12; ++i) held.push_back(TypedInitializer().Session(OnCpu(), environment));
              }),
              HasSubstr("EnvironmentOptions::load_memory_limit"));
  TypedInitializer().Session(OnCpu(), environment);
}

TEST(StoppedLoad, EndsAfterItsTime) {
  SessionOptions options = OnCpu();
  options.load_timeout = milliseconds(1);
  const ModelBuilder model = ReluChain(20'000);
  const std::string error = ErrorOf([&] { model.Session(options); });
  EXPECT_THAT(error, HasSubstr("SessionOptions::load_timeout, 1 ms"));
  EXPECT_EQ(CodeOf([&] { model.Session(options); }), ErrorCode::kModelLoadCanceled);
}

TEST(StoppedLoad, MayHaveAnyTime) {
  SessionOptions options = OnCpu();
  options.load_timeout = milliseconds::max();
  EXPECT_EQ(RunOnce(AddModel().Session(options), {Floats({2}, {1, 2}), Floats({2}, {3, 4})}), (std::vector<float>{4, 6}));
}

TEST(StoppedLoad, ATimeBelowNoneIsAnError) {
  SessionOptions options = OnCpu();
  options.load_timeout = milliseconds(-5);
  EXPECT_THAT(ErrorOf([&] { AddModel().Session(options); }), HasSubstr("load_timeout is -5 ms"));
  const Session session = AddModel().Session(OnCpu());
  RunOptions run;
  run.timeout = milliseconds(-1);
  const std::vector<Value> inputs = {Floats({2}, {1, 2}), Floats({2}, {3, 4})};
  std::vector<Value> results(1);
  EXPECT_THAT(ErrorOf([&] { session.Run(inputs, results, run); }), HasSubstr("RunOptions::timeout is -1 ms"));
}

TEST(StoppedLoad, EndsWhenItIsCancelled) {
  SessionOptions options = OnCpu();
  const auto cancel = std::make_shared<std::atomic<bool>>(false);
  options.load_cancel = cancel;
  const std::string model = ReluChain(100'000).bytes();
  std::chrono::steady_clock::time_point cancelled;
  std::thread canceller([&] {
    std::this_thread::sleep_for(milliseconds(50));
    cancelled = std::chrono::steady_clock::now();
    *cancel = true;
  });
  EXPECT_EQ(CodeOf([&] { Session(std::as_bytes(std::span(model)), options); }), ErrorCode::kModelLoadCanceled);
  const auto ended = std::chrono::steady_clock::now();
  canceller.join();
  EXPECT_LT(ended - cancelled, std::chrono::seconds(1));  // of several; much of it is a busy machine's
  // The process is as it was before.
  const Session next = AddModel().Session();
  EXPECT_EQ(RunOnce(next, {Floats({2}, {1, 2}), Floats({2}, {3, 4})}), (std::vector<float>{4, 6}));
}

TEST(StoppedLoad, NeedsNotBegin) {
  for (const std::string& provider : available_providers()) {
    SessionOptions options;
    options.providers = {{provider, {}}};
    options.load_cancel = std::make_shared<std::atomic<bool>>(true);
    EXPECT_EQ(CodeOf([&] { PackedWeights().Session(options); }), ErrorCode::kModelLoadCanceled) << provider;
  }
}

TEST(StoppedLoad, LeavesRunsAlone) {
  SessionOptions options = OnCpu();
  const auto cancel = std::make_shared<std::atomic<bool>>(false);
  options.load_cancel = cancel;
  options.load_timeout = std::chrono::seconds(60);
  const Session session = PackedWeights().Session(options);
  *cancel = true;
  EXPECT_EQ(RunOnce(session, {Floats({4, 1024}, std::vector<float>(4096, 1))})[0], 512);
}

TEST(StoppedLoad, WritesNoContext) {
  const TemporaryFolder folder;
  SessionOptions options = OnCpu();
  options.config["session.context_enable"] = "1";
  options.config["session.context_file_path"] = (folder.path() / "model_ctx.tessera").string();
  options.load_timeout = milliseconds(1);
  EXPECT_EQ(CodeOf([&] { ReluChain(20'000).Session(options); }), ErrorCode::kModelLoadCanceled);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

std::vector<std::string> NodeNames(const Session& session) {
  std::vector<std::string> names;
  for (const auto& node : session.placement().nodes) names.push_back(node.name);
  return names;
}

/// Folding at load leaves to the run what takes long or grows without end.
TEST(FoldingLimits, LongMatMulsAndGrowingTextRun) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1})
      .Output("y", ElementType::kFloat, {1536, 1536})
      .Output("z", ElementType::kFloat, {8, 8});
  model.Floats("big", {1536, 1536}, std::vector<float>(1536 * 1536, 0.25f))
      .Floats("small", {8, 8}, std::vector<float>(64, 1));
  model.Node("MatMul", {"big", "big"}, {"p"}, "long");
  model.Node("Add", {"p", "x"}, {"y"});
  model.Node("MatMul", {"small", "small"}, {"q"}, "short");
  model.Node("Add", {"q", "x"}, {"z"});
  const Session session = model.Session(OnCpu());
  EXPECT_THAT(NodeNames(session), ::testing::Contains("long"));
  EXPECT_THAT(NodeNames(session), ::testing::Not(::testing::Contains("short")));
}

TEST(FoldingLimits, TextStopsGrowing) {
  ModelBuilder model;
  model.Output("s30", ElementType::kString, {1});
  auto& text = *model.proto().mutable_graph()->add_initializer();
  text.set_name("s0");
  text.set_data_type(onnx::TensorProto::STRING);
  text.add_dims(1);
  text.add_string_data(std::string(100, 't'));
  for (int i = 0; i < 30; ++i) {
    const std::string from = "s" + std::to_string(i);
    model.Node("StringConcat", {from, from}, {"s" + std::to_string(i + 1)}, "join" + std::to_string(i));
  }
  const Session session = model.Session(WithLimit("256M"));
  EXPECT_THAT(NodeNames(session), ::testing::Contains("join29"));
  EXPECT_THAT(NodeNames(session), ::testing::Not(::testing::Contains("join0")));
}

TEST(GradientLimits, GradientsOfGradientsEnd) {
  ModelBuilder model;
  auto& import = *model.proto().add_opset_import();
  import.set_domain("ai.onnx.preview.training");
  import.set_version(1);
  model.Input("x", ElementType::kFloat, {1}).Output("d18", ElementType::kFloat, {1});
  model.Node("Tanh", {"x"}, {"t"});
  model.Node("Mul", {"t", "x"}, {"d0"});
  for (int i = 0; i < 18; ++i) {
    auto& node = model.Node("Gradient", {"x"}, {"d" + std::to_string(i + 1)});
    node.set_domain("ai.onnx.preview.training");
    auto& xs = *node.add_attribute();
    xs.set_name("xs");
    xs.set_type(onnx::AttributeProto::STRINGS);
    xs.add_strings("x");
    auto& y = *node.add_attribute();
    y.set_name("y");
    y.set_type(onnx::AttributeProto::STRING);
    y.set_s("d" + std::to_string(i));
  }
  EXPECT_THAT(LoadError(model), HasSubstr("the model's gradients take more than"));
}

/// Regular expressions take memory that no allocator sees: each counts with what it may take.
TEST(LoadLimits, RegularExpressionsCount) {
  ModelBuilder model(20);
  model.Input("v0", ElementType::kString, {1});
  for (int i = 0; i < 200; ++i) {
    model.Output("y" + std::to_string(i), ElementType::kBool, {1});
    auto& node = model.Node("RegexFullMatch", {"v0"}, {"y" + std::to_string(i)});
    Text(node, "pattern", "\\pL{" + std::to_string(20 + i % 5) + "}" + std::to_string(i));
  }
  EXPECT_THAT(ErrorOf([&] { model.Session(WithLimit("100M")); }), HasSubstr("session.load_memory_limit"));
  EXPECT_EQ(ErrorOf([&] { model.Session(WithLimit("1G")); }), "no error");
}

}  // namespace
}  // namespace tessera::testing
