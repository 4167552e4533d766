// Models that a client builds through the C ABI, node after node, out of names that mostly fit: type and value infos,
// weights in the client's memory, graphs, models, sessions of them, edits of sessions' models, and compilations. The input
// is a program, byte after byte. What an entry takes over is not touched again, as ONNX Runtime's contract is; all else is
// released at the end.

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../fixed_models.h"
#include "c_client.h"
#include "vocabulary.h"

namespace tessera::fuzz {
namespace {

constexpr size_t kMostCalls = 96, kMostNames = 6;

const OrtModelEditorApi& Editor() {
  static const OrtModelEditorApi& api = *Api().GetModelEditorApi();
  return api;
}
const OrtCompileApi& Compiling() {
  static const OrtCompileApi& api = *Api().GetCompileApi();
  return api;
}

template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

class Builder : ClientParts {
 public:
  explicit Builder(std::span<const uint8_t> program) : ClientParts(program), random_(choices_.Number<uint32_t>()) {}

  void Run() {
    for (size_t i = 0; i < kMostCalls && !choices_.done(); ++i) Call();
  }

 private:
  void Call() {
    switch (choices_.Below(12)) {
      case 0: return NewGraph();
      case 1: return SetEnds();
      case 2:
      case 3: return AddWeight();
      case 4:
      case 5:
      case 6: return AddNode();
      case 7: return NewModel();
      case 8: return NewSession();
      case 9: return Edit();
      case 10: return Compile();
      default: return RunSession();
    }
  }

  const char* AnyName() {
    static constexpr const char* kNames[kMostNames] = {"a", "b", "c", "d", "e", ""};
    return kNames[choices_.Below(kMostNames)];
  }
  ONNXTensorElementDataType AnyElement() {
    return choices_.Below(4) == 0 ? static_cast<ONNXTensorElementDataType>(choices_.Below(30))
                                  : ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  }

  Owned<OrtTypeInfo> AnyType(int depth = 0) {
    OrtTypeInfo* made = nullptr;
    const size_t kind = depth > 3 ? 0 : choices_.Below(10);
    if (kind <= 6) {
      OrtTensorTypeAndShapeInfo* tensor = nullptr;
      if (!Good(Api().CreateTensorTypeAndShapeInfo(&tensor))) return {nullptr, Api().ReleaseTypeInfo};
      Good(Api().SetTensorElementType(tensor, AnyElement()));
      const std::vector<int64_t> shape = AnyShape();
      Good(Api().SetDimensions(tensor, shape.data(), shape.size()));
      if (kind == 6) {
        Good(Editor().CreateSparseTensorTypeInfo(tensor, &made));
      } else {
        Good(Editor().CreateTensorTypeInfo(tensor, &made));
      }
      Api().ReleaseTensorTypeAndShapeInfo(tensor);
    } else {
      const Owned<OrtTypeInfo> inside = AnyType(depth + 1);
      if (kind == 7) Good(Editor().CreateSequenceTypeInfo(inside.get(), &made));
      if (kind == 8) Good(Editor().CreateOptionalTypeInfo(inside.get(), &made));
      if (kind == 9) Good(Editor().CreateMapTypeInfo(AnyElement(), inside.get(), &made));
    }
    return {made, Api().ReleaseTypeInfo};
  }

  void NewGraph() {
    OrtGraph* made = nullptr;
    Good(Editor().CreateGraph(&made));
    graph_ = Owned<OrtGraph>(made, Api().ReleaseGraph);
  }

  /// Inputs, or outputs, of a few names.
  void SetEnds() {
    std::vector<OrtValueInfo*> values;
    for (size_t i = choices_.Below(4); i > 0; --i) {
      const Owned<OrtTypeInfo> type = AnyType();
      OrtValueInfo* value = nullptr;
      if (Good(Editor().CreateValueInfo(AnyName(), type.get(), &value))) values.push_back(value);
    }
    if (choices_.Below(8) == 0) values.push_back(nullptr);
    const bool inputs = choices_.Flag();
    const auto set = inputs ? Editor().SetGraphInputs : Editor().SetGraphOutputs;
    if (Good(set(graph_.get(), values.data(), values.size()))) return;
    for (OrtValueInfo* value : values) Api().ReleaseValueInfo(value);  // they are the client's still
  }

  void AddWeight() {
    const std::vector<int64_t> shape = AnyShape();
    OrtValue* value = nullptr;
    const bool external = choices_.Flag();
    if (external) {
      ViewMemory(shape, AnyElement(), value);
    } else {
      MakeTensor(shape, AnyElement(), value);
    }
    if (!Good(Editor().AddInitializerToGraph(graph_.get(), AnyName(), value, external)) && value != nullptr)
      Api().ReleaseValue(value);
  }

  OrtOpAttr* AttributeOf(const OperatorName& op) {
    const onnx::AttributeProto proto = RandomAttribute(op, random_);
    OrtOpAttr* made = nullptr;
    const auto make = [&](const void* data, size_t count, OrtOpAttrType type) {
      Good(Api().CreateOpAttr(proto.name().c_str(), data, static_cast<int>(count), type, &made));
    };
    const int64_t integer = proto.i();
    const float number = proto.f();
    switch (proto.type()) {
      case onnx::AttributeProto::INT: make(&integer, 1, ORT_OP_ATTR_INT); break;
      case onnx::AttributeProto::FLOAT: make(&number, 1, ORT_OP_ATTR_FLOAT); break;
      case onnx::AttributeProto::STRING: make(proto.s().data(), proto.s().size(), ORT_OP_ATTR_STRING); break;
      case onnx::AttributeProto::INTS:
        make(proto.ints().data(), static_cast<size_t>(proto.ints_size()), ORT_OP_ATTR_INTS);
        break;
      case onnx::AttributeProto::FLOATS:
        make(proto.floats().data(), static_cast<size_t>(proto.floats_size()), ORT_OP_ATTR_FLOATS);
        break;
      default: break;
    }
    return made;
  }

  void AddNode() {
    static const std::vector<OperatorName>& operators = Operators();
    static const OperatorName plain[] = {{"", "Add", 14}, {"", "MatMul", 13}, {"", "Relu", 14}, {"", "Conv", 11}};
    const OperatorName& op = choices_.Flag() ? plain[choices_.Below(std::size(plain))]
                                             : operators[choices_.Number<uint16_t>() % operators.size()];
    const char *inputs[4], *outputs[2];
    for (const char*& input : inputs) input = AnyName();
    for (const char*& output : outputs) output = AnyName();
    std::vector<OrtOpAttr*> attributes;
    for (size_t i = choices_.Below(3); i > 0; --i) {
      if (OrtOpAttr* made = AttributeOf(op)) attributes.push_back(made);
    }
    OrtNode* node = nullptr;
    const std::string name = choices_.Below(4) == 0 ? choices_.Text() : "n";
    Good(Editor().CreateNode(op.op_type.c_str(), op.domain.c_str(), name.c_str(), inputs, 1 + choices_.Below(4), outputs,
                             1 + choices_.Below(2), attributes.data(), attributes.size(), &node));
    for (OrtOpAttr* attribute : attributes) Api().ReleaseOpAttr(attribute);
    if (!Good(Editor().AddNodeToGraph(graph_.get(), node)) && node != nullptr) Api().ReleaseNode(node);
  }

  void NewModel() {
    const char* domains[] = {"", "com.microsoft", "ai.onnx.ml"};
    int versions[] = {choices_.Below(8) == 0 ? choices_.Number<int8_t>() : 21, 1, 3};
    OrtModel* made = nullptr;
    Good(Editor().CreateModel(domains, versions, choices_.Below(4), &made));
    model_ = Owned<OrtModel>(made, Api().ReleaseModel);
    if (Good(Editor().AddGraphToModel(made, graph_.get()))) static_cast<void>(graph_.release());
  }

  void NewSession() {
    OrtSession* made = nullptr;
    session_.reset();
    Good(Editor().CreateSessionFromModel(env_, model_.get(), nullptr, &made));
    session_ = Owned<OrtSession>(made, Api().ReleaseSession);
  }

  /// Opens one of the fixed models for edits, or goes on with what is open.
  void Edit() {
    if (choices_.Below(4) == 0) {
      const std::vector<FixedModel>& models = FixedModels();
      edited_ = models[choices_.Below(models.size())].proto.SerializeAsString();
      OrtSession* made = nullptr;
      Good(Editor().CreateModelEditorSessionFromArray(env_, edited_.data(), edited_.size(), nullptr, &made));
      session_ = Owned<OrtSession>(made, Api().ReleaseSession);
    } else if (choices_.Flag()) {
      Good(Editor().ApplyModelToModelEditorSession(session_.get(), model_.get()));
    } else {
      Good(Editor().FinalizeModelEditorSession(session_.get(), nullptr, nullptr));
    }
    int opset = 0;
    Good(Editor().SessionGetOpsetForDomain(session_.get(), choices_.Flag() ? "" : "ai.onnx.ml", &opset));
  }

  void Compile() {
    OrtSessionOptions* options = nullptr;
    if (!Good(Api().CreateSessionOptions(&options))) return;
    OrtModelCompilationOptions* compilation = nullptr;
    Good(Compiling().CreateModelCompilationOptionsFromSessionOptions(env_, options, &compilation));
    Api().ReleaseSessionOptions(options);
    Good(Compiling().ModelCompilationOptions_SetInputModel(compilation, model_.get()));
    Good(Compiling().ModelCompilationOptions_SetFlags(compilation, choices_.Below(4)));
    void *data = nullptr, *weights = nullptr;
    size_t bytes = 0, weight_bytes = 0;
    Good(Compiling().ModelCompilationOptions_SetOutputModelBuffer(compilation, allocator_, &data, &bytes));
    if (choices_.Flag()) {
      Good(Compiling().ModelCompilationOptions_SetOutputModelExternalInitializersBuffer(
          compilation, AnyName(), choices_.Byte(), allocator_, &weights, &weight_bytes));
      Good(Compiling().ModelCompilationOptions_SetOutputModelExternalInitializersAlignment(compilation, choices_.Byte(),
                                                                                           choices_.Byte()));
    }
    Good(Compiling().CompileModel(env_, compilation));
    Compiling().ReleaseModelCompilationOptions(compilation);
    for (void* given : {data, weights}) {
      if (given != nullptr) Good(Api().AllocatorFree(allocator_, given));
    }
  }

  void RunSession() {
    const std::vector<int64_t> shape = AnyShape();
    OrtValue* value = nullptr;
    Good(Api().CreateTensorWithDataAsOrtValue(memory_info_, memory_.data(), memory_.size(), shape.data(), shape.size(),
                                              AnyElement(), &value));
    const char* const inputs[] = {AnyName(), AnyName()};
    const OrtValue* const given[] = {value, value};
    const char* const output = AnyName();
    OrtValue* result = nullptr;
    Good(Api().Run(session_.get(), nullptr, inputs, given, choices_.Below(3), &output, 1, &result));
    if (result != nullptr) Api().ReleaseValue(result);
    if (value != nullptr) Api().ReleaseValue(value);
    size_t count = 0;
    Good(Api().SessionGetInputCount(session_.get(), &count));
  }

  Random random_;
  std::string edited_;
  Owned<OrtGraph> graph_{nullptr, Api().ReleaseGraph};
  Owned<OrtModel> model_{nullptr, Api().ReleaseModel};
  Owned<OrtSession> session_{nullptr, Api().ReleaseSession};
};

}  // namespace
}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tessera::fuzz::Builder({data, size}).Run();
  return 0;
}
