// Makes calls of the C ABI on the library that is named and prints what each answers: a line "call: code". Run on two
// libraries, it shows where they differ (calls_test.py).

#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "answers.h"
#include "library.h"

namespace {

void Loading() {
  OrtSession* session = nullptr;
  Print("CreateSession of no file", api->CreateSession(env, "/nonexistent.onnx", nullptr, &session));
  Print("CreateSessionFromArray of garbage", api->CreateSessionFromArray(env, "garbage!", 8, nullptr, &session));
  Print("CreateSessionFromArray of nothing", api->CreateSessionFromArray(env, "", 0, nullptr, &session));
  TryOptions("session with plain options", [](OrtSessionOptions*) {});
  TryOptions("session with an unknown entry",
             [](OrtSessionOptions* options) { Must(api->AddSessionConfigEntry(options, "made.up", "x")); });
  TryOptions("session with a bad value", [](OrtSessionOptions* options) {
    Must(api->AddSessionConfigEntry(options, "session.intra_op.allow_spinning", "perhaps"));
  });
  TryOptions("session with a dimension it lacks",
             [](OrtSessionOptions* options) { Must(api->AddFreeDimensionOverrideByName(options, "nowhere", 4)); });
  TryOptions("session with its dimension fixed",
             [](OrtSessionOptions* options) { Must(api->AddFreeDimensionOverrideByName(options, "batch", 4)); });
  TryOptions("session with -1 threads", [](OrtSessionOptions* options) { Must(api->SetIntraOpNumThreads(options, -1)); });
  TryOptions("session with log severity 9",
             [](OrtSessionOptions* options) { Must(api->SetSessionLogSeverityLevel(options, 9)); });
  TryOptions("session with global threads that are not there",
             [](OrtSessionOptions* options) { Must(api->DisablePerSessionThreads(options)); });
  TryOptions("session without CPU fallback", [](OrtSessionOptions* options) {
    Must(api->AddSessionConfigEntry(options, "session.disable_cpu_ep_fallback", "1"));
  });
  TryOptions("session with an optimized model that cannot be written",
             [](OrtSessionOptions* options) { Must(api->SetOptimizedModelFilePath(options, "/nonexistent/model.onnx")); });
  TryOptions("session with a policy", [](OrtSessionOptions* options) {
    Must(api->SessionOptionsSetEpSelectionPolicy(options, OrtExecutionProviderDevicePolicy_MAX_EFFICIENCY));
  });
  TryOptions("session cancelled before it loads",
             [](OrtSessionOptions* options) { Must(api->SessionOptionsSetLoadCancellationFlag(options, true)); });
}

void Options() {
  OrtSessionOptions* options = nullptr;
  Must(api->CreateSessionOptions(&options));
  Print("optimization level 7", api->SetSessionGraphOptimizationLevel(options, static_cast<GraphOptimizationLevel>(7)));
  Print("execution mode 9", api->SetSessionExecutionMode(options, static_cast<ExecutionMode>(9)));
  Print("config entry with an empty key", api->AddSessionConfigEntry(options, "", "x"));
  Print("config entry with a long key", api->AddSessionConfigEntry(options, std::string(1025, 'k').c_str(), "x"));
  Print("config entry", api->AddSessionConfigEntry(options, "any.key", "first"));
  Print("config entry again", api->AddSessionConfigEntry(options, "any.key", "second"));
  int there = 0;
  PrintValue("has entry", api->HasSessionConfigEntry(options, "any.key", &there), there);
  PrintValue("has no entry", api->HasSessionConfigEntry(options, "other.key", &there), there);
  char text[16] = {};
  size_t size = 2;
  Print("entry into a small buffer", api->GetSessionConfigEntry(options, "any.key", text, &size));
  std::printf("its size: %zu\n", size);
  size = 0;
  PrintValue("size of an entry", api->GetSessionConfigEntry(options, "any.key", nullptr, &size), size);
  size = sizeof(text);
  PrintValue("entry", api->GetSessionConfigEntry(options, "any.key", text, &size), static_cast<const char*>(text));
  Print("absent entry", api->GetSessionConfigEntry(options, "other.key", text, &size));
  Must(api->SetIntraOpNumThreads(options, 2));
  PrintValue("mirror of an option", api->HasSessionConfigEntry(options, "session.intra_op_num_threads", &there), there);
  Print("EnableOrtCustomOps", api->EnableOrtCustomOps(options));
  api->ReleaseSessionOptions(options);
}

void Providers() {
  for (const char* name : {"CPU", "CPUExecutionProvider", "DML", "QNN", "OpenVINO", "SNPE", "XNNPACK", "WEBNN", "WebGPU",
                           "AZURE", "JS", "VitisAI", "CoreML", "NvTensorRtRtx", "MIGraphX", "QNNExecutionProvider", "CUDA",
                           "DnnlExecutionProvider", "nonsense"}) {
    OrtSessionOptions* options = nullptr;
    Must(api->CreateSessionOptions(&options));
    Print((std::string("append ") + name).c_str(),
          api->SessionOptionsAppendExecutionProvider(options, name, nullptr, nullptr, 0));
    api->ReleaseSessionOptions(options);
  }
  OrtSessionOptions* options = nullptr;
  Must(api->CreateSessionOptions(&options));
  OrtCUDAProviderOptions cuda;
  Print("append CUDA by struct", api->SessionOptionsAppendExecutionProvider_CUDA(options, &cuda));
  OrtROCMProviderOptions rocm;
  Print("append ROCM by struct", api->SessionOptionsAppendExecutionProvider_ROCM(options, &rocm));
  OrtTensorRTProviderOptions tensorrt = {};
  Print("append TensorRT by struct", api->SessionOptionsAppendExecutionProvider_TensorRT(options, &tensorrt));
  OrtOpenVINOProviderOptions openvino;
  Print("append OpenVINO by struct", api->SessionOptionsAppendExecutionProvider_OpenVINO(options, &openvino));
  OrtMIGraphXProviderOptions migraphx = {};
  Print("append MIGraphX by struct", api->SessionOptionsAppendExecutionProvider_MIGraphX(options, &migraphx));
  api->ReleaseSessionOptions(options);
  OrtCUDAProviderOptionsV2* cuda_options = nullptr;
  Print("CreateCUDAProviderOptions", api->CreateCUDAProviderOptions(&cuda_options));
  OrtTensorRTProviderOptionsV2* tensorrt_options = nullptr;
  Print("CreateTensorRTProviderOptions", api->CreateTensorRTProviderOptions(&tensorrt_options));
  OrtCANNProviderOptions* cann_options = nullptr;
  Print("CreateCANNProviderOptions", api->CreateCANNProviderOptions(&cann_options));
  OrtROCMProviderOptions* rocm_options = nullptr;
  Print("CreateROCMProviderOptions", api->CreateROCMProviderOptions(&rocm_options));
  OrtDnnlProviderOptions* dnnl_options = nullptr;
  Print("CreateDnnlProviderOptions", api->CreateDnnlProviderOptions(&dnnl_options));
  if (dnnl_options != nullptr) api->ReleaseDnnlProviderOptions(dnnl_options);
  const void* functions = nullptr;
  Print("GetExecutionProviderApi", api->GetExecutionProviderApi("DML", 1, &functions));
  int device = 0;
  Print("GetCurrentGpuDeviceId", api->GetCurrentGpuDeviceId(&device));
  Print("RegisterExecutionProviderLibrary", api->RegisterExecutionProviderLibrary(env, "some", "/nonexistent.so"));
  Print("UnregisterExecutionProviderLibrary", api->UnregisterExecutionProviderLibrary(env, "some"));
  char** names = nullptr;
  int count = 0;
  Must(api->GetAvailableProviders(&names, &count));
  std::printf("last provider: \"%s\"\n", names[count - 1]);
  Print("ReleaseAvailableProviders", api->ReleaseAvailableProviders(names, count));
}

void Memory() {
  for (const char* name : {"Cpu", "Cuda", "CudaPinned", "Hip", "HipPinned", "DML", "OpenVINO_GPU", "WebGPU_Buffer",
                           "WebNN_Tensor", "QnnHtpShared", "Other"}) {
    OrtMemoryInfo* info = nullptr;
    OrtStatusPtr status = api->CreateMemoryInfo(name, OrtDeviceAllocator, 0, OrtMemTypeDefault, &info);
    Print((std::string("memory ") + name).c_str(), status);
    if (info == nullptr) continue;
    OrtMemoryInfoDeviceType device = OrtMemoryInfoDeviceType_CPU;
    api->MemoryInfoGetDeviceType(info, &device);
    std::printf("  device %d, kind %d, vendor %u\n", device, api->MemoryInfoGetDeviceMemType(info),
                api->MemoryInfoGetVendorId(info));
    api->ReleaseMemoryInfo(info);
  }
  OrtMemoryInfo *first = nullptr, *second = nullptr;
  Must(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &first));
  Must(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &second));
  int result = 7;
  PrintValue("equal memory infos", api->CompareMemoryInfo(first, first, &result), result);
  PrintValue("different memory infos", api->CompareMemoryInfo(first, second, &result), result);
  Print("UnregisterAllocator of none", api->UnregisterAllocator(env, first));
  Print("CreateAndRegisterAllocator", api->CreateAndRegisterAllocator(env, first, nullptr));
  Print("CreateAndRegisterAllocator again", api->CreateAndRegisterAllocator(env, first, nullptr));
  Print("UnregisterAllocator", api->UnregisterAllocator(env, first));
  OrtAllocator* allocator = nullptr;
  Must(api->GetAllocatorWithDefaultOptions(&allocator));
  std::printf("default allocator: version %u, %d%d%d%d\n", allocator->version, allocator->Reserve != nullptr,
              allocator->GetStats != nullptr, allocator->AllocOnStream != nullptr, allocator->Shrink != nullptr);
  const OrtMemoryInfo* info = nullptr;
  Must(api->AllocatorGetInfo(allocator, &info));
  const char* name = nullptr;
  PrintValue("its name", api->MemoryInfoGetName(info, &name), name);
  OrtAllocatorType type = OrtInvalidAllocator;
  PrintValue("its type", api->MemoryInfoGetType(info, &type), type);
  void* memory = nullptr;
  Print("AllocatorAlloc", api->AllocatorAlloc(allocator, 100, &memory));
  Print("AllocatorFree", api->AllocatorFree(allocator, memory));
  OrtSession* session = Session(tiny::Add());
  OrtMemoryInfo* cuda = nullptr;
  Must(api->CreateMemoryInfo("Cuda", OrtDeviceAllocator, 0, OrtMemTypeDefault, &cuda));
  OrtAllocator* other = nullptr;
  Print("CreateAllocator for a memory it lacks", api->CreateAllocator(session, cuda, &other));
  Print("CreateAllocator", api->CreateAllocator(session, second, &other));
  api->ReleaseAllocator(other);
  api->ReleaseSession(session);
  api->ReleaseMemoryInfo(cuda);
  api->ReleaseMemoryInfo(first);
  api->ReleaseMemoryInfo(second);
}

void Tensors() {
  OrtMemoryInfo* info = nullptr;
  Must(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
  float data[6] = {1, 2, 3, 4, 5, 6};
  const int64_t shape[] = {2, 3}, negative[] = {2, -3};
  OrtValue* value = nullptr;
  Print("tensor over too little memory",
        api->CreateTensorWithDataAsOrtValue(info, data, 4, shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  Print("tensor of a negative shape", api->CreateTensorWithDataAsOrtValue(info, data, sizeof(data), negative, 2,
                                                                          ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  Print("tensor", api->CreateTensorWithDataAsOrtValue(info, data, sizeof(data), shape, 2,
                                                      ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  OrtTensorTypeAndShapeInfo* type = nullptr;
  Must(api->GetTensorTypeAndShape(value, &type));
  size_t count = 0;
  PrintValue("elements", api->GetTensorShapeElementCount(type, &count), count);
  PrintValue("rank", api->GetDimensionsCount(type, &count), count);
  api->ReleaseTensorTypeAndShapeInfo(type);
  const int64_t place[] = {1, 2}, outside[] = {2, 0};
  void* element = nullptr;
  Print("TensorAt", api->TensorAt(value, place, 2, &element));
  Print("TensorAt outside", api->TensorAt(value, outside, 2, &element));
  Print("TensorAt of another rank", api->TensorAt(value, place, 1, &element));
  Print("GetValueCount of a tensor", api->GetValueCount(value, &count));
  Print("strings of floats", api->GetStringTensorDataLength(value, &count));
  OrtValue* sequence = nullptr;
  const OrtValue* both[] = {value, value};
  Print("sequence of nothing", api->CreateValue(both, 0, ONNX_TYPE_SEQUENCE, &sequence));
  Print("sequence", api->CreateValue(both, 2, ONNX_TYPE_SEQUENCE, &sequence));
  PrintValue("its length", api->GetValueCount(sequence, &count), count);
  OrtAllocator* allocator = nullptr;
  Must(api->GetAllocatorWithDefaultOptions(&allocator));
  OrtValue* part = nullptr;
  Print("element 2 of 2", api->GetValue(sequence, 2, allocator, &part));
  Print("element 1 of 2", api->GetValue(sequence, 1, allocator, &part));
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  PrintValue("type of a sequence", api->GetValueType(sequence, &kind), kind);
  api->ReleaseValue(part);
  api->ReleaseValue(sequence);
  api->ReleaseValue(value);
  const int64_t two[] = {2};
  OrtValue* strings = nullptr;
  Print("string tensor", api->CreateTensorAsOrtValue(allocator, two, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &strings));
  const char* texts[] = {"one", "three"};
  Print("FillStringTensor", api->FillStringTensor(strings, texts, 2));
  Print("FillStringTensor with too few", api->FillStringTensor(strings, texts, 1));
  PrintValue("length of strings", api->GetStringTensorDataLength(strings, &count), count);
  char content[16] = {};
  size_t offsets[2] = {};
  Print("content into too little", api->GetStringTensorContent(strings, content, 3, offsets, 2));
  Print("content", api->GetStringTensorContent(strings, content, 16, offsets, 2));
  std::printf("content: %s %zu %zu\n", content, offsets[0], offsets[1]);
  Print("string 2 of 2", api->GetStringTensorElementLength(strings, 2, &count));
  PrintValue("length of string 1", api->GetStringTensorElementLength(strings, 1, &count), count);
  api->ReleaseValue(strings);
  api->ReleaseMemoryInfo(info);
}

/// A session that adds A and B, and values for its runs.
struct Adding {
  OrtSession* session = Session(tiny::Add(false, true));
  float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {10, 20, 30, 40, 50, 60}, c[6] = {};
  OrtValue *A = Floats(a, {2, 3}), *B = Floats(b, {2, 3}), *C = Floats(c, {2, 3});
  OrtValue *flat = Floats(a, {6}), *wide = Floats(a, {3, 2});

  Adding() = default;
  Adding(const Adding&) = delete;
  Adding& operator=(const Adding&) = delete;
  ~Adding() {
    for (OrtValue* value : {A, B, C, flat, wide}) api->ReleaseValue(value);
    api->ReleaseSession(session);
  }

  /// Prints what a run answers, with `given` as its first output; what it makes is released.
  void Run(const char* call, std::initializer_list<const char*> names, std::initializer_list<const OrtValue*> values,
           std::initializer_list<const char*> outputs, const OrtRunOptions* options = nullptr,
           OrtValue* given = nullptr) const {
    OrtValue* results[2] = {given, nullptr};
    Print(call, api->Run(session, options, names.begin(), values.begin(), names.size(), outputs.begin(), outputs.size(),
                         results));
    for (OrtValue* result : results) {
      if (result != given) api->ReleaseValue(result);
    }
  }

  void PrintSums() const { std::printf("what it wrote: %g %g\n", c[0], c[5]); }
};

void RunsByNames(const Adding& adding) {
  const OrtValue *A = adding.A, *B = adding.B;
  adding.Run("run", {"A", "B"}, {A, B}, {"C"});
  adding.Run("run with inputs in another order", {"B", "A"}, {B, A}, {"D", "C"});
  adding.Run("run with an unknown input", {"A", "X"}, {A, B}, {"C"});
  adding.Run("run with an unknown output", {"A", "B"}, {A, B}, {"X"});
  adding.Run("run with a null input", {"A", "B"}, {A, nullptr}, {"C"});
  adding.Run("run with no outputs", {"A", "B"}, {A, B}, {});
  adding.Run("run with an input missing", {"A"}, {A}, {"C"});
  adding.Run("run with another rank", {"A", "B"}, {A, adding.flat}, {"C"});
  adding.Run("run with another shape", {"A", "B"}, {A, adding.wide}, {"C"});
  adding.Run("run with an output twice", {"A", "B"}, {A, B}, {"C", "C"});
}

void RunsIntoGivenOutputs(const Adding& adding) {
  adding.Run("run with an output given", {"A", "B"}, {adding.A, adding.B}, {"C"}, nullptr, adding.C);
  adding.PrintSums();
  adding.Run("run with an output of another shape", {"A", "B"}, {adding.A, adding.B}, {"C"}, nullptr, adding.wide);
}

void OptionsOfRuns(const Adding& adding) {
  OrtRunOptions* options = nullptr;
  Must(api->CreateRunOptions(&options));
  Must(api->RunOptionsSetTerminate(options));
  adding.Run("run after SetTerminate", {"A", "B"}, {adding.A, adding.B}, {"C"}, options);
  Must(api->RunOptionsUnsetTerminate(options));
  adding.Run("run after UnsetTerminate", {"A", "B"}, {adding.A, adding.B}, {"C"}, options);
  Print("run config entry", api->AddRunConfigEntry(options, "any", "x"));
  const char* entry = api->GetRunConfigEntry(options, "any");
  std::printf("run config entry: %s\n", entry == nullptr ? "(null)" : entry);
  int level = -1;
  PrintValue("run log level", api->RunOptionsGetRunLogSeverityLevel(options, &level), level);
  api->ReleaseRunOptions(options);
}

void Bindings(Adding& adding) {
  OrtIoBinding* binding = nullptr;
  Must(api->CreateIoBinding(adding.session, &binding));
  Print("BindInput unknown", api->BindInput(binding, "X", adding.A));
  Print("BindOutput unknown", api->BindOutput(binding, "X", adding.C));
  // One for each question: what an unknown name leaves behind is nobody's to rely on.
  api->ReleaseIoBinding(binding);
  Must(api->CreateIoBinding(adding.session, &binding));
  Must(api->BindInput(binding, "A", adding.A));
  Must(api->BindInput(binding, "B", adding.B));
  std::memset(adding.c, 0, sizeof(adding.c));
  Print("BindOutput", api->BindOutput(binding, "C", adding.C));
  Print("RunWithBinding", api->RunWithBinding(adding.session, nullptr, binding));
  adding.PrintSums();
  api->ClearBoundInputs(binding);
  Must(api->BindInput(binding, "A", adding.A));
  Print("RunWithBinding with an input missing", api->RunWithBinding(adding.session, nullptr, binding));
  api->ReleaseIoBinding(binding);
}

void Runs() {
  Adding adding;
  RunsByNames(adding);
  RunsIntoGivenOutputs(adding);
  OptionsOfRuns(adding);
  Bindings(adding);
}

void Metadata(OrtSession* session, OrtAllocator* allocator) {
  OrtModelMetadata* metadata = nullptr;
  Must(api->SessionGetModelMetadata(session, &metadata));
  int64_t version = 0;
  PrintValue("model version", api->ModelMetadataGetVersion(metadata, &version), version);
  char* text = nullptr;
  for (const auto& [call, get] :
       {std::pair{"producer", api->ModelMetadataGetProducerName}, std::pair{"graph name", api->ModelMetadataGetGraphName},
        std::pair{"domain", api->ModelMetadataGetDomain}, std::pair{"description", api->ModelMetadataGetDescription},
        std::pair{"graph description", api->ModelMetadataGetGraphDescription}}) {
    PrintValue(call, get(metadata, allocator, &text), text);
    Must(api->AllocatorFree(allocator, text));
  }
  PrintValue("custom", api->ModelMetadataLookupCustomMetadataMap(metadata, allocator, "key", &text), text);
  if (text != nullptr) Must(api->AllocatorFree(allocator, text));
  PrintValue("absent", api->ModelMetadataLookupCustomMetadataMap(metadata, allocator, "nothing", &text), text);
  char** keys = nullptr;
  int64_t count = -1;
  PrintValue("keys", api->ModelMetadataGetCustomMetadataMapKeys(metadata, allocator, &keys, &count), count);
  for (int64_t i = 0; i < count; ++i) Must(api->AllocatorFree(allocator, keys[i]));
  if (keys != nullptr) Must(api->AllocatorFree(allocator, keys));
  api->ReleaseModelMetadata(metadata);
}

/// What a session has not: a profile, a third input.
void AbsentParts(OrtSession* session, OrtAllocator* allocator) {
  char* text = nullptr;
  PrintValue("EndProfiling of none", api->SessionEndProfiling(session, allocator, &text), text);
  if (text != nullptr) Must(api->AllocatorFree(allocator, text));
  OrtTypeInfo* info = nullptr;
  Print("input 2 of 2", api->SessionGetInputTypeInfo(session, 2, &info));
  Print("name of input 2", api->SessionGetInputName(session, 2, allocator, &text));
}

void InputType(OrtSession* session) {
  OrtTypeInfo* info = nullptr;
  Must(api->SessionGetInputTypeInfo(session, 0, &info));
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  Must(api->CastTypeInfoToTensorInfo(info, &tensor));
  int64_t dims[2] = {};
  Must(api->GetDimensions(tensor, dims, 2));
  const char* symbols[2] = {};
  Must(api->GetSymbolicDimensions(tensor, symbols, 2));
  size_t count = 0;
  std::printf("dims: %lld %lld '%s' '%s'\n", static_cast<long long>(dims[0]), static_cast<long long>(dims[1]), symbols[0],
              symbols[1]);
  PrintValue("elements of an open shape", api->GetTensorShapeElementCount(tensor, &count), count);
  const OrtSequenceTypeInfo* sequence = nullptr;
  PrintValue("a tensor as sequence", api->CastTypeInfoToSequenceTypeInfo(info, &sequence), sequence == nullptr);
  const char* denotation = nullptr;
  size_t length = 9;
  PrintValue("denotation", api->GetDenotationFromTypeInfo(info, &denotation, &length), length);
  api->ReleaseTypeInfo(info);
}

void Denotations() {
  OrtSession* session = Session(tiny::DenotedIdentity());
  OrtTypeInfo* info = nullptr;
  const char* denotation = nullptr;
  size_t length = 0;
  Must(api->SessionGetInputTypeInfo(session, 0, &info));
  Must(api->GetDenotationFromTypeInfo(info, &denotation, &length));
  std::printf("denotation of an image: %.*s\n", static_cast<int>(length), denotation);
  api->ReleaseTypeInfo(info);
  Must(api->SessionGetOutputTypeInfo(session, 0, &info));
  PrintValue("denotation of its output", api->GetDenotationFromTypeInfo(info, &denotation, &length), length);
  api->ReleaseTypeInfo(info);
  api->ReleaseSession(session);
}

void Descriptions() {
  OrtAllocator* allocator = nullptr;
  Must(api->GetAllocatorWithDefaultOptions(&allocator));
  for (const bool with_metadata : {false, true}) {
    OrtSession* session = Session(tiny::Add(with_metadata));
    Metadata(session, allocator);
    AbsentParts(session, allocator);
    api->ReleaseSession(session);
  }
  OrtSession* session = Session(tiny::Identity(1));
  InputType(session);
  Denotations();
  const char* keys[] = {"k"};
  Print("SetEpDynamicOptions of none", api->SetEpDynamicOptions(session, keys, keys, 0));
  api->ReleaseSession(session);
}

void Rest() {
  Print("EnableTelemetryEvents", api->EnableTelemetryEvents(env));
  Print("SetLanguageProjection", api->SetLanguageProjection(env, ORT_PROJECTION_C));
  std::printf("training: %d\n", api->GetTrainingApi(1) != nullptr);
  std::printf("experimental: %d\n", api->GetExperimentalFunction("none") != nullptr);
  OrtEnv* second = nullptr;
  Must(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "other", &second));
  std::printf("one environment: %d\n", second == env);
  api->ReleaseEnv(second);
  OrtArenaCfg* arena = nullptr;
  Print("CreateArenaCfg", api->CreateArenaCfg(0, -1, -1, -1, &arena));
  api->ReleaseArenaCfg(arena);
  const char* keys[] = {"nonsense"};
  const size_t values[] = {1};
  Print("CreateArenaCfgV2 of nonsense", api->CreateArenaCfgV2(keys, values, 1, &arena));
  // Releases take null.
  api->ReleaseEnv(nullptr);
  api->ReleaseSession(nullptr);
  api->ReleaseValue(nullptr);
  api->ReleaseTypeInfo(nullptr);
  api->ReleaseSessionOptions(nullptr);
  api->ReleaseRunOptions(nullptr);
  api->ReleaseMemoryInfo(nullptr);
  api->ReleaseIoBinding(nullptr);
  api->ReleaseKeyValuePairs(nullptr);
  std::printf("released null\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s LIBRARY\n", argv[0]);
    return 2;
  }
  api = &OpenLibrary(argv[1]);
  Must(api->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "calls", &env));
  Loading();
  Options();
  Providers();
  Memory();
  Tensors();
  Runs();
  Descriptions();
  Rest();
  WeightCalls();
  ThreadCalls();
  SparseCalls();
  DeviceCalls();
  PartCalls();
  OperatorCalls();
  ModelCalls();
  EditCalls();
  CompileCalls();
  PackageCalls();
  api->ReleaseEnv(env);
}
