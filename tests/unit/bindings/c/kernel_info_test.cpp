// What kernels of clients learn when they are made.

#include "bindings/c/kernels/kernel_info.h"

#include <gmock/gmock.h>

#include <vector>

#include "bindings/c/logger.h"
#include "bindings/c/table.h"
#include "model/model.h"
#include "model_builder.h"

namespace tessera::testing {
namespace {

using ::testing::ElementsAre;

/// Of a node that no session has.
class LoneKernelInfo final : public KernelInfo {
 public:
  LoneKernelInfo(const GraphViewer& graph, NodeIndex index) : graph_(graph), node_(graph.node(index)) {}

  const Node& node() const noexcept override { return node_; }
  const GraphViewer& graph() const noexcept override { return graph_; }
  const ExecutionProvider& provider() const noexcept override { std::abort(); }
  ThreadPool& threads() const noexcept override { std::abort(); }
  Allocator& allocator() const noexcept override { return HostAllocator(); }
  SubgraphRunner& subgraph(std::string_view /*attribute*/) const override { std::abort(); }
  std::shared_ptr<const void> SharedPrepack(const Tensor& /*constant*/, std::string_view /*key*/,
                                            const std::function<std::shared_ptr<const void>()>& make) const override {
    return make();
  }
  void ReleaseConstant(size_t /*input*/) const override {}
  void AcceptUnaligned(size_t /*input*/) const override {}

 private:
  const GraphViewer& graph_;
  const Node& node_;
};

/// An operator that nobody knows, whose second input is constant and whose third is omitted.
ModelBuilder ModelOfKernel() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 3}).Output("y", ElementType::kFloat, {2, 3}).Floats("w", {2}, {4, 5});
  auto* import = model.proto().add_opset_import();
  import->set_domain("com.example");
  import->set_version(3);
  onnx::NodeProto& node = model.Node("Some", {"x", "w", "", "x"}, {"y"}, "some");
  node.set_domain("com.example");
  const auto add = [&](const std::string& name, onnx::AttributeProto::AttributeType type) -> onnx::AttributeProto& {
    onnx::AttributeProto& added = *node.add_attribute();
    added.set_name(name);
    added.set_type(type);
    return added;
  };
  add("int", onnx::AttributeProto::INT).set_i(-5);
  add("float", onnx::AttributeProto::FLOAT).set_f(0.5f);
  add("string", onnx::AttributeProto::STRING).set_s("text");
  add("none", onnx::AttributeProto::INTS);
  auto& ints = add("ints", onnx::AttributeProto::INTS);
  for (const int64_t value : {1, 2, 3}) ints.add_ints(value);
  auto& floats = add("floats", onnx::AttributeProto::FLOATS);
  for (const float value : {1.5f, 2.5f}) floats.add_floats(value);
  auto& strings = add("strings", onnx::AttributeProto::STRINGS);
  for (const char* text : {"a", "bcd"}) strings.add_strings(text);
  auto& tensor = *add("tensor", onnx::AttributeProto::TENSOR).mutable_t();
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(2);
  tensor.add_float_data(7);
  tensor.add_float_data(8);
  return model;
}

Model LoadIt(const ModelBuilder& model) {
  const std::string bytes = model.bytes();
  return LoadModel(std::as_bytes(std::span(bytes)), nullptr, {});
}

class KernelInfoTest : public ::testing::Test {
 protected:
  explicit KernelInfoTest(const ModelBuilder& builder = ModelOfKernel())
      : model_(LoadIt(builder)),
        viewer_(*model_.graph),
        core_(viewer_, viewer_.nodes().front()),
        whole_(core_, {.logger = &logger_, .config = &config_}) {
    RequireOk(Api().GetAllocatorWithDefaultOptions(&allocator_));
  }

  const OrtKernelInfo* info() const { return &whole_; }

  const Model model_;
  const GraphViewer viewer_;
  const LoneKernelInfo core_;
  const OrtLogger logger_{Logger("test", LogLevel::kError)};
  const std::map<std::string, std::string, std::less<>> config_{{"key", "value"}};
  const OrtKernelInfo whole_;
  OrtAllocator* allocator_ = nullptr;
};

/// By the two-call pattern.
template <class Get, class... Arguments>
std::string TextBy(Get get, const OrtKernelInfo* info, Arguments... arguments) {
  size_t size = 0;
  RequireOk(get(info, arguments..., nullptr, &size));
  std::string text(size, '?');
  RequireOk(get(info, arguments..., text.data(), &size));
  text.pop_back();
  return text;
}

TEST_F(KernelInfoTest, NodesTellWhatTheyAre) {
  EXPECT_EQ(TextBy(Api().KernelInfo_GetNodeName, info()), "some");
  EXPECT_EQ(TextBy(Api().KernelInfo_GetOperatorType, info()), "Some");
  EXPECT_EQ(TextBy(Api().KernelInfo_GetOperatorDomain, info()), "com.example");
  EXPECT_EQ(Ask(Api().KernelInfo_GetOperatorSinceVersion, info()), 3);
}

TEST_F(KernelInfoTest, InputsAndOutputsHaveNamesAndTypes) {
  EXPECT_EQ(Ask(Api().KernelInfo_GetInputCount, info()), 4u);
  EXPECT_EQ(Ask(Api().KernelInfo_GetOutputCount, info()), 1u);
  EXPECT_EQ(TextBy(Api().KernelInfo_GetInputName, info(), size_t{1}), "w");
  EXPECT_EQ(TextBy(Api().KernelInfo_GetInputName, info(), size_t{2}), "");
  EXPECT_EQ(TextBy(Api().KernelInfo_GetOutputName, info(), size_t{0}), "y");
  OrtTypeInfo* type = Ask(Api().KernelInfo_GetInputTypeInfo, info(), size_t{0});
  const OrtTensorTypeAndShapeInfo* tensor = Ask(Api().CastTypeInfoToTensorInfo, static_cast<const OrtTypeInfo*>(type));
  EXPECT_EQ(Ask(Api().GetDimensionsCount, tensor), 2u);
  Api().ReleaseTypeInfo(type);
  type = Ask(Api().KernelInfo_GetOutputTypeInfo, info(), size_t{0});
  EXPECT_EQ(Ask(Api().GetOnnxTypeFromTypeInfo, static_cast<const OrtTypeInfo*>(type)), ONNX_TYPE_TENSOR);
  Api().ReleaseTypeInfo(type);

  size_t size = 0;
  EXPECT_EQ(CodeOf(Api().KernelInfo_GetInputName(info(), 4, nullptr, &size)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().KernelInfo_GetOutputName(info(), 1, nullptr, &size)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().KernelInfo_GetInputTypeInfo(info(), 4, &type)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().KernelInfo_GetInputTypeInfo(info(), 2, &type)), ORT_INVALID_GRAPH);
}

TEST_F(KernelInfoTest, ConstantsAreTheGraphs) {
  int is_constant = 7;
  const OrtValue* value = nullptr;
  RequireOk(Api().KernelInfoGetConstantInput_tensor(info(), 1, &is_constant, &value));
  EXPECT_EQ(is_constant, 1);
  EXPECT_EQ(Ask(Api().GetTensorData, value), viewer_.constant(core_.node().inputs[1])->raw());
  for (const size_t other : {0, 2, 9}) {
    RequireOk(Api().KernelInfoGetConstantInput_tensor(info(), other, &is_constant, &value));
    EXPECT_EQ(is_constant, 0);
    EXPECT_EQ(value, nullptr);
  }
}

TEST_F(KernelInfoTest, AttributesAreRead) {
  EXPECT_EQ(Ask(Api().KernelInfoGetAttribute_int64, info(), "int"), -5);
  EXPECT_EQ(Ask(Api().KernelInfoGetAttribute_float, info(), "float"), 0.5f);
  EXPECT_EQ(TextBy(Api().KernelInfoGetAttribute_string, info(), "string"), "text");
  size_t size = 0;
  RequireOk(Api().KernelInfoGetAttributeArray_int64(info(), "ints", nullptr, &size));
  ASSERT_EQ(size, 3u);
  int64_t ints[4] = {};
  size = 4;
  RequireOk(Api().KernelInfoGetAttributeArray_int64(info(), "ints", ints, &size));
  EXPECT_EQ(size, 3u);
  EXPECT_THAT(ints, ElementsAre(1, 2, 3, 0));
  float floats[2] = {};
  size = 2;
  RequireOk(Api().KernelInfoGetAttributeArray_float(info(), "floats", floats, &size));
  EXPECT_THAT(floats, ElementsAre(1.5f, 2.5f));
  RequireOk(Api().KernelInfoGetAttributeArray_int64(info(), "none", nullptr, &size));
  EXPECT_EQ(size, 0u);

  char** texts = nullptr;
  RequireOk(Api().KernelInfoGetAttributeArray_string(info(), "strings", allocator_, &texts, &size));
  ASSERT_EQ(size, 2u);
  EXPECT_STREQ(texts[1], "bcd");
  for (size_t i = 0; i < size; ++i) RequireOk(Api().AllocatorFree(allocator_, texts[i]));
  RequireOk(Api().AllocatorFree(allocator_, texts));

  OrtValue* value = Ask(Api().KernelInfoGetAttribute_tensor, info(), "tensor", allocator_);
  EXPECT_EQ(static_cast<const float*>(Ask(Api().GetTensorData, static_cast<const OrtValue*>(value)))[1], 8);
  Api().ReleaseValue(value);
}

TEST_F(KernelInfoTest, WrongQuestionsAreErrors) {
  int64_t number = 0;
  float real = 0;
  char text[3];
  size_t size = sizeof(text);
  EXPECT_EQ(CodeOf(Api().KernelInfoGetAttribute_int64(info(), "absent", &number)), ORT_FAIL);
  EXPECT_EQ(CodeOf(Api().KernelInfoGetAttribute_float(info(), "int", &real)), ORT_FAIL);
  EXPECT_EQ(CodeOf(Api().KernelInfoGetAttribute_string(info(), "string", text, &size)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(size, 5u);
  size = 2;
  int64_t ints[2];
  EXPECT_EQ(CodeOf(Api().KernelInfoGetAttributeArray_int64(info(), "ints", ints, &size)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(size, 3u);
  EXPECT_EQ(CodeOf(Api().KernelInfo_GetInputCount(nullptr, &size)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().KernelInfoGetAttribute_int64(info(), nullptr, &number)), ORT_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(Api().CopyKernelInfo(nullptr, nullptr)), ORT_INVALID_ARGUMENT);
  Api().ReleaseKernelInfo(nullptr);
}

TEST_F(KernelInfoTest, SessionsServicesAreThere) {
  EXPECT_EQ(Ask(Api().KernelInfo_GetLogger, info()), &logger_);
  EXPECT_EQ(Ask(Api().Logger_GetLoggingSeverityLevel, &logger_), ORT_LOGGING_LEVEL_ERROR);
  RequireOk(Api().Logger_LogMessage(&logger_, ORT_LOGGING_LEVEL_INFO, "unseen", "file.cpp", 3, "Function"));
  EXPECT_EQ(CodeOf(Api().Logger_LogMessage(&logger_, ORT_LOGGING_LEVEL_INFO, nullptr, "file.cpp", 3, "Function")),
            ORT_INVALID_ARGUMENT);
  OrtKeyValuePairs* pairs = Ask(Api().KernelInfo_GetConfigEntries, info());
  EXPECT_STREQ(Api().GetKeyValue(pairs, "key"), "value");
  Api().ReleaseKeyValuePairs(pairs);
  for (const OrtMemType type : {OrtMemTypeDefault, OrtMemTypeCPUInput}) {
    OrtAllocator* allocator = Ask(Api().KernelInfoGetAllocator, info(), type);
    void* memory = allocator->Alloc(allocator, 16);
    EXPECT_NE(memory, nullptr);
    allocator->Free(allocator, memory);
    Api().ReleaseAllocator(allocator);
  }
}

TEST_F(KernelInfoTest, CopiesOutliveTheGraph) {
  OrtKernelInfo* copy = nullptr;
  {
    const Model model = LoadIt(ModelOfKernel());
    const GraphViewer viewer(*model.graph);
    const LoneKernelInfo core(viewer, viewer.nodes().front());
    const OrtKernelInfo whole(core, {});
    EXPECT_EQ(whole.creation, &core);
    copy = Ask(Api().CopyKernelInfo, &whole);
  }
  EXPECT_EQ(copy->creation, nullptr);
  EXPECT_EQ(TextBy(Api().KernelInfo_GetNodeName, copy), "some");
  EXPECT_EQ(Ask(Api().KernelInfoGetAttribute_int64, static_cast<const OrtKernelInfo*>(copy), "int"), -5);
  int is_constant = 0;
  const OrtValue* value = nullptr;
  RequireOk(Api().KernelInfoGetConstantInput_tensor(copy, 1, &is_constant, &value));
  EXPECT_EQ(static_cast<const float*>(Ask(Api().GetTensorData, value))[1], 5);
  const OrtLogger* logger = nullptr;
  EXPECT_EQ(CodeOf(Api().KernelInfo_GetLogger(copy, &logger)), ORT_INVALID_GRAPH);
  Api().ReleaseKernelInfo(copy);
}

TEST(KernelInfoOfDefaults, AttributesThatAreLeftOutHaveTheirDefaults) {
  ModelBuilder builder;
  builder.Input("x", ElementType::kFloat, {2, 2}).Output("y", ElementType::kFloat, {2, 2});
  builder.Node("Gemm", {"x", "x"}, {"y"});
  const Model model = LoadIt(builder);
  const GraphViewer viewer(*model.graph);
  const LoneKernelInfo core(viewer, viewer.nodes().front());
  const OrtKernelInfo info(core, {});
  EXPECT_EQ(Ask(Api().KernelInfoGetAttribute_float, &info, "alpha"), 1.0f);
  EXPECT_EQ(Ask(Api().KernelInfoGetAttribute_int64, &info, "transA"), 0);
}

}  // namespace
}  // namespace tessera::testing
