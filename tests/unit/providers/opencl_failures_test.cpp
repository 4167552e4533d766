// What the OpenCL provider does without a device, with options that fit nothing, with too little memory, and how it copies.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "error_of.h"
#include "model_builder.h"
#include "opencl/device/memory.h"
#include "providers/opencl_device.h"
#include "tessera/session.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using testing::Floats;
using ::testing::HasSubstr;
using testing::kOpencl;
using testing::ModelBuilder;
using testing::ToVector;

namespace fs = std::filesystem;
constexpr char kCpu[] = "CPUExecutionProvider";

/// y = max(0, x w).
ModelBuilder Model() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 2}).Output("y", ElementType::kFloat, {1, 2});
  model.Constant("w", {2, 2}, std::vector<float>{1, -2, 3, -4});
  model.Node("MatMul", {"x", "w"}, {"p"});
  model.Node("Relu", {"p"}, {"y"});
  return model;
}

SessionOptions On(ProviderOptions options, bool must) {
  SessionOptions session;
  session.providers = {{kOpencl, std::move(options)}};
  session.error_on_failure = must;
  session.log_level = LogLevel::kFatal;
  return session;
}

std::vector<float> Results(const Session& session) {
  const std::vector<Value> inputs = {Floats({1, 2}, {1, 1})};
  std::vector<Value> results(1);
  session.Run(inputs, results);
  return ToVector(results[0]);
}

bool HasDevice() { return !opencl::DescribeDevices().empty(); }

/// Exits with 0 if all is well in a process that finds no driver.
[[noreturn]] void RunWithoutDrivers() {
  const fs::path folder = fs::temp_directory_path() / fmt::format("tessera_no_drivers.{}", getpid());
  fs::create_directories(folder);
  setenv("OCL_ICD_VENDORS", folder.c_str(), 1);
  const Session session = Model().Session(On({}, false));
  bool good = Results(session) == std::vector<float>{4, 0};
  for (const auto& node : session.placement().nodes) good &= node.provider == kCpu;
  good &= session.placement().providers.at(0).status.find("no platform is installed") != std::string::npos;
  try {
    Model().Session(On({}, true));
    good = false;
  } catch (const Error& error) {
    good &= std::string(error.what()).find("there is no OpenCL device") != std::string::npos;
  }
  fs::remove_all(folder);
  _exit(good ? 0 : 1);
}

TEST(OpenclFailuresDeathTest, WithoutDriversTheProviderIsSkipped) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that has not loaded any
  EXPECT_EXIT(RunWithoutDrivers(), ::testing::ExitedWithCode(0), "");
}

TEST(OpenclFailures, DevicesThatAreNotThereAreNamed) {
  if (!HasDevice()) GTEST_SKIP() << "there is no OpenCL device";
  for (const ProviderOptions& options :
       {ProviderOptions{{"device_id", "1000"}}, ProviderOptions{{"platform", "no such platform"}},
        ProviderOptions{{"device_type", "accelerator"}, {"device_id", "1000"}}}) {
    try {
      Model().Session(On(options, true));
      ADD_FAILURE() << "a session was made";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("there is no OpenCL device"));
      EXPECT_THAT(error.what(), HasSubstr("found: "));
    }
    const Session session = Model().Session(On(options, false));
    EXPECT_THAT(Results(session), ElementsAre(4, 0));
  }
  EXPECT_THROW(Model().Session(On({{"device_id", "first"}}, false)), Error);
}

TEST(OpenclFailures, WhatDoesNotFitTheLimitGoesToTheNextProvider) {
  if (!HasDevice()) GTEST_SKIP() << "there is no OpenCL device";
  const Session session = Model().Session(On({{"gpu_mem_limit", "1"}, {"kernels", "panels"}}, false));
  EXPECT_THAT(Results(session), ElementsAre(4, 0));
  for (const auto& node : session.placement().nodes) {
    EXPECT_EQ(node.provider, kCpu) << node.op_type;
    ASSERT_FALSE(node.refusals.empty());
    EXPECT_THAT(node.refusals[0].second, HasSubstr("gpu_mem_limit"));
  }
  EXPECT_THROW(Model().Session(On({{"gpu_mem_limit", "1"}, {"kernels", "panels"}}, true)), Error);
}

/// The model's bytes, where the 3.0s of a constant lie where no device can use them in place.
std::string BytesWithStrayConstant(ModelBuilder& model) {
  const std::vector<float> threes(16, 3.0f);
  const std::string_view begin(reinterpret_cast<const char*>(threes.data()), threes.size() * sizeof(float));
  for (std::string name;; name += 'p') {
    model.proto().set_producer_name(name);
    std::string bytes = model.bytes();
    const char* at = bytes.data() + bytes.find(begin);
    if (reinterpret_cast<uintptr_t>(at) % kHostAlignment != 0) return bytes;  // moves with the string: it is long
  }
}

TEST(OpenclFailures, AConstantThatDoesNotFitTheLimitLeavesItsNodeToTheNextProvider) {
  if (!HasDevice()) GTEST_SKIP() << "there is no OpenCL device";
  constexpr int64_t kRows = 1 << 20;
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 2}).Output("y", ElementType::kFloat, {1, 2});
  model.Floats("table", {kRows, 1}, std::vector<float>(kRows, 3.0f)).Ints("row", {5});
  model.Node("Gather", {"table", "row"}, {"g"}, "pick");
  model.Node("Mul", {"x", "g"}, {"m"});
  model.Node("Tanh", {"m"}, {"t"});
  model.Node("Atanh", {"t"}, {"y"});
  const std::string bytes = BytesWithStrayConstant(model);
  const std::shared_ptr<const void> kept(&bytes, [](const void*) {});
  for (const bool must : {false, true}) {
    SessionOptions options = On({{"gpu_mem_limit", "2M"}}, must);
    options.optimization_level = OptimizationLevel::kNone;
    options.config["session.min_island_nodes"] = "0";
    if (must) {
      try {
        Session(std::as_bytes(std::span(bytes)), options, Environment::Default(), kept);
        ADD_FAILURE() << "a session was made";
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), ::testing::AllOf(HasSubstr("pick"), HasSubstr("table"), HasSubstr("gpu_mem_limit")));
      }
      continue;
    }
    const Session session(std::as_bytes(std::span(bytes)), options, Environment::Default(), kept);
    std::vector<Value> results(1);
    session.Run(std::vector<Value>{Floats({1, 2}, {0.1f, 0.2f})}, results);
    EXPECT_THAT(ToVector(results[0]), ElementsAre(::testing::FloatNear(0.3f, 1e-4f), ::testing::FloatNear(0.6f, 1e-4f)));
    for (const auto& node : session.placement().nodes) {
      if (node.op_type == "Gather") {
        EXPECT_THAT(node.refusals.at(0).second, HasSubstr("the constant 'table'"));
      }
      EXPECT_EQ(node.provider == kOpencl, node.op_type != "Gather") << node.op_type;
    }
  }
}

/// Whether the device's memory is the host's.
bool SharesHostMemory() { return HasDevice() && opencl::Device::Open({})->capabilities().shares_host_memory; }

TEST(OpenclFailures, MemoryOfTheHostCountsForTheSessionsRuns) {
  if (!SharesHostMemory()) GTEST_SKIP() << "there is no OpenCL device in the host's memory";
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1}).Output("y", ElementType::kFloat, {-1, 2});
  model.Node("TopK", {"x", "k"}, {"t", "i"}, "first");
  model.Node("Expand", {"t", "many"}, {"y"}, "second");
  model.Ints("k", {2}).Input("many", ElementType::kInt64, {2});
  for (const bool arena : {true, false}) {
    SessionOptions options = On({}, true);
    options.enable_arena = arena;
    options.config["session.run_memory_limit"] = "64k";
    const Session session = model.Session(options);
    const auto error = [&](int64_t rows) {
      return ErrorOf([&] {
        std::vector<Value> results(1);
        session.Run(std::vector<Value>{Floats({3}, {3, 1, 2}), Tensor::Of<int64_t>({2}, std::vector<int64_t>{rows, 2})},
                    results);
      });
    };
    EXPECT_EQ(error(100), "no error");
    EXPECT_THAT(error(100'000), HasSubstr("session.run_memory_limit exceeded")) << arena;
    EXPECT_EQ(error(100), "no error") << arena;
  }
}

TEST(OpenclFailures, CopiesOfConstantsInMemoryOfTheHostCountForTheLoad) {
  if (!SharesHostMemory()) GTEST_SKIP() << "there is no OpenCL device in the host's memory";
  constexpr int64_t kSize = 512;
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, kSize}).Output("y", ElementType::kFloat, {1, kSize});
  model.Floats("w", {kSize, kSize}, std::vector<float>(kSize * kSize, 0.5f));
  model.Node("MatMul", {"x", "w"}, {"y"}, "product");
  SessionOptions options = On({{"kernels", "panels"}}, true);
  options.config["session.load_memory_limit"] = std::to_string(kSize * kSize * sizeof(float) * 3 / 2);
  EXPECT_THAT(ErrorOf([&] { model.Session(options); }), HasSubstr("session.load_memory_limit exceeded"));
  options.config.erase("session.load_memory_limit");
  EXPECT_EQ(ErrorOf([&] { model.Session(options); }), "no error");
}

TEST(OpenclFailures, AFileWhereTheCacheShouldBeIsNoError) {
  if (!HasDevice()) GTEST_SKIP() << "there is no OpenCL device";
  const fs::path file = fs::temp_directory_path() / fmt::format("tessera_not_a_folder.{}", getpid());
  std::ofstream(file) << "a file";
  EXPECT_THAT(Results(Model().Session(On({{"program_cache_path", file.string()}}, true))), ElementsAre(4, 0));
  fs::remove(file);
}

TEST(OpenclFailures, UploadsThroughPinnedMemoryArriveWhole) {
  if (!HasDevice()) GTEST_SKIP() << "there is no OpenCL device";
  const auto device = opencl::Device::Open({});
  const opencl::Queue queue = device->CreateQueue();
  constexpr size_t kChunk = 1000;
  opencl::Staging staging(*device, queue.get(), kChunk);
  for (const size_t bytes : {size_t{1}, kChunk - 1, kChunk, kChunk + 1, 2 * kChunk, 5 * kChunk + 3}) {
    std::vector<unsigned char> sent(bytes), back(bytes);
    std::iota(sent.begin(), sent.end(), static_cast<unsigned char>(bytes));
    const opencl::Buffer buffer = device->NewBuffer(bytes + 7);
    std::vector<unsigned char> source = sent;
    staging.Upload(source.data(), {buffer.get(), 7}, bytes);
    std::fill(source.begin(), source.end(), static_cast<unsigned char>(0));  // it is the caller's again
    opencl::Check(clEnqueueReadBuffer(queue.get(), buffer.get(), CL_TRUE, 7, bytes, back.data(), 0, nullptr, nullptr),
                  "clEnqueueReadBuffer");
    EXPECT_EQ(back, sent) << bytes;
  }
}

}  // namespace
}  // namespace tessera
