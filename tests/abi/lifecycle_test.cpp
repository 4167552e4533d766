// The library comes and goes: opened, used and closed many times, in two environments, in a forked process, and with
// handles that are null.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <string>
#include <vector>

#include "library.h"
#include "tiny_model.h"

// Counts what the library allocates while it is switched on. glibc's own functions lie behind these.
extern "C" void* __libc_malloc(size_t size);  // NOLINT
std::atomic<bool> counting{false};
std::atomic<size_t> allocations{0};
extern "C" void* malloc(size_t size) {  // NOLINT
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}

namespace {

const OrtApi* api;

void Must(OrtStatusPtr status) { ASSERT_EQ(status, nullptr) << api->GetErrorMessage(status); }

/// A loaded model of C = A + B with its values.
struct Loaded {
  explicit Loaded(const OrtApi& library, const std::string& model = tiny::Add()) {
    api = &library;
    Must(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "test", &env));
    OrtSessionOptions* options = nullptr;
    Must(api->CreateSessionOptions(&options));
    Must(api->SetIntraOpNumThreads(options, 2));
    Must(api->CreateSessionFromArray(env, model.data(), model.size(), options, &session));
    api->ReleaseSessionOptions(options);
    OrtMemoryInfo* info = nullptr;
    Must(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
    const int64_t shape[] = {2, 3};
    float* data[] = {a, b, c};
    for (int i = 0; i < 3; ++i) {
      Must(api->CreateTensorWithDataAsOrtValue(info, data[i], sizeof(a), shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                               &values[i]));
    }
    api->ReleaseMemoryInfo(info);
  }
  ~Loaded() {
    for (OrtValue* value : values) api->ReleaseValue(value);
    api->ReleaseSession(session);
    api->ReleaseEnv(env);
  }
  OrtStatusPtr Run(OrtValue** result) {
    const char* const inputs[] = {"A", "B"};
    const char* const outputs[] = {"C"};
    return api->Run(session, nullptr, inputs, values, 2, outputs, 1, result);
  }

  OrtEnv* env = nullptr;
  OrtSession* session = nullptr;
  float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {10, 20, 30, 40, 50, 60}, c[6] = {};
  OrtValue* values[3] = {};
};

size_t Threads() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

size_t ResidentKilobytes() {
  std::ifstream file("/proc/self/statm");
  size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE)) / 1024;
}

std::string MappedFiles() {
  std::ifstream maps("/proc/self/maps");
  return {std::istreambuf_iterator<char>(maps), {}};
}

/// Before any other test has opened one: a program that opens the library does not wait for those that one provider or
/// operator needs, nor does a session that needs none of them.
TEST(Lifecycle, OpensLibrariesWhenTheyAreNeeded) {
  const auto mapped = [] {
    std::istringstream names(TESSERA_ABI_OPENED_ON_DEMAND);
    const std::string text = MappedFiles();
    std::vector<std::string> found;
    for (std::string name; names >> name;) {
      const std::string stem = name.substr(0, name.find(".so") + 3);
      if (text.find(stem) != std::string::npos) found.push_back(stem);
    }
    return found;
  };
  const OrtApi& library = OpenLibrary(TESSERA_ABI_LIBRARY);
  EXPECT_EQ(mapped(), std::vector<std::string>());
  Loaded loaded(library);
  OrtValue* result = loaded.values[2];
  Must(loaded.Run(&result));
  EXPECT_EQ(mapped(), std::vector<std::string>());
  EXPECT_EQ(MappedFiles().find("libhwy.so"), std::string::npos);
}

/// y: whether x, one text, is letters alone.
std::string RegexModel() {
  tiny::Message node = tiny::Node("RegexFullMatch", {"x"}, {"y"});
  node.Add(5, tiny::Message().Bytes(1, "pattern").Bytes(4, "[a-z]+").Number(20, 3));
  tiny::Message graph;
  graph.Add(1, node).Bytes(2, "regex").Add(11, tiny::TensorValue("x", 8, {{1}})).Add(12, tiny::TensorValue("y", 9, {{1}}));
  return tiny::Message().Number(1, 9).Add(7, graph).Add(8, tiny::Message().Bytes(1, "").Number(2, 20)).text();
}

// Plugins show their libraries' functions to all that is opened after them.
TEST(Lifecycle, OpensItsLibrariesBesideOthersOfTheirNames) {
  ASSERT_NE(dlopen(TESSERA_ABI_OTHER_RE2, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
  const Loaded loaded(OpenLibrary(TESSERA_ABI_LIBRARY), RegexModel());
  OrtAllocator* allocator = nullptr;
  Must(api->GetAllocatorWithDefaultOptions(&allocator));
  const int64_t shape[] = {1};
  OrtValue *text = nullptr, *result = nullptr;
  Must(api->CreateTensorAsOrtValue(allocator, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &text));
  const char *word = "letters", *input = "x", *output = "y";
  Must(api->FillStringTensor(text, &word, 1));
  Must(api->Run(loaded.session, nullptr, &input, &text, 1, &output, 1, &result));
  void* matches = nullptr;
  Must(api->GetTensorMutableData(result, &matches));
  EXPECT_TRUE(*static_cast<bool*>(matches));
  api->ReleaseValue(result);
  api->ReleaseValue(text);
}

TEST(Lifecycle, OpensAndClosesManyTimes) {
  size_t threads = 0, memory = 0;
  for (int cycle = 0; cycle < 50; ++cycle) {
    void* handle = nullptr;
    const OrtApi& library = OpenLibrary(TESSERA_ABI_LIBRARY, &handle);
    {
      Loaded loaded(library);
      OrtValue* result = loaded.values[2];
      Must(loaded.Run(&result));
      EXPECT_EQ(loaded.c[5], 66);
    }
    dlclose(handle);
    if (cycle == 9) {
      threads = Threads();
      memory = ResidentKilobytes();
    }
  }
  EXPECT_LE(Threads(), threads);
  EXPECT_LE(ResidentKilobytes(), memory + 4096);
}

TEST(Lifecycle, EnvironmentIsOne) {
  Loaded first(OpenLibrary(TESSERA_ABI_LIBRARY));
  {
    Loaded second(OpenLibrary(TESSERA_ABI_LIBRARY));
    EXPECT_EQ(first.env, second.env);
  }
  OrtValue* result = first.values[2];
  Must(first.Run(&result));
}

TEST(Lifecycle, ForkedChildRunsOrIsToldNo) {
  Loaded loaded(OpenLibrary(TESSERA_ABI_LIBRARY));
  OrtValue* result = loaded.values[2];
  Must(loaded.Run(&result));
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    OrtStatusPtr status = loaded.Run(&result);
    _exit(status != nullptr || loaded.c[5] == 66 ? 0 : 1);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0) << state;
}

TEST(Lifecycle, RunIntoGivenOutputsAllocatesNothing) {
  Loaded loaded(OpenLibrary(TESSERA_ABI_LIBRARY));
  OrtIoBinding* binding = nullptr;
  Must(api->CreateIoBinding(loaded.session, &binding));
  Must(api->BindInput(binding, "A", loaded.values[0]));
  Must(api->BindInput(binding, "B", loaded.values[1]));
  Must(api->BindOutput(binding, "C", loaded.values[2]));
  const auto count = [&](const auto& body) {
    for (int i = 0; i < 3; ++i) body();
    allocations = 0;
    counting = true;
    for (int i = 0; i < 10; ++i) body();
    counting = false;
    return allocations.load();
  };
  EXPECT_EQ(count([&] {
              OrtValue* result = loaded.values[2];
              Must(loaded.Run(&result));
            }),
            0U);
  EXPECT_EQ(count([&] { Must(api->RunWithBinding(loaded.session, nullptr, binding)); }), 0U);
  api->ReleaseIoBinding(binding);
}

/// What bindings ask of each output.
TEST(Lifecycle, AskingAboutAnOutputAllocatesNothing) {
  Loaded loaded(OpenLibrary(TESSERA_ABI_LIBRARY));
  const auto ask = [&] {
    const OrtValue* value = loaded.values[2];
    OrtTypeInfo* type = nullptr;
    Must(api->GetTypeInfo(value, &type));
    api->ReleaseTypeInfo(type);
    OrtTensorTypeAndShapeInfo* info = nullptr;
    Must(api->GetTensorTypeAndShape(value, &info));
    ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    Must(api->GetTensorElementType(info, &element));
    size_t rank = 0;
    Must(api->GetDimensionsCount(info, &rank));
    int64_t dims[2] = {};
    Must(api->GetDimensions(info, dims, rank));
    api->ReleaseTensorTypeAndShapeInfo(info);
    void* data = nullptr;
    Must(api->GetTensorMutableData(loaded.values[2], &data));
    const OrtMemoryInfo* memory = nullptr;
    Must(api->GetTensorMemoryInfo(value, &memory));
    OrtMemoryInfoDeviceType device = OrtMemoryInfoDeviceType_GPU;
    api->MemoryInfoGetDeviceType(memory, &device);
    EXPECT_EQ(dims[1], 3);
    EXPECT_EQ(device, OrtMemoryInfoDeviceType_CPU);
  };
  ask();
  allocations = 0;
  counting = true;
  ask();
  counting = false;
  EXPECT_EQ(allocations.load(), 0U);
}

TEST(Lifecycle, RunAsyncCallsBack) {
  Loaded loaded(OpenLibrary(TESSERA_ABI_LIBRARY));
  const char* const inputs[] = {"A", "B"};
  const char* const outputs[] = {"C"};
  OrtValue* result = nullptr;
  std::promise<size_t> done;
  const RunAsyncCallbackFn callback = [](void* user, OrtValue** /*outputs*/, size_t count, OrtStatusPtr status) {
    static_cast<std::promise<size_t>*>(user)->set_value(status == nullptr ? count : 0);
  };
  Must(api->RunAsync(loaded.session, nullptr, inputs, loaded.values, 2, outputs, 1, &result, callback, &done));
  EXPECT_EQ(done.get_future().get(), 1U);
  void* data = nullptr;
  Must(api->GetTensorMutableData(result, &data));
  EXPECT_EQ(static_cast<float*>(data)[5], 66);
  api->ReleaseValue(result);
}

/// With a run that waits behind it.
TEST(Lifecycle, ACallbackReleasesTheSession) {
  Loaded loaded(OpenLibrary(TESSERA_ABI_LIBRARY));
  const char* const inputs[] = {"A", "B"};
  const char* const outputs[] = {"C"};
  OrtValue* results[2] = {};
  struct State {
    OrtSession* session;
    std::promise<void> may_go, released, second;
  } state{.session = loaded.session, .may_go = {}, .released = {}, .second = {}};
  loaded.session = nullptr;
  const RunAsyncCallbackFn first = [](void* user, OrtValue**, size_t, OrtStatusPtr status) {
    auto& its = *static_cast<State*>(user);
    EXPECT_EQ(status, nullptr);
    its.may_go.get_future().wait();
    api->ReleaseSession(its.session);
    its.released.set_value();
  };
  const RunAsyncCallbackFn second = [](void* user, OrtValue**, size_t, OrtStatusPtr status) {
    EXPECT_EQ(status, nullptr);
    static_cast<State*>(user)->second.set_value();
  };
  Must(api->RunAsync(state.session, nullptr, inputs, loaded.values, 2, outputs, 1, &results[0], first, &state));
  Must(api->RunAsync(state.session, nullptr, inputs, loaded.values, 2, outputs, 1, &results[1], second, &state));
  state.may_go.set_value();
  state.second.get_future().wait();
  state.released.get_future().wait();
  for (OrtValue* result : results) {
    void* data = nullptr;
    Must(api->GetTensorMutableData(result, &data));
    EXPECT_EQ(static_cast<float*>(data)[5], 66);
    api->ReleaseValue(result);
  }
}

TEST(Lifecycle, LogGoesToTheClient) {
  const OrtApi& library = OpenLibrary(TESSERA_ABI_LIBRARY);
  api = &library;
  std::vector<std::string> lines;
  const OrtLoggingFunction log = [](void* param, OrtLoggingLevel, const char*, const char* id, const char*,
                                    const char* message) {
    static_cast<std::vector<std::string>*>(param)->push_back(std::string(id) + ": " + message);
  };
  OrtEnv* env = nullptr;
  Must(api->CreateEnvWithCustomLogger(log, &lines, ORT_LOGGING_LEVEL_WARNING, "client", &env));
  OrtSessionOptions* options = nullptr;
  Must(api->CreateSessionOptions(&options));
  Must(api->AddSessionConfigEntry(options, "session.intra_op.allow_spinning", "perhaps"));
  OrtSession* session = nullptr;
  const std::string model = tiny::Add();
  Must(api->CreateSessionFromArray(env, model.data(), model.size(), options, &session));
  api->ReleaseSession(session);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back().substr(0, 8), "client: ");
  std::vector<std::string> own;
  Must(api->SetUserLoggingFunction(options, log, &own));
  Must(api->SetSessionLogId(options, "camera"));
  Must(api->CreateSessionFromArray(env, model.data(), model.size(), options, &session));
  api->ReleaseSession(session);
  ASSERT_FALSE(own.empty());
  EXPECT_EQ(own.back().substr(0, 8), "camera: ");
  api->ReleaseSessionOptions(options);
  api->ReleaseEnv(env);
}

TEST(Lifecycle, NullHandlesAreErrors) {
  const OrtApi& library = OpenLibrary(TESSERA_ABI_LIBRARY);
  const auto refused = [&](OrtStatusPtr status) {
    const bool is_error = status != nullptr;
    library.ReleaseStatus(status);
    return is_error;
  };
  size_t count = 0;
  int number = 0;
  void* data = nullptr;
  OrtSession* session = nullptr;
  EXPECT_TRUE(refused(library.SessionGetInputCount(nullptr, &count)));
  EXPECT_TRUE(refused(library.Run(nullptr, nullptr, nullptr, nullptr, 0, nullptr, 0, nullptr)));
  EXPECT_TRUE(refused(library.IsTensor(nullptr, &number)));
  EXPECT_TRUE(refused(library.GetTensorMutableData(nullptr, &data)));
  EXPECT_TRUE(refused(library.CreateSession(nullptr, "x", nullptr, &session)));
  EXPECT_TRUE(refused(library.SetIntraOpNumThreads(nullptr, 1)));
  EXPECT_TRUE(refused(library.CreateIoBinding(nullptr, nullptr)));
  EXPECT_TRUE(refused(library.RunOptionsSetTerminate(nullptr)));
  EXPECT_EQ(library.GetKeyValue(nullptr, "x"), nullptr);
  EXPECT_EQ(library.GetErrorCode(nullptr), ORT_OK);
}

}  // namespace
