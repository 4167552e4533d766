// Operators that a program brings, from a library (docs/examples/custom_operators), from a plugin's library, or as objects
// of its own; among these such as lie, throw and fail.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnxruntime_c_api.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <thread>

#include "abi/tiny_model.h"
#include "error_of.h"
#include "temporary_folder.h"
#include "tessera/session.h"

extern "C" const OrtApiBase* TesseraGetOrtApiBase() noexcept;

namespace tessera {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryFolder;

constexpr int kFloat = 1, kInt64 = 7, kString = 8;

const OrtApi& Api() { return *TesseraGetOrtApiBase()->GetApi(ORT_API_VERSION); }

/// A node of an operator, with an integer attribute where `value` is not negative.
tiny::Message Node(std::string_view op, std::string_view domain, const std::vector<std::string_view>& inputs,
                   const std::vector<std::string_view>& outputs, std::string_view attribute = {}, int64_t value = -1) {
  tiny::Message node = tiny::Node(op, inputs, outputs, "own");
  node.Bytes(7, domain);
  if (value >= 0) node.Add(5, tiny::Message().Bytes(1, attribute).Number(3, static_cast<uint64_t>(value)).Number(20, 2));
  return node;
}

/// Nodes over inputs of [n, 2] of one type; the output's type is what is inferred.
std::string Model(const std::vector<tiny::Message>& nodes, const std::vector<std::string_view>& inputs, int type,
                  std::string_view domain) {
  tiny::Message graph;
  for (const tiny::Message& node : nodes) graph.Add(1, node);
  graph.Bytes(2, "owns");
  for (const std::string_view input : inputs) graph.Add(11, tiny::TensorValue(input, type, {{0, "n"}, {2}}));
  graph.Add(12, tiny::Message().Bytes(1, "y"));
  tiny::Message model;
  model.Number(1, 8).Add(7, graph).Add(8, tiny::Message().Bytes(1, "").Number(2, 17));
  return model.Add(8, tiny::Message().Bytes(1, domain).Number(2, 1)).text();
}

Session Load(const std::string& model, const SessionOptions& options,
             const Environment& environment = Environment::Default()) {
  return Session(std::as_bytes(std::span(model)), options, environment);
}

SessionOptions Quiet() {
  SessionOptions options;
  options.log_level = LogLevel::kFatal;
  return options;
}

std::vector<float> Floats(const Value& value) {
  const Tensor& tensor = value.tensor();
  return {tensor.data<float>(), tensor.data<float>() + tensor.num_elements()};
}

Value Matrix(std::vector<float> numbers) {
  const auto rows = static_cast<int64_t>(numbers.size() / 2);
  return Tensor::Of<float>(Shape{rows, 2}, numbers);
}

// --- a library
// ------------------------------------------------------------------------------------------------------------

class OperatorLibrary : public ::testing::Test {
 protected:
  OperatorLibrary() : options_(Quiet()) {
    const std::filesystem::path files[] = {CUSTOM_OPERATORS};
    options_.providers = {OperatorLibraries(files)};
  }

  SessionOptions options_;
};

constexpr const char* kGeometry = "example.geometry";

std::string Distances(int64_t p = -1) {
  return Model({Node("Distance", kGeometry, {"a", "b"}, {"d"}, "p", p), tiny::Node("Neg", {"d"}, {"y"})}, {"a", "b"},
               kFloat, kGeometry);
}

TEST_F(OperatorLibrary, Computes) {
  const Session session = Load(Distances(), options_);
  const std::vector<Value> inputs = {Matrix({0, 0, 1, 1}), Matrix({3, 4, 1, 1})};
  EXPECT_THAT(Floats(session.Run(std::vector<std::string>{"a", "b"}, inputs).at(0)), ElementsAre(-5, 0));
  const Session largest = Load(Distances(0), options_);
  EXPECT_THAT(Floats(largest.Run(std::vector<std::string>{"a", "b"}, inputs).at(0)), ElementsAre(-4, 0));
}

TEST_F(OperatorLibrary, TellsShapes) {
  const Session session = Load(Distances(), options_);
  const TypeInfo& type = session.outputs().at(0).type;
  EXPECT_EQ(type.element, ElementType::kFloat);
  ASSERT_TRUE(type.shape.has_value());
  EXPECT_THAT(*type.shape, ElementsAre(Field(&Dimension::symbol, "n")));
}

TEST_F(OperatorLibrary, IsInThePlacementAlone) {
  const Session session = Load(Distances(), options_);
  EXPECT_THAT(session.providers(), ElementsAre("CPUExecutionProvider"));
  EXPECT_THAT(session.placement().ToText(), HasSubstr("CustomOperators"));
  EXPECT_EQ(session.placement().model_nodes.at(0).provider, "CustomOperators");
}

TEST_F(OperatorLibrary, TakesTexts) {
  const Session session = Load(Model({Node("Upper", kGeometry, {"a"}, {"y"})}, {"a"}, kString, kGeometry), options_);
  const std::vector<Value> inputs = {Tensor::Of<std::string>(Shape{1, 2}, std::vector<std::string>{"ab", ""})};
  const Value result = session.Run(std::vector<std::string>{"a"}, inputs).at(0);
  EXPECT_EQ(result.tensor().data<std::string>()[0], "AB");
}

TEST_F(OperatorLibrary, SaysWhatIsWrong) {
  EXPECT_THAT(ErrorOf([&] { Load(Distances(7), options_); }), HasSubstr("p is none of 0, 1 and 2"));
  const Session session = Load(Distances(), options_);
  const std::vector<Value> inputs = {Matrix({0, 0, 1, 1}), Matrix({3, 4})};
  EXPECT_THAT(ErrorOf([&] { session.Run(std::vector<std::string>{"a", "b"}, inputs); }), HasSubstr("no two matrices"));
  const std::vector<Value> good = {Matrix({0, 0}), Matrix({3, 4})};
  EXPECT_THAT(Floats(session.Run(std::vector<std::string>{"a", "b"}, good).at(0)), ElementsAre(-5));
}

TEST_F(OperatorLibrary, OutlivesTheRequest) {
  std::optional<Session> session = Load(Distances(), options_);
  options_.providers.clear();
  const std::vector<Value> inputs = {Matrix({0, 0}), Matrix({3, 4})};
  EXPECT_THAT(Floats(session->Run(std::vector<std::string>{"a", "b"}, inputs).at(0)), ElementsAre(-5));
}

TEST_F(OperatorLibrary, StaysInAnOptimizedModel) {
  const TemporaryFolder folder;
  SessionOptions writing = options_;
  writing.optimized_model_path = folder.path() / "optimized.onnx";
  Load(Distances(), writing);
  const Session again(writing.optimized_model_path, options_);
  const std::vector<Value> inputs = {Matrix({0, 0}), Matrix({3, 4})};
  EXPECT_THAT(Floats(again.Run(std::vector<std::string>{"a", "b"}, inputs).at(0)), ElementsAre(-5));
}

TEST_F(OperatorLibrary, RunsInBranches) {
  tiny::Message then_graph, else_graph;
  then_graph.Add(1, Node("Distance", kGeometry, {"a", "b"}, {"t"})).Bytes(2, "then").Add(12, tiny::Message().Bytes(1, "t"));
  else_graph.Add(1, Node("Distance", kGeometry, {"a", "b"}, {"e"}, "p", 1))
      .Bytes(2, "else")
      .Add(12, tiny::Message().Bytes(1, "e"));
  tiny::Message branch = tiny::Node("If", {"c"}, {"y"});
  branch.Add(5, tiny::Message().Bytes(1, "then_branch").Add(6, then_graph).Number(20, 5));
  branch.Add(5, tiny::Message().Bytes(1, "else_branch").Add(6, else_graph).Number(20, 5));
  tiny::Message graph;
  graph.Add(1, branch).Bytes(2, "owns").Add(11, tiny::TensorValue("c", 9, {}));
  for (const char* input : {"a", "b"}) graph.Add(11, tiny::TensorValue(input, kFloat, {{0, "n"}, {2}}));
  graph.Add(12, tiny::Message().Bytes(1, "y"));
  tiny::Message model;
  model.Number(1, 8).Add(7, graph).Add(8, tiny::Message().Bytes(1, "").Number(2, 17));
  model.Add(8, tiny::Message().Bytes(1, kGeometry).Number(2, 1));
  const Session session = Load(model.text(), options_);
  for (const bool condition : {true, false}) {
    const std::vector<Value> inputs = {Tensor::Of<bool>(Shape{}, std::array{condition}), Matrix({0, 0}), Matrix({3, 4})};
    EXPECT_THAT(Floats(session.Run(std::vector<std::string>{"c", "a", "b"}, inputs).at(0)), ElementsAre(condition ? 5 : 7));
  }
}

TEST(OperatorLibraries, AreLibrariesOfOperators) {
  const auto open = [](const std::filesystem::path& file) {
    const std::filesystem::path files[] = {file};
    return ErrorOf([&] { OperatorLibraries(files); });
  };
  EXPECT_THAT(open("/nonexistent.so"), HasSubstr("cannot be loaded"));
  EXPECT_THAT(open(DEVICE_PROVIDER), HasSubstr("no function RegisterCustomOps"));
}

// --- objects of the program's, some of which do wrong
// -----------------------------------------------------------------------

/// y = x, by default; tests change what they are about.
struct Operator : OrtCustomOp {
  size_t num_inputs = 1, num_outputs = 1;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  OrtCustomOpInputOutputCharacteristic kind = INPUT_OUTPUT_REQUIRED;
  int alias[2] = {0, 0};

  static Operator& Self(const OrtCustomOp* op) { return *static_cast<Operator*>(const_cast<OrtCustomOp*>(op)); }

  Operator() : OrtCustomOp{} {
    version = ORT_API_VERSION;
    GetName = [](const OrtCustomOp*) { return "Own"; };
    GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
    GetInputTypeCount = [](const OrtCustomOp* op) { return Self(op).num_inputs; };
    GetOutputTypeCount = [](const OrtCustomOp* op) { return Self(op).num_outputs; };
    GetInputType = GetOutputType = [](const OrtCustomOp* op, size_t) { return Self(op).type; };
    GetInputCharacteristic = [](const OrtCustomOp* op, size_t) { return Self(op).kind; };
    GetOutputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
    GetVariadicInputMinArity = [](const OrtCustomOp*) { return std::numeric_limits<int>::min(); };
    GetVariadicInputHomogeneity = [](const OrtCustomOp*) { return 1; };
    CreateKernelV2 = [](const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*, void** kernel) -> OrtStatusPtr {
      *kernel = nullptr;
      return nullptr;
    };
    KernelComputeV2 = [](void*, OrtKernelContext* context) -> OrtStatusPtr { return Copy(context, false); };
    KernelDestroy = [](void*) {};
  }

  /// The input's elements, or, where the output holds them, those of it plus 1.
  static OrtStatus* Copy(OrtKernelContext* context, bool add) {
    const OrtValue* input = nullptr;
    OrtValue* output = nullptr;
    const int64_t shape[] = {2, 2};
    if (OrtStatus* status = Api().KernelContext_GetInput(context, 0, &input)) return status;
    if (OrtStatus* status = Api().KernelContext_GetOutput(context, 0, shape, 2, &output)) return status;
    void *from = nullptr, *to = nullptr;
    if (OrtStatus* status = Api().GetTensorMutableData(const_cast<OrtValue*>(input), &from)) return status;
    if (OrtStatus* status = Api().GetTensorMutableData(output, &to)) return status;
    for (int i = 0; i < 4; ++i) {
      float& number = static_cast<float*>(to)[i];
      number = add ? number + 1 : static_cast<float*>(from)[i];
    }
    return nullptr;
  }
};

/// A session of the C ABI with one operator.
struct Loaded {
  OrtEnv* env = nullptr;
  OrtCustomOpDomain* domain = nullptr;
  OrtSession* session = nullptr;
  std::string error;

  explicit Loaded(const Operator& op, const std::vector<std::string_view>& inputs = {"x"}) {
    OrtSessionOptions* options = nullptr;
    Api().ReleaseStatus(Api().CreateEnv(ORT_LOGGING_LEVEL_FATAL, "test", &env));
    Api().ReleaseStatus(Api().CreateCustomOpDomain("own", &domain));
    Api().ReleaseStatus(Api().CustomOpDomain_Add(domain, &op));
    Api().ReleaseStatus(Api().CreateSessionOptions(&options));
    Api().ReleaseStatus(Api().AddCustomOpDomain(options, domain));
    std::vector<std::string_view> outputs = {"y"};
    if (op.num_outputs == 2) outputs.push_back("z");
    const std::string model = Model({Node("Own", "own", inputs, outputs)}, inputs, kFloat, "own");
    Take(Api().CreateSessionFromArray(env, model.data(), model.size(), options, &session));
    Api().ReleaseSessionOptions(options);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() {
    Api().ReleaseSession(session);
    Api().ReleaseCustomOpDomain(domain);
    Api().ReleaseEnv(env);
  }

  void Take(OrtStatus* status) {
    error = status == nullptr ? "" : Api().GetErrorMessage(status);
    Api().ReleaseStatus(status);
  }

  /// Of x = 1 2 3 4; none where the run fails.
  std::vector<float> Run() {
    if (session == nullptr) return {};
    float numbers[] = {1, 2, 3, 4};
    const int64_t shape[] = {2, 2};
    OrtMemoryInfo* info = nullptr;
    OrtValue *input = nullptr, *output = nullptr;
    Api().ReleaseStatus(Api().CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
    Api().ReleaseStatus(Api().CreateTensorWithDataAsOrtValue(info, numbers, sizeof(numbers), shape, 2,
                                                             ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input));
    Api().ReleaseMemoryInfo(info);
    const char *input_name = "x", *output_name = "y";
    Take(Api().Run(session, nullptr, &input_name, &input, 1, &output_name, 1, &output));
    std::vector<float> result;
    if (output != nullptr) {
      void* data = nullptr;
      Api().ReleaseStatus(Api().GetTensorMutableData(output, &data));
      result.assign(static_cast<float*>(data), static_cast<float*>(data) + 4);
    }
    Api().ReleaseValue(output);
    Api().ReleaseValue(input);
    return result;
  }
};

TEST(CustomOperators, Compute) {
  const Operator op;
  Loaded loaded(op);
  EXPECT_EQ(loaded.error, "");
  EXPECT_THAT(loaded.Run(), ElementsAre(1, 2, 3, 4));
}

TEST(CustomOperators, BeginAsTheirAlias) {
  Operator op;
  op.GetAliasMap = [](int** input, int** output) -> size_t {
    *input = new int[1]{0};
    *output = new int[1]{0};
    return 1;
  };
  op.ReleaseAliasMap = [](int* input, int* output) {
    delete[] input;
    delete[] output;
  };
  op.KernelComputeV2 = [](void*, OrtKernelContext* context) -> OrtStatusPtr { return Operator::Copy(context, true); };
  Loaded loaded(op);
  EXPECT_THAT(loaded.Run(), ElementsAre(2, 3, 4, 5));
}

TEST(CustomOperators, MayBeOfOldInterfaces) {
  Operator op;
  op.version = 7;  // of the members that came later there are none
  op.GetInputCharacteristic = op.GetOutputCharacteristic = nullptr;
  op.CreateKernelV2 = nullptr;
  op.KernelComputeV2 = nullptr;
  op.CreateKernel = [](const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*) -> void* { return nullptr; };
  op.KernelCompute = [](void*, OrtKernelContext* context) { Api().ReleaseStatus(Operator::Copy(context, false)); };
  Loaded loaded(op);
  EXPECT_EQ(loaded.error, "");
  EXPECT_THAT(loaded.Run(), ElementsAre(1, 2, 3, 4));
}

std::string LoadErrorOf(const Operator& op, const std::vector<std::string_view>& inputs = {"x"}) {
  return Loaded(op, inputs).error;
}

TEST(CustomOperators, AreChecked) {
  {
    Operator op;
    op.GetName = nullptr;
    EXPECT_THAT(LoadErrorOf(op), HasSubstr("not filled in"));
  }
  {
    Operator op;
    op.GetName = [](const OrtCustomOp*) { return ""; };
    EXPECT_THAT(LoadErrorOf(op), HasSubstr("no name"));
  }
  {
    Operator op;
    op.num_inputs = 2;
    op.kind = INPUT_OUTPUT_VARIADIC;
    EXPECT_THAT(LoadErrorOf(op), HasSubstr("variadic"));
  }
  {
    Operator op;
    op.num_inputs = std::numeric_limits<size_t>::max();
    EXPECT_THAT(LoadErrorOf(op), HasSubstr("65536 of each are the most"));
  }
  {
    Operator op;
    op.type = static_cast<ONNXTensorElementDataType>(99);
    EXPECT_THAT(LoadErrorOf(op), HasSubstr("no element type 99"));
  }
  {
    Operator op;
    op.version = 9999;
    EXPECT_THAT(LoadErrorOf(op), HasSubstr("newer than this library's"));
  }
  {
    Operator op;
    op.KernelComputeV2 = nullptr;
    EXPECT_THAT(LoadErrorOf(op), HasSubstr("no function that computes"));
  }
  {
    Operator op;
    op.GetAliasMap = [](int** input, int** output) -> size_t {
      static int far = 7;
      *input = *output = &far;
      return 1;
    };
    op.ReleaseAliasMap = [](int*, int*) {};
    EXPECT_THAT(LoadErrorOf(op), HasSubstr("aliases"));
  }
  EXPECT_THAT(LoadErrorOf(Operator(), {"x", "w"}), HasSubstr("2 inputs, 1 at most"));
}

TEST(CustomOperators, MayThrow) {
  {
    Operator op;
    op.CreateKernelV2 = [](const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*, void**) -> OrtStatusPtr {
      throw std::runtime_error("thrown while it was made");
    };
    EXPECT_THAT(LoadErrorOf(op), HasSubstr("thrown while it was made"));
  }
  {
    Operator op;
    op.InferOutputShapeFn = [](const OrtCustomOp*, OrtShapeInferContext*) -> OrtStatusPtr {
      throw std::runtime_error("thrown while types were inferred");
    };
    EXPECT_THAT(LoadErrorOf(op), HasSubstr("thrown while types were inferred"));
  }
  Operator op;
  op.KernelComputeV2 = [](void*, OrtKernelContext*) -> OrtStatusPtr { throw std::runtime_error("thrown in a run"); };
  Loaded loaded(op);
  loaded.Run();
  EXPECT_THAT(loaded.error, HasSubstr("thrown in a run"));
}

TEST(CustomOperators, MayNotComputeWhatTheySaid) {
  {
    Operator op;
    op.KernelComputeV2 = [](void*, OrtKernelContext*) -> OrtStatusPtr { return nullptr; };
    Loaded loaded(op);
    loaded.Run();
    EXPECT_THAT(loaded.error, HasSubstr("did not compute output"));
  }
  Operator op;
  op.InferOutputShapeFn = [](const OrtCustomOp*, OrtShapeInferContext* context) -> OrtStatusPtr {
    OrtTensorTypeAndShapeInfo* info = nullptr;
    Api().ReleaseStatus(Api().CreateTensorTypeAndShapeInfo(&info));
    const int64_t dims[] = {2, 3};
    Api().ReleaseStatus(Api().SetTensorElementType(info, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT));
    Api().ReleaseStatus(Api().SetDimensions(info, dims, 2));
    OrtStatus* status = Api().ShapeInferContext_SetOutputTypeShape(context, 0, info);
    Api().ReleaseStatus(Api().ShapeInferContext_SetOutputTypeShape(context, 9, info));  // there is none
    Api().ReleaseTensorTypeAndShapeInfo(info);
    return status;
  };
  Loaded loaded(op);
  loaded.Run();
  EXPECT_THAT(loaded.error, HasSubstr("computed output 'y' as"));
}

TEST(CustomOperators, RunFromManyThreads) {
  const Operator op;
  const Loaded loaded(op);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        float numbers[] = {1, 2, 3, 4};
        const int64_t shape[] = {2, 2};
        OrtMemoryInfo* info = nullptr;
        OrtValue *input = nullptr, *output = nullptr;
        Api().ReleaseStatus(Api().CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
        Api().ReleaseStatus(Api().CreateTensorWithDataAsOrtValue(info, numbers, sizeof(numbers), shape, 2,
                                                                 ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input));
        Api().ReleaseMemoryInfo(info);
        const char *input_name = "x", *output_name = "y";
        EXPECT_EQ(Api().Run(loaded.session, nullptr, &input_name, &input, 1, &output_name, 1, &output), nullptr);
        Api().ReleaseValue(output);
        Api().ReleaseValue(input);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// --- of a plugin's library
// ------------------------------------------------------------------------------------------------------

class PluginOperators : public ::testing::Test {
 protected:
  PluginOperators() : options_(Quiet()) {
    environment_.RegisterProviderLibrary("device", DEVICE_PROVIDER);
    options_.providers = {{"DeviceExecutionProvider", {}}};
    options_.error_on_failure = true;
  }
  ~PluginOperators() override { environment_.UnregisterProviderLibrary("device"); }

  std::vector<float> Run(const char* op) {
    const Session session =
        Load(Model({tiny::Node("Neg", {"x"}, {"a"}), Node(op, "device.ops", {"a"}, {"b"}), tiny::Node("Neg", {"b"}, {"y"})},
                   {"x"}, kFloat, "device.ops"),
             options_, environment_);
    EXPECT_EQ(session.placement().model_nodes.at(1).provider, "DeviceExecutionProvider");
    const std::vector<Value> inputs = {Matrix({1, 2, 3, 4})};
    return Floats(session.Run(std::vector<std::string>{"x"}, inputs).at(0));
  }

  Environment environment_;
  SessionOptions options_;
};

// Its kernels complain of operands in the other memory.
TEST_F(PluginOperators, RunWhereTheySay) {
  EXPECT_THAT(Run("OnHost"), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(Run("OnDevice"), ElementsAre(2, 4, 6, 8));
}

}  // namespace
}  // namespace tessera
