#pragma once

// Operators of the program's own, and sessions that have them.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "answers.h"

inline constexpr auto kFloat = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
inline constexpr auto kInt64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
inline constexpr auto kString = ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
inline constexpr auto kAny = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
inline constexpr const char* kDomain = "test.ops";

struct Operator;

/// What a kernel has of its node.
struct Kernel {
  const Operator& op;
  int64_t by = 0;
  OrtOp* add = nullptr;  // of ONNX
};

inline std::vector<int64_t> ShapeOf(const OrtValue* value, size_t* count) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  Must(api->GetTensorTypeAndShape(value, &info));
  size_t rank = 0;
  Must(api->GetDimensionsCount(info, &rank));
  std::vector<int64_t> shape(rank);
  Must(api->GetDimensions(info, shape.data(), rank));
  Must(api->GetTensorShapeElementCount(info, count));
  api->ReleaseTensorTypeAndShapeInfo(info);
  return shape;
}

template <class T>
T* DataOf(const OrtValue* value) {
  void* data = nullptr;
  Must(api->GetTensorMutableData(const_cast<OrtValue*>(value), &data));
  return static_cast<T*>(data);
}

inline const OrtValue* InputOf(const OrtKernelContext* context, size_t i) {
  const OrtValue* value = nullptr;
  Must(api->KernelContext_GetInput(context, i, &value));
  return value;
}

/// An operator; tests change what they are about.
struct Operator : OrtCustomOp {
  std::string name;
  std::vector<ONNXTensorElementDataType> inputs = {kFloat}, outputs = {kFloat};
  std::vector<OrtCustomOpInputOutputCharacteristic> kinds = {INPUT_OUTPUT_REQUIRED};
  const char* provider = nullptr;
  int first = 1, last = 1000;
  bool fails_to_make = false;
  OrtStatus* (*prepare)(Kernel&, const OrtKernelInfo*) = nullptr;
  OrtStatus* (*compute)(const Kernel&, OrtKernelContext*) = nullptr;
  OrtStatus* (*infer)(OrtShapeInferContext*) = nullptr;

  static const Operator& Self(const OrtCustomOp* op) { return *static_cast<const Operator*>(op); }

  explicit Operator(std::string its_name) : OrtCustomOp{}, name(std::move(its_name)) {
    version = 22;
    GetName = [](const OrtCustomOp* op) { return Self(op).name.c_str(); };
    GetExecutionProviderType = [](const OrtCustomOp* op) { return Self(op).provider; };
    GetInputType = [](const OrtCustomOp* op, size_t i) { return Self(op).inputs[i]; };
    GetInputTypeCount = [](const OrtCustomOp* op) { return Self(op).inputs.size(); };
    GetOutputType = [](const OrtCustomOp* op, size_t i) { return Self(op).outputs[i]; };
    GetOutputTypeCount = [](const OrtCustomOp* op) { return Self(op).outputs.size(); };
    GetInputCharacteristic = [](const OrtCustomOp* op, size_t i) {
      return i < Self(op).kinds.size() ? Self(op).kinds[i] : INPUT_OUTPUT_REQUIRED;
    };
    GetOutputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
    GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
    GetVariadicInputMinArity = [](const OrtCustomOp*) { return 2; };
    GetVariadicInputHomogeneity = [](const OrtCustomOp*) { return 1; };
    GetVariadicOutputMinArity = [](const OrtCustomOp*) { return 1; };
    GetVariadicOutputHomogeneity = [](const OrtCustomOp*) { return 1; };
    GetStartVersion = [](const OrtCustomOp* op) { return Self(op).first; };
    GetEndVersion = [](const OrtCustomOp* op) { return Self(op).last; };
    CreateKernelV2 = [](const OrtCustomOp* op, const OrtApi*, const OrtKernelInfo* info, void** kernel) -> OrtStatusPtr {
      if (Self(op).fails_to_make) return api->CreateStatus(ORT_INVALID_GRAPH, "not today");
      auto* made = new Kernel{Self(op)};
      api->ReleaseStatus(api->KernelInfoGetAttribute_int64(info, "by", &made->by));
      *kernel = made;
      return Self(op).prepare == nullptr ? nullptr : Self(op).prepare(*made, info);
    };
    KernelComputeV2 = [](void* kernel, OrtKernelContext* context) -> OrtStatusPtr {
      const auto& made = *static_cast<const Kernel*>(kernel);
      return made.op.compute(made, context);
    };
    KernelDestroy = [](void* kernel) {
      api->ReleaseOp(static_cast<Kernel*>(kernel)->add);
      delete static_cast<Kernel*>(kernel);
    };
    InferOutputShapeFn = [](const OrtCustomOp* op, OrtShapeInferContext* context) -> OrtStatusPtr {
      return Self(op).infer == nullptr ? nullptr : Self(op).infer(context);
    };
  }
};

inline OrtStatus* Output(OrtKernelContext* context, const std::vector<int64_t>& shape, OrtValue** out) {
  return api->KernelContext_GetOutput(context, 0, shape.data(), shape.size(), out);
}

/// The first input times the attribute "by".
template <class T>
OrtStatus* Scale(const Kernel& kernel, OrtKernelContext* context) {
  size_t count = 0;
  OrtValue* out = nullptr;
  const OrtValue* input = InputOf(context, 0);
  if (OrtStatus* status = Output(context, ShapeOf(input, &count), &out)) return status;
  for (size_t i = 0; i < count; ++i) DataOf<T>(out)[i] = DataOf<T>(input)[i] * static_cast<T>(kernel.by);
  return nullptr;
}

/// A model of one node, Y = op(X...), whose inputs have this type and the shape [batch, 3]. `type`: of Y; 0: not said.
inline std::string Model(std::string_view op, const std::vector<std::string_view>& inputs, ONNXTensorElementDataType type,
                         int64_t version = 1, std::string_view domain = kDomain, int output_type = 0,
                         std::string_view unread = {}) {
  std::vector<std::string_view> outputs = {"Y"};
  if (!unread.empty()) outputs.push_back(unread);
  tiny::Message node = tiny::Node(op, inputs, outputs, "own");
  node.Bytes(7, domain).Add(5, tiny::Message().Bytes(1, "by").Number(3, 3).Number(20, 2));
  tiny::Message graph;
  graph.Add(1, node).Bytes(2, "owns");
  for (const std::string_view input : inputs) {
    if (!input.empty()) graph.Add(11, tiny::TensorValue(input, type, {{0, "batch"}, {3}}));
  }
  if (output_type == 0) {
    graph.Add(12, tiny::Message().Bytes(1, "Y"));
  } else {
    graph.Add(12, tiny::TensorValue("Y", output_type, {{0, "n"}, {3}}));
  }
  tiny::Message model;
  model.Number(1, 8).Add(7, graph).Add(8, tiny::Message().Bytes(1, "").Number(2, 17));
  if (!domain.empty()) model.Add(8, tiny::Message().Bytes(1, domain).Number(2, static_cast<uint64_t>(version)));
  return model.text();
}

/// A session with these operators in one domain. Null where there is none, which the call's line says.
struct Loaded {
  OrtCustomOpDomain* domain = nullptr;
  OrtSession* session = nullptr;

  Loaded(const char* call, const std::string& model, const std::vector<const OrtCustomOp*>& operators,
         const char* name = kDomain, const char* optimized = nullptr) {
    Must(api->CreateCustomOpDomain(name, &domain));
    for (const OrtCustomOp* op : operators) Must(api->CustomOpDomain_Add(domain, op));
    OrtSessionOptions* options = nullptr;
    Must(api->CreateSessionOptions(&options));
    Must(api->AddCustomOpDomain(options, domain));
    Must(api->SetSessionLogSeverityLevel(options, 4));
    Must(api->AddSessionConfigEntry(options, "session.record_ep_graph_assignment_info", "1"));
    if (optimized != nullptr) Must(api->SetOptimizedModelFilePath(options, optimized));
    Print(call, api->CreateSessionFromArray(env, model.data(), model.size(), options, &session));
    api->ReleaseSessionOptions(options);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() {
    api->ReleaseSession(session);
    api->ReleaseCustomOpDomain(domain);
  }

  /// Prints the type of Y as the session has it.
  void PrintType(const char* call) const {
    if (session == nullptr) return;
    OrtTypeInfo* type = nullptr;
    Must(api->SessionGetOutputTypeInfo(session, 0, &type));
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    Must(api->CastTypeInfoToTensorInfo(type, &tensor));
    std::printf("%s:", call);
    PrintTensorType("type", tensor);
    std::printf("\n");
    api->ReleaseTypeInfo(type);
  }

  /// Prints who runs the operator.
  void PrintProvider(const char* call) const {
    const OrtEpAssignedSubgraph* const* parts = nullptr;
    size_t count = 0;
    const char* provider = nullptr;
    Must(api->Session_GetEpGraphAssignmentInfo(session, &parts, &count));
    if (count > 0) Must(api->EpAssignedSubgraph_GetEpName(parts[0], &provider));
    std::printf("%s: %zu part, %s\n", call, count, provider);
  }

  /// Runs it with the value for each of these inputs, and prints the first three numbers.
  template <class T>
  void Run(const char* call, OrtValue* value, const std::vector<const char*>& names) const {
    if (session == nullptr) return;
    const std::vector<const OrtValue*> inputs(names.size(), value);
    const char* output = "Y";
    OrtValue* result = nullptr;
    Print(call, api->Run(session, nullptr, names.data(), inputs.data(), names.size(), &output, 1, &result));
    if (result == nullptr) return;
    std::printf("its numbers: %g %g %g\n", static_cast<double>(DataOf<T>(result)[0]),
                static_cast<double>(DataOf<T>(result)[1]), static_cast<double>(DataOf<T>(result)[2]));
    api->ReleaseValue(result);
  }
};

template <class T>
OrtValue* Numbers(ONNXTensorElementDataType type) {
  OrtAllocator* allocator = nullptr;
  Must(api->GetAllocatorWithDefaultOptions(&allocator));
  const int64_t shape[] = {1, 3};
  OrtValue* value = nullptr;
  Must(api->CreateTensorAsOrtValue(allocator, shape, 2, type, &value));
  for (int i = 0; i < 3; ++i) DataOf<T>(value)[i] = static_cast<T>(i + 1);
  return value;
}

/// What kernels ask of their nodes, and call.
void KernelCalls(OrtValue* floats);
