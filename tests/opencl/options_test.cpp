// What the provider's options and bindings do to the calls that the driver gets.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "faulty_driver.h"
#include "opencl/device/device.h"
#include "opencl/device/memory.h"
#include "providers/opencl_device.h"
#include "providers/opencl_models.h"
#include "temporary_folder.h"

namespace tessera::testing {
namespace {

const MemoryInfo kDeviceMemory{opencl::kMemoryName, DeviceType::kGpu, 0, false};

class OpenclOptions : public ::testing::Test {
 protected:
  void SetUp() override { NeedDevice(); }
  void TearDown() override {
    FaultyDriver::Repair();
    FaultyDriver::SeparateMemory(false);
    FaultyDriver::LimitGroups(false);
  }

  static std::vector<Value> Inputs() { return {Floats({2, 3, 17, 15}, Random(2 * 3 * 17 * 15, 3))}; }
  static std::vector<float> Results(const Session& session) {
    std::vector<Value> results(session.outputs().size());
    session.Run(Inputs(), results);
    return ToVector(results[0]);
  }
  static int Calls(const char* name) {
    const auto& calls = FaultyDriver::calls();
    const auto found = calls.find(name);
    return found == calls.end() ? 0 : found->second;
  }
};

TEST_F(OpenclOptions, ProfilingWaitsForEachKernel) {
  std::vector<float> results[2];
  for (const bool profiling : {false, true}) {
    const Session session = Cnn().Session(On(kOpencl, {{"profiling", profiling ? "1" : "0"}}));
    Results(session);
    FaultyDriver::Reset();
    results[profiling] = Results(session);
    const int kernels = Calls("clEnqueueNDRangeKernel"), waits = Calls("clFinish");
    ASSERT_GT(kernels, 1);
    EXPECT_EQ(waits >= kernels, profiling) << waits << " waits for " << kernels << " kernels";
  }
  EXPECT_EQ(results[0], results[1]);
}

/// Each kernel beside the node that launched it: enqueued, begun and ended while the run was under way.
TEST_F(OpenclOptions, ProfilesShowWhenKernelsRan) {
  const TemporaryFolder folder;
  SessionOptions options = On(kOpencl, {{"profiling", "1"}});
  options.profile_prefix = folder.path() / "trace";
  Session session = Cnn().Session(options);
  Results(session);
  FaultyDriver::Reset();
  Results(session);
  const int kernels = Calls("clEnqueueNDRangeKernel");
  std::ifstream file(session.EndProfiling());
  const auto trace = nlohmann::json::parse(file);
  const std::string device = opencl::Device::Open({})->capabilities().name;
  std::vector<nlohmann::json> runs, commands;
  for (const auto& event : trace) {
    if (event["name"] == "run") runs.push_back(event);
    if (event.value("cat", "") == "Device") commands.push_back(event);
  }
  ASSERT_EQ(runs.size(), 2u);
  ASSERT_EQ(commands.size(), 2u * static_cast<size_t>(kernels));
  const auto within = [](const nlohmann::json& inner, const nlohmann::json& outer) {
    const double start = outer["ts"], begin = inner["ts"];
    return begin >= start && begin + inner["dur"].get<double>() <= start + outer["dur"].get<double>();
  };
  for (size_t i = 0; i < commands.size(); ++i) {
    EXPECT_EQ(commands[i]["args"]["device"], device);
    EXPECT_GE(commands[i]["args"]["waited_us"], 0);
    EXPECT_TRUE(within(commands[i], runs[i < commands.size() / 2 ? 0 : 1])) << commands[i];
  }
  const auto is_softmax = [](const nlohmann::json& command) {
    return command["name"].get<std::string>().starts_with("softmax");
  };
  EXPECT_EQ(std::ranges::count_if(commands, is_softmax), 2) << trace;
}

TEST_F(OpenclOptions, DevicesAreChosenByTypeAndPlatform) {
  const auto device = opencl::Device::Open({});
  const opencl::Capabilities& found = device->capabilities();
  cl_platform_id platform = nullptr;
  ASSERT_EQ(clGetDeviceInfo(device->id(), CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr), CL_SUCCESS);
  char name[256] = {};
  ASSERT_EQ(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, nullptr), CL_SUCCESS);
  const char* type = found.is_gpu ? "gpu" : found.is_cpu ? "cpu" : "accelerator";
  for (const ProviderOptions& options :
       {ProviderOptions{{"device_type", type}}, ProviderOptions{{"platform", std::string(name).substr(1)}},
        ProviderOptions{{"device_type", type}, {"platform", name}, {"device_id", "0"}}}) {
    EXPECT_EQ(opencl::Device::Open(options), device);
    const Session session = Cnn().Session(On(kOpencl, options));
    EXPECT_FALSE(Results(session).empty());
    EXPECT_EQ(session.placement().providers.at(0).status, "active");
  }
  if (found.is_gpu) return;
  EXPECT_THROW(opencl::Device::Open({{"device_type", "gpu"}}), Error);
}

TEST_F(OpenclOptions, ArenasGrowBothWays) {
  const std::vector<float> expected = Results(Cnn().Session(On("cpu")));
  int buffers[2] = {};
  for (const bool same : {false, true}) {
    SessionOptions options = On(kOpencl, {{"arena_extend_strategy", same ? "kSameAsRequested" : "kNextPowerOfTwo"}});
    options.enable_memory_pattern = false;  // else one request serves a whole run
    FaultyDriver::Reset();
    const Session session = Cnn().Session(options);
    for (int run = 0; run < 2; ++run)
      EXPECT_THAT(Results(session), ::testing::Pointwise(::testing::FloatNear(1e-3f), expected));
    buffers[same] = Calls("clCreateBuffer");
    FaultyDriver::Reset();
    Results(session);
    EXPECT_LE(Calls("clCreateBuffer"), 2)
        << "what a run needs is there after the first ones; inputs and results are the caller's";
  }
  EXPECT_GE(buffers[true], buffers[false]) << "larger extensions are fewer";
}

TEST_F(OpenclOptions, BoundValuesStayOnTheDevice) {
  const TemporaryFolder folder;
  FaultyDriver::SeparateMemory(true);
  const Session session = Cnn().Session(On(kOpencl, {{"program_cache_path", folder.path().string()}}));
  const std::vector<float> expected = Results(session);
  IoBinding binding(session);
  binding.BindInput(session.inputs()[0].name, Inputs()[0]);
  binding.BindOutput(session.outputs()[0].name, kDeviceMemory);
  session.Run(binding);
  FaultyDriver::Reset();
  for (int run = 0; run < 3; ++run) session.Run(binding);
  EXPECT_EQ(Calls("clEnqueueWriteBuffer") + Calls("clEnqueueReadBuffer") + Calls("clEnqueueCopyBuffer"), 0);
  const Tensor& result = binding.outputs()[0].tensor();
  ASSERT_EQ(result.memory(), kDeviceMemory);
  Tensor host(ElementType::kFloat, result.shape());
  session.Copy(result, host);
  EXPECT_EQ(ToVector(host), expected);
}

TEST_F(OpenclOptions, ManyRowsAreGroupsOfTheFirstDimension) {
  constexpr int64_t kRows = 70000;
  FaultyDriver::LimitGroups(true);
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {kRows, 4})
      .Output("s", ElementType::kFloat, {kRows, 4})
      .Output("n", ElementType::kFloat, {kRows, 4});
  model.Output("v", ElementType::kFloat, {kRows, 2}).Output("a", ElementType::kFloat, {1, 1, kRows, 4});
  model.Floats("scale", {4}, {1, 2, 3, 4})
      .Floats("key", {1, 1, 2, 4}, {1, 2, 3, 4, 4, 3, 2, 1})
      .Ints("two", {2})
      .Ints("shape", {1, 1, kRows, 4});
  model.Node("Softmax", {"x"}, {"s"});
  model.Node("LayerNormalization", {"x", "scale"}, {"n"});
  model.Node("TopK", {"x", "two"}, {"v", "i"});
  model.Node("Reshape", {"x", "shape"}, {"q"});
  model.Node("Attention", {"q", "key", "key"}, {"a"});
  model.proto().mutable_opset_import(0)->set_version(23);
  const std::vector<Value> inputs = {Floats({kRows, 4}, Random(kRows * 4, 3))};
  std::vector<Value> expected(4), results(4);
  model.Session(PlainOn("cpu")).Run(inputs, expected);
  for (const char* kernels : {"panels", "tiles"}) {
    const Session session = model.Session(PlainOn(kOpencl, {{"kernels", kernels}}));
    session.Run(inputs, results);
    for (size_t i = 0; i < results.size(); ++i)
      EXPECT_THAT(ToVector(results[i]), ::testing::Pointwise(::testing::FloatNear(1e-4f), ToVector(expected[i]))) << i;
    for (const auto& node : session.placement().nodes) EXPECT_EQ(node.provider, kOpencl) << node.op_type;
  }
}

}  // namespace
}  // namespace tessera::testing
