// Options of sessions and runs have their effect: threads of the client's and where they run, what observers hear, weights
// beside a written model, profiles of a run.

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "library.h"
#include "tiny_model.h"

namespace {

namespace fs = std::filesystem;
const OrtApi* api;

void Must(OrtStatusPtr status) { ASSERT_EQ(status, nullptr) << api->GetErrorMessage(status); }

class Options : public testing::Test {
 protected:
  void SetUp() override {
    api = &OpenLibrary(TESSERA_ABI_LIBRARY);
    Must(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "options", &env_));
    Must(api->CreateSessionOptions(&options_));
    Must(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info_));
    folder_ = fs::temp_directory_path() / ("abi_options_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override {
    api->ReleaseSession(session_);
    api->ReleaseMemoryInfo(info_);
    api->ReleaseSessionOptions(options_);
    api->ReleaseEnv(env_);
    fs::remove_all(folder_);
  }

  void Load(const std::string& model) {
    Must(api->CreateSessionFromArray(env_, model.data(), model.size(), options_, &session_));
  }
  /// The first element of what the model makes of an X of zeros in so many rows.
  float Run(int64_t rows, const OrtRunOptions* run = nullptr) {
    std::vector<float> zeros(static_cast<size_t>(rows) * 3);
    const int64_t shape[] = {rows, 3};
    OrtValue *input = nullptr, *output = nullptr;
    Must(api->CreateTensorWithDataAsOrtValue(info_, zeros.data(), zeros.size() * sizeof(float), shape, 2,
                                             ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input));
    const char *names[] = {"X"}, *outputs[] = {"Y"};
    Must(api->Run(session_, run, names, &input, 1, outputs, 1, &output));
    void* data = nullptr;
    Must(api->GetTensorMutableData(output, &data));
    const float first = *static_cast<float*>(data);
    api->ReleaseValue(output);
    api->ReleaseValue(input);
    return first;
  }
  size_t Files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  OrtEnv* env_ = nullptr;
  OrtSessionOptions* options_ = nullptr;
  OrtMemoryInfo* info_ = nullptr;
  OrtSession* session_ = nullptr;
  fs::path folder_;
};

/// Threads of this process that may run on this processor alone.
size_t ThreadsOn(const std::string& processor) {
  size_t count = 0;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) count += line == "Cpus_allowed_list:\t" + processor ? 1 : 0;
  }
  return count;
}

TEST_F(Options, ThreadsStayWhereAffinitiesSay) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  if (CPU_COUNT(&allowed) < 2 || !CPU_ISSET(0, &allowed)) GTEST_SKIP() << "this process may use one processor only";
  Must(api->SetIntraOpNumThreads(options_, 3));
  Must(api->AddSessionConfigEntry(options_, "session.intra_op_thread_affinities", "1;1-2"));
  Load(tiny::AddWeight(false));
  size_t there = 0;
  for (int tries = 0; tries < 1000 && there == 0; ++tries, usleep(1000)) there = ThreadsOn("0");  // each sets its own
  EXPECT_EQ(there, 1U);
}

struct Heard {
  std::atomic<int> enqueued{0}, started{0}, stopped{0}, abandoned{0};
  std::atomic<bool> mixed{false};  // somebody got data that enqueue did not give
};

TEST_F(Options, ObserverHearsOfEveryPieceOfWork) {
  Heard heard;
  OrtThreadPoolCallbacksConfig callbacks = {};
  callbacks.version = ORT_API_VERSION;
  callbacks.user_context = &heard;
  callbacks.on_enqueue = [](void* context) noexcept -> void* {
    ++static_cast<Heard*>(context)->enqueued;
    return context;
  };
  const auto count = [](void* context, void* work, std::atomic<int>& counter) {
    ++counter;
    if (work != context) static_cast<Heard*>(context)->mixed = true;
  };
  static const auto* const counts = new auto(count);
  callbacks.on_start_work = [](void* context, void* work) noexcept {
    (*counts)(context, work, static_cast<Heard*>(context)->started);
  };
  callbacks.on_stop_work = [](void* context, void* work) noexcept {
    (*counts)(context, work, static_cast<Heard*>(context)->stopped);
  };
  callbacks.on_abandon = [](void* context, void* work) noexcept {
    (*counts)(context, work, static_cast<Heard*>(context)->abandoned);
  };
  Must(api->SetPerSessionThreadPoolCallbacks(env_, &callbacks));
  Must(api->SetIntraOpNumThreads(options_, 2));
  Load(tiny::AddWeight(false));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Run(1 << 19), 1);
  EXPECT_GT(heard.enqueued, 0);
  EXPECT_EQ(heard.started, heard.stopped);
  EXPECT_EQ(heard.enqueued, heard.started + heard.abandoned);
  EXPECT_FALSE(heard.mixed);
}

TEST_F(Options, OptimizedModelHasItsWeightsBesideIt) {
  const fs::path path = folder_ / "optimized.onnx";
  Must(api->SetOptimizedModelFilePath(options_, path.c_str()));
  Must(api->AddSessionConfigEntry(options_, "session.optimized_model_external_initializers_file_name", "weights.bin"));
  Must(api->AddSessionConfigEntry(options_, "session.optimized_model_external_initializers_min_size_in_bytes", "12"));
  Load(tiny::AddWeight(false));
  ASSERT_TRUE(fs::exists(folder_ / "weights.bin"));
  EXPECT_EQ(fs::file_size(folder_ / "weights.bin"), 12U);
  api->ReleaseSession(session_);
  session_ = nullptr;
  Must(api->CreateSession(env_, path.c_str(), nullptr, &session_));
  EXPECT_EQ(Run(1), 1);
  api->ReleaseSession(session_);
  session_ = nullptr;
  fs::remove(folder_ / "weights.bin");
  OrtStatusPtr status = api->CreateSession(env_, path.c_str(), nullptr, &session_);
  EXPECT_NE(status, nullptr);
  api->ReleaseStatus(status);
}

TEST_F(Options, SmallWeightsStayInTheOptimizedModel) {
  Must(api->SetOptimizedModelFilePath(options_, (folder_ / "optimized.onnx").c_str()));
  Must(api->AddSessionConfigEntry(options_, "session.optimized_model_external_initializers_file_name", "weights.bin"));
  Must(api->AddSessionConfigEntry(options_, "session.optimized_model_external_initializers_min_size_in_bytes", "13"));
  Load(tiny::AddWeight(false));
  fs::remove(folder_ / "weights.bin");
  api->ReleaseSession(session_);
  session_ = nullptr;
  Must(api->CreateSession(env_, (folder_ / "optimized.onnx").c_str(), nullptr, &session_));
  EXPECT_EQ(Run(1), 1);
}

TEST_F(Options, WeightsFileLiesBesideTheModelOnly) {
  Must(api->SetOptimizedModelFilePath(options_, (folder_ / "optimized.onnx").c_str()));
  Must(api->AddSessionConfigEntry(options_, "session.optimized_model_external_initializers_file_name", "../weights.bin"));
  const std::string model = tiny::AddWeight(false);
  OrtStatusPtr status = api->CreateSessionFromArray(env_, model.data(), model.size(), options_, &session_);
  EXPECT_NE(status, nullptr);
  api->ReleaseStatus(status);
}

TEST_F(Options, RunsAreProfiledThatAskForIt) {
  Load(tiny::AddWeight(false));
  OrtRunOptions* run = nullptr;
  Must(api->CreateRunOptions(&run));
  Must(api->RunOptionsEnableProfiling(run, (folder_ / "run").c_str()));
  Run(2, run);
  EXPECT_EQ(Files(), 1U);
  std::ifstream file(fs::directory_iterator(folder_)->path());
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("\"Node\""), std::string::npos) << text;
  EXPECT_NE(text.find("add"), std::string::npos) << text;
  Must(api->RunOptionsDisableProfiling(run));
  Run(2, run);
  EXPECT_EQ(Files(), 1U);
  api->ReleaseRunOptions(run);
}

}  // namespace
