#pragma once

// What the programs share that build models: types, values, graphs, sessions of them.

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "answers.h"

inline constexpr auto kFloat = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
inline constexpr auto kInt64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
inline constexpr auto kString = ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
inline constexpr auto kNoType = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;

inline const OrtModelEditorApi* editor;

inline OrtTensorTypeAndShapeInfo* TensorInfo(ONNXTensorElementDataType type, const std::vector<tiny::Dim>& dims) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  Must(api->CreateTensorTypeAndShapeInfo(&info));
  Must(api->SetTensorElementType(info, type));
  std::vector<int64_t> sizes;
  std::vector<std::string> names;
  for (const tiny::Dim& dim : dims) {
    sizes.push_back(dim.symbol.empty() ? dim.size : -1);
    names.emplace_back(dim.symbol);
  }
  std::vector<const char*> texts;
  for (const std::string& name : names) texts.push_back(name.c_str());
  Must(api->SetDimensions(info, sizes.data(), sizes.size()));
  if (!dims.empty()) Must(api->SetSymbolicDimensions(info, texts.data(), texts.size()));
  return info;
}

inline OrtTypeInfo* TensorType(ONNXTensorElementDataType type, const std::vector<tiny::Dim>& dims) {
  OrtTensorTypeAndShapeInfo* info = TensorInfo(type, dims);
  OrtTypeInfo* made = nullptr;
  Must(editor->CreateTensorTypeInfo(info, &made));
  api->ReleaseTensorTypeAndShapeInfo(info);
  return made;
}

inline OrtValueInfo* ValueInfo(const char* name, ONNXTensorElementDataType type, const std::vector<tiny::Dim>& dims) {
  OrtTypeInfo* info = TensorType(type, dims);
  OrtValueInfo* made = nullptr;
  Must(editor->CreateValueInfo(name, info, &made));
  api->ReleaseTypeInfo(info);
  return made;
}

inline OrtNode* Node(const char* op, const std::vector<const char*>& inputs, const std::vector<const char*>& outputs,
                     std::vector<OrtOpAttr*> attributes = {}, const char* domain = "", const char* name = "") {
  OrtNode* node = nullptr;
  Must(editor->CreateNode(op, domain, name, inputs.data(), inputs.size(), outputs.data(), outputs.size(), attributes.data(),
                          attributes.size(), &node));
  return node;
}

inline OrtOpAttr* FloatAttribute(const char* name, float value) {
  OrtOpAttr* attribute = nullptr;
  Must(api->CreateOpAttr(name, &value, 1, ORT_OP_ATTR_FLOAT, &attribute));
  return attribute;
}

inline OrtOpAttr* IntAttribute(const char* name, int64_t value) {
  OrtOpAttr* attribute = nullptr;
  Must(api->CreateOpAttr(name, &value, 1, ORT_OP_ATTR_INT, &attribute));
  return attribute;
}

/// A tensor of the library's memory: 1, 2, 3 ...
inline OrtValue* Counted(const std::vector<int64_t>& shape) {
  OrtAllocator* allocator = nullptr;
  Must(api->GetAllocatorWithDefaultOptions(&allocator));
  OrtValue* value = nullptr;
  Must(api->CreateTensorAsOrtValue(allocator, shape.data(), shape.size(), kFloat, &value));
  void* data = nullptr;
  Must(api->GetTensorMutableData(value, &data));
  size_t bytes = 0;
  Must(api->GetTensorSizeInBytes(value, &bytes));
  std::iota(static_cast<float*>(data), static_cast<float*>(data) + bytes / sizeof(float), 1.0F);
  return value;
}

/// A graph under construction, which a model takes.
struct Graph {
  OrtGraph* graph = nullptr;

  Graph() { Must(editor->CreateGraph(&graph)); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { api->ReleaseGraph(graph); }

  Graph& Inputs(std::vector<OrtValueInfo*> values) {
    Must(editor->SetGraphInputs(graph, values.data(), values.size()));
    return *this;
  }
  Graph& Outputs(std::vector<OrtValueInfo*> values) {
    Must(editor->SetGraphOutputs(graph, values.data(), values.size()));
    return *this;
  }
  Graph& Add(OrtNode* node) {
    Must(editor->AddNodeToGraph(graph, node));
    return *this;
  }
  Graph& Weight(const char* name, OrtValue* value, bool external = false) {
    Must(editor->AddInitializerToGraph(graph, name, value, external));
    return *this;
  }
  OrtModel* Model(const std::vector<const char*>& domains = {""}, const std::vector<int>& versions = {18}) {
    OrtModel* model = nullptr;
    Must(editor->CreateModel(domains.data(), versions.data(), domains.size(), &model));
    Must(editor->AddGraphToModel(model, graph));
    graph = nullptr;
    return model;
  }
};

/// Prints the type as far as it goes.
inline void PrintType(const char* call, const OrtTypeInfo* type) {
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  Must(api->GetOnnxTypeFromTypeInfo(type, &kind));
  std::printf("%s: kind %d", call, static_cast<int>(kind));
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  Must(api->CastTypeInfoToTensorInfo(type, &tensor));
  if (tensor != nullptr) PrintTensorType("element", tensor);
  std::printf("\n");
}

/// A session of the model, which is released. Null where there is none, which the call's line says.
struct Made {
  OrtSession* session = nullptr;

  Made(const char* call, OrtModel* model, bool keep = false, const char* optimized = nullptr) {
    OrtSessionOptions* options = nullptr;
    Must(api->CreateSessionOptions(&options));
    Must(api->SetSessionLogSeverityLevel(options, 4));
    if (optimized != nullptr) Must(api->SetOptimizedModelFilePath(options, optimized));
    Print(call, editor->CreateSessionFromModel(env, model, options, &session));
    if (!keep) api->ReleaseModel(model);
    api->ReleaseSessionOptions(options);
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  ~Made() { api->ReleaseSession(session); }
};

/// Prints what the session computes of 1, 2, 3 ... as its only input.
inline void RunCounted(const char* call, OrtSession* session, const char* input, const std::vector<int64_t>& shape,
                       const char* output) {
  if (session == nullptr) return;
  OrtValue* given = Counted(shape);
  OrtValue* result = nullptr;
  const OrtValue* inputs[] = {given};
  OrtStatus* status = api->Run(session, nullptr, &input, inputs, 1, &output, 1, &result);
  if (status != nullptr) {
    Print(call, status);
  } else {
    void* data = nullptr;
    Must(api->GetTensorMutableData(result, &data));
    size_t bytes = 0;
    Must(api->GetTensorSizeInBytes(result, &bytes));
    std::printf("%s:", call);
    for (size_t i = 0; i < bytes / sizeof(float); ++i)
      std::printf(" %g", static_cast<double>(static_cast<float*>(data)[i]));
    std::printf("\n");
    api->ReleaseValue(result);
  }
  api->ReleaseValue(given);
}
