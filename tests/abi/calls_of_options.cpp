// Calls about weights that the client gives, about threads, and about profiles of runs.

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "answers.h"

namespace {

/// Y[0] of the model of AddWeight with these options, for an X of zeros; prints the code where there is no session.
void WeightWith(const char* call, bool external, const std::function<void(OrtSessionOptions*)>& set) {
  OrtSessionOptions* options = nullptr;
  Must(api->CreateSessionOptions(&options));
  set(options);
  const std::string model = tiny::AddWeight(external);
  OrtSession* session = nullptr;
  OrtStatusPtr made = api->CreateSessionFromArray(env, model.data(), model.size(), options, &session);
  if (made != nullptr) {
    Print(call, made);
  } else {
    float zeros[3] = {};
    OrtValue *input = Floats(zeros, {1, 3}), *output = nullptr;
    const char *names[] = {"X"}, *outputs[] = {"Y"};
    Must(api->Run(session, nullptr, names, &input, 1, outputs, 1, &output));
    void* data = nullptr;
    Must(api->GetTensorMutableData(output, &data));
    std::printf("%s: %g\n", call, static_cast<double>(*static_cast<float*>(data)));
    api->ReleaseValue(output);
    api->ReleaseValue(input);
  }
  api->ReleaseSession(session);
  api->ReleaseSessionOptions(options);
}

/// The size of the first dimension of the model's input.
void DenotedDimension() {
  OrtSessionOptions* options = nullptr;
  Must(api->CreateSessionOptions(&options));
  Print("AddFreeDimensionOverride", api->AddFreeDimensionOverride(options, "DATA_BATCH", 4));
  Print("AddFreeDimensionOverride of another", api->AddFreeDimensionOverride(options, "DATA_CHANNEL", 4));
  OrtSession* session = Session(tiny::AddWeight(false), options);
  OrtTypeInfo* type = nullptr;
  Must(api->SessionGetInputTypeInfo(session, 0, &type));
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  Must(api->CastTypeInfoToTensorInfo(type, &tensor));
  int64_t dims[2] = {};
  PrintValue("denoted dimension", api->GetDimensions(tensor, dims, 2), dims[0]);
  api->ReleaseTypeInfo(type);
  api->ReleaseSession(session);
  api->ReleaseSessionOptions(options);
}

std::atomic<int> started{0}, joined{0};

OrtCustomThreadHandle StartThread(void* /*options*/, OrtThreadWorkerFn work, void* param) {
  ++started;
  return reinterpret_cast<OrtCustomThreadHandle>(new std::thread([=] { work(param); }));
}

void JoinThread(OrtCustomThreadHandle handle) {
  auto* thread = reinterpret_cast<std::thread*>(const_cast<OrtCustomHandleType*>(handle));
  thread->join();
  delete thread;
  ++joined;
}

void Affinities(const char* call, const char* text, int threads) {
  TryOptions(call, [&](OrtSessionOptions* options) {
    Must(api->SetIntraOpNumThreads(options, threads));
    Must(api->AddSessionConfigEntry(options, "session.intra_op_thread_affinities", text));
  });
}

void RunProfile() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("abi_calls_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  OrtRunOptions* options = nullptr;
  Must(api->CreateRunOptions(&options));
  Print("RunOptionsEnableProfiling", api->RunOptionsEnableProfiling(options, (folder / "run").c_str()));
  OrtSession* session = Session(tiny::Identity(1));
  float data[3] = {1, 2, 3};
  OrtValue *input = Floats(data, {1, 3}), *output = nullptr;
  const char *names[] = {"X"}, *outputs[] = {"Y"};
  Print("run with a profile", api->Run(session, options, names, &input, 1, outputs, 1, &output));
  api->ReleaseValue(output);
  output = nullptr;
  Print("RunOptionsDisableProfiling", api->RunOptionsDisableProfiling(options));
  Must(api->Run(session, options, names, &input, 1, outputs, 1, &output));
  api->ReleaseValue(output);
  api->ReleaseValue(input);
  api->ReleaseSession(session);
  api->ReleaseRunOptions(options);
  size_t files = 0;
  bool filled = true;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++files;
    filled &= entry.file_size() > 10;
  }
  std::printf("profiles of two runs: %zu %d\n", files, filled ? 1 : 0);
  std::filesystem::remove_all(folder);
}

}  // namespace

void WeightCalls() {
  float own[3] = {7, 8, 9}, shorter[2] = {7, 8};
  OrtValue *tensor = Floats(own, {3}), *wrong = Floats(shorter, {2}), *owned = nullptr;
  OrtAllocator* allocator = nullptr;
  Must(api->GetAllocatorWithDefaultOptions(&allocator));
  const int64_t three[] = {3};
  Must(api->CreateTensorAsOrtValue(allocator, three, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &owned));
  OrtSessionOptions* options = nullptr;
  Must(api->CreateSessionOptions(&options));
  Print("AddInitializer", api->AddInitializer(options, "W", tensor));
  Print("AddInitializer again", api->AddInitializer(options, "W", tensor));
  Print("AddInitializer of own memory", api->AddInitializer(options, "V", owned));
  Print("AddInitializer without a name", api->AddInitializer(options, "", tensor));
  const char* name = "W";
  const OrtValue* value = tensor;
  Print("AddExternalInitializers", api->AddExternalInitializers(options, &name, &value, 1));
  Print("AddExternalInitializers again", api->AddExternalInitializers(options, &name, &value, 1));
  api->ReleaseSessionOptions(options);
  WeightWith("weight of the model", false, [](OrtSessionOptions*) {});
  WeightWith("weight that is missing", true, [](OrtSessionOptions*) {});
  const auto given = [&](const char* called, const OrtValue* what) {
    return [called, what](OrtSessionOptions* set) { Must(api->AddInitializer(set, called, what)); };
  };
  const auto external = [&](const char* called, const OrtValue* what) {
    return [called, what](OrtSessionOptions* set) { Must(api->AddExternalInitializers(set, &called, &what, 1)); };
  };
  WeightWith("weight given", false, given("W", tensor));
  WeightWith("weight given that it lacks", false, given("Z", tensor));
  WeightWith("external weight given", true, external("W", tensor));
  WeightWith("external weight given that it lacks", true, external("Z", tensor));
  WeightWith("external weight of another shape", true, external("W", wrong));
  WeightWith("external weight for one that is not", false, external("W", tensor));
  char* file = reinterpret_cast<char*>(own);
  const auto in_memory = [&](const char* called, size_t size) {
    return [called, file, size](OrtSessionOptions* set) {
      Must(api->AddExternalInitializersFromFilesInMemory(set, &called, &file, &size, 1));
    };
  };
  WeightWith("file in memory", true, in_memory("w.bin", sizeof(own)));
  WeightWith("file in memory that is too short", true, in_memory("w.bin", 4));
  WeightWith("file in memory of another name", true, in_memory("v.bin", sizeof(own)));
  api->ReleaseValue(owned);
  api->ReleaseValue(wrong);
  api->ReleaseValue(tensor);
  DenotedDimension();
}

void ThreadCalls() {
  TryOptions("session with threads of the client's", [](OrtSessionOptions* options) {
    Must(api->SetIntraOpNumThreads(options, 3));
    Must(api->SessionOptionsSetCustomCreateThreadFn(options, StartThread));
    Must(api->SessionOptionsSetCustomJoinThreadFn(options, JoinThread));
  });
  std::printf("threads of the client's: %d %d\n", started.load(), joined.load());
  TryOptions("session with threads that nobody joins", [](OrtSessionOptions* options) {
    Must(api->SetIntraOpNumThreads(options, 3));
    Must(api->SessionOptionsSetCustomCreateThreadFn(options, StartThread));
  });
  Affinities("affinities", "1;2", 3);
  Affinities("affinities of groups", "1-2;1,2", 3);
  Affinities("affinities of too few threads", "1", 3);
  Affinities("affinities of no number", "x;1", 3);
  Affinities("affinities the wrong way round", "2-1;1", 3);
  Affinities("affinities of processor 0", "0;1", 3);
  Affinities("affinities of nothing", "", 3);
  Affinities("affinities for one thread", "1", 1);
  OrtThreadPoolCallbacksConfig callbacks = {};
  callbacks.version = ORT_API_VERSION;
  Print("SetPerSessionThreadPoolCallbacks", api->SetPerSessionThreadPoolCallbacks(env, &callbacks));
  Print("SetPerSessionThreadPoolCallbacks of nothing", api->SetPerSessionThreadPoolCallbacks(env, nullptr));
  RunProfile();
}
