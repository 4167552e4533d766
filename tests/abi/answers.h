#pragma once

// What the programs that print answers share: each call is a line "call: code", or "call: value" where there is no error.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "onnxruntime/onnxruntime_c_api.h"
#include "tiny_model.h"

inline const OrtApi* api;
inline OrtEnv* env;

inline void Print(const char* call, OrtStatusPtr status) {
  std::printf("%s: %d\n", call, status == nullptr ? 0 : static_cast<int>(api->GetErrorCode(status)));
  if (status != nullptr && std::getenv("ABI_CALLS_TEXT") != nullptr) std::printf("    %s\n", api->GetErrorMessage(status));
  api->ReleaseStatus(status);
}

template <class T>
void PrintValue(const char* call, OrtStatusPtr status, const T& value) {
  if (status != nullptr) return Print(call, status);
  if constexpr (std::is_convertible_v<T, const char*>) {
    std::printf("%s: \"%s\"\n", call,
                static_cast<const char*>(value) == nullptr ? "(null)" : static_cast<const char*>(value));
  } else {
    std::printf("%s: %lld\n", call, static_cast<long long>(value));
  }
}

inline void Must(OrtStatusPtr status) {
  if (status == nullptr) return;
  std::fprintf(stderr, "%s\n", api->GetErrorMessage(status));
  std::exit(1);
}

inline OrtSession* Session(const std::string& model, OrtSessionOptions* options = nullptr) {
  OrtSession* session = nullptr;
  Must(api->CreateSessionFromArray(env, model.data(), model.size(), options, &session));
  return session;
}

/// Whether a session is made with options that `set` fills in.
inline void TryOptions(const char* call, const std::function<void(OrtSessionOptions*)>& set) {
  OrtSessionOptions* options = nullptr;
  Must(api->CreateSessionOptions(&options));
  set(options);
  const std::string model = tiny::Identity(1);
  OrtSession* session = nullptr;
  Print(call, api->CreateSessionFromArray(env, model.data(), model.size(), options, &session));
  api->ReleaseSession(session);
  api->ReleaseSessionOptions(options);
}

inline OrtValue* Floats(float* data, std::initializer_list<int64_t> shape) {
  OrtMemoryInfo* info = nullptr;
  Must(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
  size_t count = 1;
  for (const int64_t dim : shape) count *= static_cast<size_t>(dim);
  OrtValue* value = nullptr;
  Must(api->CreateTensorWithDataAsOrtValue(info, data, count * sizeof(float), shape.begin(), shape.size(),
                                           ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  api->ReleaseMemoryInfo(info);
  return value;
}

/// A tensor's type: the element after `label`, then each dimension and its name.
inline void PrintTensorType(const char* label, const OrtTensorTypeAndShapeInfo* tensor) {
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  Must(api->GetTensorElementType(tensor, &element));
  size_t rank = 0;
  Must(api->GetDimensionsCount(tensor, &rank));
  std::vector<int64_t> dims(rank);
  std::vector<const char*> names(rank);
  Must(api->GetDimensions(tensor, dims.data(), rank));
  Must(api->GetSymbolicDimensions(tensor, names.data(), rank));
  std::printf(" %s %d", label, static_cast<int>(element));
  for (size_t i = 0; i < rank; ++i) std::printf(" %lld '%s'", static_cast<long long>(dims[i]), names[i]);
}

/// Runs a session of tiny::AddWeight, and prints the last number that it computes where that goes well.
inline OrtStatus* RunSum(const char* call, OrtSession* session) {
  float x[] = {10, 20, 30};
  OrtValue *input = Floats(x, {1, 3}), *output = nullptr;
  const OrtValue* given = input;
  const char *in = "X", *out = "Y";
  OrtStatus* status = api->Run(session, nullptr, &in, &given, 1, &out, 1, &output);
  if (output != nullptr) {
    void* data = nullptr;
    Must(api->GetTensorMutableData(output, &data));
    std::printf("%s computes: %g\n", call, static_cast<double>(static_cast<float*>(data)[2]));
    api->ReleaseValue(output);
  }
  api->ReleaseValue(input);
  return status;
}

/// Parts of the program, by what they are about.
void WeightCalls();
void ThreadCalls();
void SparseCalls();
void DeviceCalls();
void PartCalls();
void OperatorCalls();
void ModelCalls();
void EditCalls();
void CompileCalls();
void ManifestCalls();  // which PackageCalls makes, in its folder
void PackageCalls();
