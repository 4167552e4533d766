// What docs/quiet.md promises. Each test is a process of its own (CTest).

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "error_of.h"
#include "model_builder.h"
#include "providers_here.h"
#include "system_call_watch.h"
#include "temporary_folder.h"
#include "thread_activity.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ModelBuilder;
using testing::OnProvider;
using testing::TemporaryFolder;

constexpr int64_t kWidth = 64;

/// y = Softmax(Relu(x a) b), of any number of rows.
ModelBuilder Layers() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, kWidth}).Output("y", ElementType::kFloat, {-1, kWidth});
  const std::vector<float> weights(kWidth * kWidth, 0.01F);
  model.Floats("a", {kWidth, kWidth}, weights).Floats("b", {kWidth, kWidth}, weights);
  model.Node("MatMul", {"x", "a"}, {"xa"});
  model.Node("Relu", {"xa"}, {"r"});
  model.Node("MatMul", {"r", "b"}, {"rb"});
  model.Node("Softmax", {"rb"}, {"y"});
  return model;
}

void RunRows(const Session& session, int64_t rows) {
  const std::vector<Value> inputs = {
      Tensor::Of<float>(Shape{rows, kWidth}, std::vector<float>(static_cast<size_t>(rows * kWidth), 1))};
  std::vector<Value> results(1);
  session.Run(inputs, results);
}

/// The providers that compute on the processor; drivers of devices do what they do.
std::vector<std::string> OnTheProcessor() {
  std::vector<std::string> providers = {"cpu"};
  if (testing::IsCompiledIn("dnnl")) providers.emplace_back("dnnl");
  return providers;
}

/// Home, caches, temporary files and the working folder lie in one folder: whatever is written there shows.
class Surroundings {
 public:
  Surroundings() {
    for (const char* name : {"home", "cache", "temporary", "here"}) std::filesystem::create_directory(root() / name);
    setenv("HOME", (root() / "home").c_str(), 1);
    setenv("XDG_CACHE_HOME", (root() / "cache").c_str(), 1);
    setenv("TMPDIR", (root() / "temporary").c_str(), 1);
    std::filesystem::current_path(root() / "here");
  }
  ~Surroundings() { std::filesystem::current_path("/"); }
  const std::filesystem::path& root() const { return folder_.path(); }

  /// By their paths in the folder.
  std::set<std::string> Files() const {
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root())) {
      if (!entry.is_directory()) files.insert(std::filesystem::relative(entry.path(), root()));
    }
    return files;
  }

 private:
  TemporaryFolder folder_;
};

std::multiset<std::string> OpenFiles() {
  std::multiset<std::string> open;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the listing's own
    const auto target = std::filesystem::read_symlink(entry.path(), gone);
    if (!gone) open.insert(target);
  }
  return open;
}

int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(Quiet, ThreadsSleepBetweenRuns) {
  for (const std::string& provider : OnTheProcessor()) {
    const Session session = Layers().Session(OnProvider(provider));
    for (int i = 0; i < 20; ++i) RunRows(session, 500);
    if (testing::ThreadActivity().empty()) GTEST_SKIP() << "the kernel does not count what threads do";
    EXPECT_TRUE(testing::AllThreadsSleep()) << provider << ": " << ::testing::PrintToString(testing::ThreadActivity());
  }
}

TEST(Quiet, MemoryStaysFlatOverThreeHundredShapes) {
  constexpr int64_t kShapes = 300, kSettled = 30, kStep = 8;
  // A buffer kept of each shape would be some 80 MiB.
  constexpr int64_t kMostGrowth = int64_t{24} << 20;
  for (const std::string& provider : OnTheProcessor()) {
    const Session session = Layers().Session(OnProvider(provider));
    RunRows(session, kStep * kShapes);
    int64_t settled = 0;
    for (int64_t i = 1; i < kShapes; ++i) {
      RunRows(session, kStep * (i * 7 % kShapes));
      if (i == kSettled) settled = ResidentBytes();
    }
    EXPECT_LT(ResidentBytes() - settled, kMostGrowth) << provider;
  }
}

TEST(Quiet, HoldsNoSocketAndGivesItsFilesBack) {
  const TemporaryFolder folder;
  const std::filesystem::path model = folder.Write("model.onnx", Layers().bytes());
  for (const std::string& provider : OnTheProcessor()) {
    RunRows(Session(model, OnProvider(provider)), 3);  // what a library keeps open for the process is open now
    const auto before = OpenFiles();
    {
      const Session session(model, OnProvider(provider));
      RunRows(session, 3);
      for (const std::string& open : OpenFiles()) {
        EXPECT_TRUE(before.contains(open) || open == model) << provider << ": " << open;
      }
    }
    EXPECT_EQ(OpenFiles(), before) << provider;
  }
}

TEST(Quiet, WritesWhatItIsAskedForAndNothingElse) {
  const Surroundings surroundings;
  const std::filesystem::path asked = surroundings.root() / "asked";
  std::filesystem::create_directory(asked);
  std::ofstream(asked / "model.onnx", std::ios::binary) << Layers().bytes();
  for (const std::string& provider : OnTheProcessor()) RunRows(Session(asked / "model.onnx", OnProvider(provider)), 3);
  EXPECT_THAT(surroundings.Files(), ElementsAre("asked/model.onnx"));

  SessionOptions options = OnProvider("cpu");
  options.profile_prefix = asked / "trace";
  options.optimized_model_path = asked / "optimized.onnx";
  options.config["session.context_enable"] = "1";
  options.config["session.context_file_path"] = asked / "context";
  Session session(asked / "model.onnx", options);
  RunRows(session, 3);
  const std::string trace = session.EndProfiling().filename();
  EXPECT_THAT(surroundings.Files(),
              ElementsAre("asked/context", "asked/model.onnx", "asked/optimized.onnx", "asked/" + trace));
}

TEST(Quiet, OpensNoSocketWritesNoFileStartsNoProgram) {
  const Surroundings surroundings;
  const std::filesystem::path model = surroundings.root() / "model.onnx";
  std::ofstream(model, std::ios::binary) << Layers().bytes();
  if (!testing::WatchSystemCalls()) GTEST_SKIP() << "the kernel does not hand system calls over here";
  for (const std::string& provider : OnTheProcessor()) {
    const Session from_file(model, OnProvider(provider)), from_bytes = Layers().Session(OnProvider(provider));
    for (const int64_t rows : {1, 7, 500}) {
      RunRows(from_file, rows);
      RunRows(from_bytes, rows);
    }
    EXPECT_THAT(testing::ErrorOf([&] { Session(surroundings.root() / "none.onnx", OnProvider(provider)); }),
                HasSubstr("none.onnx"));
  }
  EXPECT_THAT(testing::SeenSystemCalls(), IsEmpty());

  // The watch would have told.
  EXPECT_EQ(socket(AF_INET, SOCK_STREAM, 0), -1);
  EXPECT_FALSE(std::ofstream("written"));
  EXPECT_TRUE(std::ifstream(model));
  EXPECT_THAT(testing::SeenSystemCalls(), ElementsAre("socket", "openat written"));
}

}  // namespace
}  // namespace tessera
