// Every call to the driver fails once, while a session is made and while a model runs: each failure is an error that says
// what failed, or another provider takes over; results are never wrong, nothing leaks, and the next run works.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include "faulty_driver.h"
#include "opencl/device/device.h"
#include "providers/opencl_device.h"
#include "providers/opencl_models.h"
#include "temporary_folder.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

struct Fault {
  const char* name;
  cl_int status;
};
constexpr Fault kLost{"CL_DEVICE_NOT_AVAILABLE", CL_DEVICE_NOT_AVAILABLE},
    kResources{"CL_OUT_OF_RESOURCES", CL_OUT_OF_RESOURCES}, kHostMemory{"CL_OUT_OF_HOST_MEMORY", CL_OUT_OF_HOST_MEMORY},
    kAllocation{"CL_MEM_OBJECT_ALLOCATION_FAILURE", CL_MEM_OBJECT_ALLOCATION_FAILURE};

struct Subject {
  std::string name;
  ModelBuilder model;
  std::vector<Value> inputs;
  std::vector<float> expected;
  Shape shape;  // of what is expected
};

std::vector<float> Results(const Session& session, const std::vector<Value>& inputs) {
  std::vector<Value> results(session.outputs().size());
  session.Run(inputs, results);
  return ToVector(results[0]);
}

Subject Make(std::string name, ModelBuilder model, std::vector<Value> inputs) {
  Subject subject{std::move(name), std::move(model), std::move(inputs), {}, {}};
  std::vector<Value> results(1);
  subject.model.Session(On("cpu")).Run(subject.inputs, results);
  subject.expected = ToVector(results[0]);
  subject.shape = results[0].tensor().shape();
  return subject;
}

std::vector<Subject> Subjects() {
  std::vector<Subject> subjects;
  subjects.push_back(Make("cnn", Cnn(), {Floats({2, 3, 17, 15}, Random(2 * 3 * 17 * 15, 3))}));
  subjects.push_back(Make("transformer", Transformer(), {Floats({2, 5, 16}, Random(160, 5))}));
  return subjects;
}

void ExpectClose(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], 1e-4f * (1 + std::abs(expected[i]))) << "element " << i;
}

SessionOptions Quiet(ProviderOptions options = {}) {
  SessionOptions session = On(kOpencl, std::move(options));
  session.log_level = LogLevel::kFatal;
  return session;
}

/// What the error of a failed run tells its reader.
void ExpectTells(const Error& error, const std::string& call, const char* fault) {
  EXPECT_THAT(error.what(), HasSubstr(fault));
  EXPECT_THAT(error.what(), HasSubstr(call));
  EXPECT_THAT(error.what(), ::testing::AnyOf(HasSubstr("use smaller inputs"), HasSubstr("make a new session")))
      << "no remedy";
  EXPECT_THAT(error.what(), ::testing::MatchesRegex("^(the nodes compiled with )?[A-Za-z.+]+ (-> )?'.*': .*")) << "no node";
}

/// Devices are told apart by how the folder of their programs is written: each spelling opens one of its own.
class OpenclFaults : public ::testing::Test {
 protected:
  void SetUp() override { NeedDevice(); }
  void TearDown() override {
    FaultyDriver::Repair();
    FaultyDriver::SeparateMemory(false);
  }
  ProviderOptions NewDevice() { return {{"program_cache_path", spelling_ += "/."}}; }

  TemporaryFolder folder_;
  std::string spelling_ = folder_.path().string();
};

/// A run in which the call after `passed` others fails, then one in which none does.
void RunWithFault(const Session& session, const Subject& subject, int passed, const Fault& fault) {
  SCOPED_TRACE(fmt::format("{}, {} after {} calls", subject.name, fault.name, passed));
  FaultyDriver::FailAfter(passed, fault.status);
  try {
    const std::vector<float> results = Results(session, subject.inputs);
    const std::string failed = FaultyDriver::Repair();  // empty: this run has fewer calls
    EXPECT_THAT(failed, ::testing::AnyOf("", "clCreateBuffer", "clSetMemObjectDestructorCallback"))
        << "only memory can be had otherwise";
    ExpectClose(results, subject.expected);
  } catch (const Error& error) {
    ExpectTells(error, FaultyDriver::Repair(), fault.name);
  }
  ExpectClose(Results(session, subject.inputs), subject.expected);
}

void SweepRuns(const ProviderOptions& options) {
  for (const Subject& subject : Subjects()) {
    const Session session = subject.model.Session(Quiet(options));
    for (int i = 0; i < 3; ++i) ExpectClose(Results(session, subject.inputs), subject.expected);  // plans are made
    FaultyDriver::Reset();
    Results(session, subject.inputs);
    const int calls = FaultyDriver::all_calls();
    ASSERT_GT(calls, 20);
    const int live = FaultyDriver::live_objects();
    for (const Fault& fault : {kLost, kResources, kHostMemory, kAllocation}) {
      for (int passed = 0; passed < calls && !::testing::Test::HasFailure(); ++passed)
        RunWithFault(session, subject, passed, fault);
    }
    EXPECT_EQ(FaultyDriver::live_objects(), live) << subject.name << " leaks";
  }
}

TEST_F(OpenclFaults, EveryCallOfARun) { SweepRuns({}); }

TEST_F(OpenclFaults, EveryCallOfARunOnADeviceWithMemoryOfItsOwn) {
  FaultyDriver::SeparateMemory(true);
  SweepRuns(NewDevice());
}

TEST_F(OpenclFaults, NothingIsCopiedWhereMemoryIsShared) {
  const auto device = opencl::Device::Open({});
  if (!device->capabilities().shares_host_memory) GTEST_SKIP() << device->capabilities().name << " has memory of its own";
  for (const bool separate : {false, true}) {
    FaultyDriver::SeparateMemory(separate);
    const ProviderOptions options = separate ? NewDevice() : ProviderOptions();
    for (const Subject& subject : Subjects()) {
      const Session session = subject.model.Session(Quiet(options));
      const auto copies = [&](std::vector<Value> results) {
        FaultyDriver::Reset();
        session.Run(subject.inputs, results);
        ExpectClose(ToVector(results[0]), subject.expected);
        int count = 0;
        for (const auto& [call, times] : FaultyDriver::calls()) {
          if (call == "clEnqueueWriteBuffer" || call == "clEnqueueReadBuffer" || call == "clEnqueueCopyBuffer")
            count += times;
        }
        return count;
      };
      const Shape shape = subject.shape;
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(copies(std::vector<Value>(1)), separate ? 2 : 0) << subject.name;
        EXPECT_EQ(copies({Value(Tensor(ElementType::kFloat, shape))}), separate ? 2 : 0)
            << subject.name << " into the caller's buffer";
      }
      EXPECT_EQ(session.placement().ToText().find("in place") == std::string::npos, separate);
    }
  }
}

/// A GPU that shares the host's memory reads inputs where they are; results that the host keeps are copied, because no
/// buffer stays mapped for it.
TEST_F(OpenclFaults, ResultsOfGpusAreCopied) {
  const auto device = opencl::Device::Open({});
  if (!device->capabilities().shares_host_memory) GTEST_SKIP() << device->capabilities().name << " has memory of its own";
  const ProviderOptions options = NewDevice();
  FaultyDriver::Answer(CL_DEVICE_TYPE, cl_device_type{CL_DEVICE_TYPE_GPU});
  const Subject subject = Subjects().front();
  const Session session = subject.model.Session(Quiet(options));
  FaultyDriver::Repair();
  for (int i = 0; i < 3; ++i) {
    FaultyDriver::Reset();
    const std::vector<float> results = Results(session, subject.inputs);
    const auto calls = FaultyDriver::calls();
    EXPECT_FALSE(calls.contains("clEnqueueWriteBuffer"));
    EXPECT_EQ(calls.at("clEnqueueReadBuffer"), 1);
    ExpectClose(results, subject.expected);
  }
}

void SweepFirstRuns(const ProviderOptions& options) {
  for (const Subject& subject : Subjects()) {
    int calls = 0;
    {
      const Session session = subject.model.Session(Quiet(options));
      FaultyDriver::Reset();
      Results(session, subject.inputs);
      calls = FaultyDriver::all_calls();
    }
    const int live = FaultyDriver::live_objects();
    for (int passed = 0; passed < calls && !::testing::Test::HasFailure(); ++passed) {
      const Session session = subject.model.Session(Quiet(options));
      RunWithFault(session, subject, passed, kAllocation);
    }
    EXPECT_EQ(FaultyDriver::live_objects(), live) << subject.name << " leaks";
  }
}

TEST_F(OpenclFaults, EveryCallOfTheFirstRun) { SweepFirstRuns({{"kernels", "panels"}}); }

/// Which tile a matmul takes is found by compiling some: a device without memory is no reason to take another one.
TEST_F(OpenclFaults, EveryCallOfTheFirstRunByTiles) { SweepFirstRuns({{"kernels", "tiles"}}); }

/// While sessions are made; `options` for each of them.
void SweepSessions(const Subject& subject, const std::function<ProviderOptions()>& options, const Fault& fault,
                   const char* only) {
  FaultyDriver::Reset();
  subject.model.Session(Quiet(options()));
  const int calls = only == nullptr ? FaultyDriver::all_calls() : FaultyDriver::calls().at(only);
  for (int passed = 0; passed < calls && !::testing::Test::HasFailure(); ++passed) {
    SCOPED_TRACE(fmt::format("{}, {} after {} calls{}{}", subject.name, fault.name, passed, only == nullptr ? "" : " of ",
                             only == nullptr ? "" : only));
    const SessionOptions session_options = Quiet(options());
    FaultyDriver::FailAfter(passed, fault.status, false, only);
    try {
      const Session session = subject.model.Session(session_options);
      FaultyDriver::Repair();
      ExpectClose(Results(session, subject.inputs), subject.expected);
    } catch (const Error& error) {
      FaultyDriver::Repair();
      EXPECT_THAT(error.what(), ::testing::AnyOf(HasSubstr("OpenCL"), HasSubstr("clGet")));
    }
    ExpectClose(Results(subject.model.Session(session_options), subject.inputs), subject.expected);
  }
}

TEST_F(OpenclFaults, EveryCallWhileASessionIsMade) {
  for (const Subject& subject : Subjects()) {
    subject.model.Session(Quiet());
    SweepSessions(subject, [] { return ProviderOptions(); }, kResources, nullptr);
  }
}

TEST_F(OpenclFaults, ProgramsThatAreNotBuilt) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 3}).Output("y", ElementType::kFloat, {2, 3});
  model.Node("Tanh", {"x"}, {"t"});
  Int(model.Node("Softmax", {"t"}, {"y"}), "axis", 1);
  const Subject subject = Make("two programs", std::move(model), {Floats({2, 3}, Random(6, 1))});
  for (const char* call :
       {"clCreateContext", "clCreateProgramWithSource", "clBuildProgram", "clGetProgramInfo", "clCreateKernel"}) {
    SweepSessions(
        subject,
        [this] {
          // No binaries either: what is not built here was not built before.
          for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) std::filesystem::remove(entry);
          return NewDevice();
        },
        kHostMemory, call);
  }
}

/// Sessions that may do without the provider do, for the nodes whose kernels are not built, and say why.
TEST_F(OpenclFaults, NodesWhoseKernelsAreNotBuiltGoToTheNextProvider) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 3}).Output("y", ElementType::kFloat, {2, 3});
  Int(model.Node("Softmax", {"x"}, {"s"}, "first"), "axis", 1);
  Int(model.Node("CumSum", {"s", "axis"}, {"c"}, "second"), "exclusive", 0);
  model.Ints("axis", {1});
  model.Node("Relu", {"c"}, {"r"});
  model.Node("Tanh", {"r"}, {"y"});
  const Subject subject = Make("several programs", std::move(model), {Floats({2, 3}, Random(6, 1))});
  const auto options = [&](bool must) {
    SessionOptions session = Quiet(NewDevice());
    session.error_on_failure = must;
    session.config["session.min_island_nodes"] = "0";
    return session;
  };
  for (const char* call : {"clCreateProgramWithSource", "clBuildProgram", "clCreateKernel"}) {
    FaultyDriver::Reset();
    subject.model.Session(options(true));
    const int calls = FaultyDriver::calls().at(call);
    for (int passed = 0; passed < calls; ++passed) {
      SCOPED_TRACE(fmt::format("{} after {} calls", call, passed));
      for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) std::filesystem::remove(entry);
      FaultyDriver::FailAfter(passed, CL_OUT_OF_RESOURCES, false, call);
      const Session session = subject.model.Session(options(false));
      ASSERT_EQ(FaultyDriver::Repair(), call);
      ExpectClose(Results(session, subject.inputs), subject.expected);
      const auto& nodes = session.placement().nodes;
      const auto moved =
          std::ranges::find_if(nodes, [](const auto& node) { return node.provider != kOpencl && !node.refusals.empty(); });
      ASSERT_NE(moved, nodes.end());
      EXPECT_THAT(moved->refusals[0].second, HasSubstr(call));
      EXPECT_THAT(session.placement().ToText(), HasSubstr(kOpencl)) << "the other nodes stay";

      for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) std::filesystem::remove(entry);
      FaultyDriver::FailAfter(passed, CL_OUT_OF_RESOURCES, false, call);
      EXPECT_THROW(subject.model.Session(options(true)), Error);
      FaultyDriver::Repair();
    }
  }
}

TEST_F(OpenclFaults, DevicesThatCannotRunKernelsAreNotUsed) {
  const std::vector<std::pair<cl_uint, std::string>> lacks = {
      {CL_DEVICE_VERSION, std::string("OpenCL 1.1 of old", 18)},
      {CL_DEVICE_AVAILABLE, std::string(sizeof(cl_bool), '\0')},
      {CL_DEVICE_COMPILER_AVAILABLE, std::string(sizeof(cl_bool), '\0')},
      {CL_DEVICE_ENDIAN_LITTLE, std::string(sizeof(cl_bool), '\0')},
      {CL_DEVICE_PROFILE, std::string("EMBEDDED_PROFILE", 17)}};
  const Subject subject = Subjects().front();
  SessionOptions may = Quiet();
  may.error_on_failure = false;
  for (const auto& [what, answer] : lacks) {
    SCOPED_TRACE(what);
    FaultyDriver::Answer(what, answer);
    for (const std::string& line : opencl::DescribeDevices()) EXPECT_THAT(line, HasSubstr("not used: it"));
    EXPECT_THROW(subject.model.Session(Quiet()), Error);
    const Session session = subject.model.Session(may);
    FaultyDriver::Repair();
    ExpectClose(Results(session, subject.inputs), subject.expected);
    EXPECT_THAT(session.placement().providers.at(0).status, HasSubstr("not used: it"));
  }
  FaultyDriver::FailAfter(0, CL_DEVICE_NOT_AVAILABLE, true, "clGetDeviceInfo");
  for (const std::string& line : opencl::DescribeDevices()) EXPECT_THAT(line, HasSubstr("not used: "));
}

TEST_F(OpenclFaults, KernelsThatNeedLargerGroupsThanTheDeviceRunsGoToTheNextProvider) {
  const Subject subject = Make("softmax",
                               [] {
                                 ModelBuilder model;
                                 model.Input("x", ElementType::kFloat, {2, 3}).Output("y", ElementType::kFloat, {2, 3});
                                 model.Node("Softmax", {"x"}, {"y"});
                                 return model;
                               }(),
                               {Floats({2, 3}, Random(6, 1))});
  ProviderOptions by_tiles = NewDevice();
  by_tiles["kernels"] = "tiles";  // those of processors need no groups
  SessionOptions options = Quiet(by_tiles);
  options.error_on_failure = false;
  options.config["session.min_island_nodes"] = "0";
  FaultyDriver::Answer(CL_KERNEL_WORK_GROUP_SIZE, size_t{32});
  const Session session = subject.model.Session(options);
  FaultyDriver::Repair();
  ExpectClose(Results(session, subject.inputs), subject.expected);
  const auto& node = session.placement().nodes.at(0);
  EXPECT_NE(node.provider, kOpencl);
  ASSERT_FALSE(node.refusals.empty());
  EXPECT_THAT(node.refusals[0].second, HasSubstr("at most 32 work items; it needs 64"));
}

TEST_F(OpenclFaults, ConstantsLargerThanTheDevicesBuffersStayOnTheHost) {
  const Subject subject = Make("table",
                               [] {
                                 ModelBuilder model;
                                 model.Input("x", ElementType::kFloat, {2, 300}).Output("y", ElementType::kFloat, {2, 300});
                                 model.Constant("table", {2, 300}, std::vector<float>(600, 2.0f));
                                 model.Node("Mul", {"x", "table"}, {"y"});
                                 return model;
                               }(),
                               {Floats({2, 300}, Random(600, 1))});
  FaultyDriver::Answer(CL_DEVICE_MAX_MEM_ALLOC_SIZE, cl_ulong{2000});
  SessionOptions options = Quiet(NewDevice());
  options.config["session.min_island_nodes"] = "0";
  const Session session = subject.model.Session(options);
  FaultyDriver::Repair();
  ExpectClose(Results(session, subject.inputs), subject.expected);
  ASSERT_FALSE(session.placement().nodes.at(0).refusals.empty());
  EXPECT_THAT(session.placement().nodes.at(0).refusals[0].second, HasSubstr("of at most 2000 bytes"));
}

/// From one call on, everything fails: in the run, in later runs, for new sessions. Once the device is back, new sessions
/// work.
TEST_F(OpenclFaults, ADeviceThatIsLostAndComesBack) {
  for (const Subject& subject : Subjects()) {
    int calls = 0;
    {
      const Session session = subject.model.Session(Quiet());
      Results(session, subject.inputs);
      FaultyDriver::Reset();
      Results(session, subject.inputs);
      calls = FaultyDriver::all_calls();
    }
    for (int passed = 0; passed < calls && !HasFailure(); passed += std::max(1, calls / 20)) {
      SCOPED_TRACE(fmt::format("{}, lost after {} calls", subject.name, passed));
      {
        const Session session = subject.model.Session(Quiet());
        Results(session, subject.inputs);
        FaultyDriver::FailAfter(passed, CL_DEVICE_NOT_AVAILABLE, true);
        // On a busy machine a run asks less often how far the device is, and may end before its loss.
        try {
          Results(session, subject.inputs);
        } catch (const Error&) {
        }
        for (int i = 0; i < 2; ++i) EXPECT_THROW(Results(session, subject.inputs), Error);
        EXPECT_THROW(subject.model.Session(Quiet()), Error);
      }
      FaultyDriver::Repair();
      const Session session = subject.model.Session(Quiet());
      ExpectClose(Results(session, subject.inputs), subject.expected);
    }
  }
}

}  // namespace
}  // namespace tessera::testing
