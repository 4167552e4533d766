// Sessions on OpenCL under strain: many threads, changing shapes, too little memory, cancelled runs.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "model_builder.h"
#include "providers/opencl_device.h"
#include "providers/opencl_models.h"
#include "tessera/session.h"

namespace tessera::testing {
namespace {

using ::testing::AnyOf;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr float kTolerance = 1e-4f;

class OpenclRobustness : public OnDevice<> {
 protected:
  static Value Sentences(int64_t batch, unsigned seed) {
    return Floats({batch, 5, 16}, Random(static_cast<size_t>(batch) * 80, seed));
  }
  static Value Images(unsigned seed) { return Floats({2, 3, 17, 15}, Random(2 * 3 * 17 * 15, seed)); }

  static std::vector<float> Result(const Session& session, const Value& input, const RunOptions& options = {}) {
    std::vector<Value> results(1);
    session.Run(std::vector<Value>{input}, results, options);
    return ToVector(results[0]);
  }
};

TEST_F(OpenclRobustness, ThreadsRunManyShapesOfOneSession) {
  const Session session = Transformer().Session(PlainOn(kOpencl)), cpu = Transformer().Session(PlainOn("cpu"));
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 24; ++i) {
        const Value input = Sentences((t * 7 + i * 5) % 11, t * 100 + i);  // none, too
        EXPECT_THAT(Result(session, input), Pointwise(FloatNear(kTolerance), Result(cpu, input))) << t << " " << i;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(OpenclRobustness, SessionsComeAndGoInManyThreads) {
  ModelBuilder cnn = Cnn(), transformer = Transformer();
  const std::string models[] = {cnn.bytes(), transformer.bytes()};
  const Value inputs[] = {Images(1), Sentences(3, 2)};
  std::vector<float> expected[2];
  const auto make = [&](size_t i, const char* provider) {
    SessionOptions options = On(provider);
    options.config["session.min_island_nodes"] = "0";
    return Session(std::as_bytes(std::span(models[i])), options);
  };
  for (size_t i = 0; i < 2; ++i) expected[i] = Result(make(i, "cpu"), inputs[i]);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = t; i < t + 6; ++i) {
        EXPECT_THAT(Result(make(i % 2, kOpencl), inputs[i % 2]), Pointwise(FloatNear(kTolerance), expected[i % 2]));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// From too little for weights to enough for all: a result is right, or the error says what to raise, and small inputs go
/// on working.
TEST_F(OpenclRobustness, WhateverTheLimitResultsAreRightOrTheErrorNamesIt) {
  const Session cpu = Transformer().Session(PlainOn("cpu"));
  const Value small = Sentences(1, 1), large = Sentences(1000, 2);
  const std::vector<float> expected_small = Result(cpu, small), expected_large = Result(cpu, large);
  int failed = 0, worked = 0;
  for (const char* strategy : {"kNextPowerOfTwo", "kSameAsRequested"}) {
    for (int64_t limit = 1024; limit <= int64_t{64} << 20; limit *= 4) {
      SCOPED_TRACE(fmt::format("{} bytes, {}", limit, strategy));
      SessionOptions options =
          PlainOn(kOpencl, {{"gpu_mem_limit", std::to_string(limit)}, {"arena_extend_strategy", strategy}});
      options.error_on_failure = false;
      options.config["session.min_island_nodes"] = "0";
      const Session session = Transformer().Session(options);
      for (int i = 0; i < 2; ++i) {
        for (const auto& [input, expected] : {std::pair(&small, &expected_small), std::pair(&large, &expected_large)}) {
          try {
            EXPECT_THAT(Result(session, *input), Pointwise(FloatNear(kTolerance), *expected));
            ++worked;
          } catch (const Error& error) {
            EXPECT_THAT(error.what(), HasSubstr("gpu_mem_limit"));
            ++failed;
          }
        }
      }
    }
  }
  EXPECT_GT(failed, 0);
  EXPECT_GT(worked, failed);
}

TEST_F(OpenclRobustness, CancelledRunsEndAndTheSessionGoesOn) {
  ModelBuilder model;
  constexpr int kMatMuls = 100;
  model.Input("x", ElementType::kFloat, {128, 128}).Output("y", ElementType::kFloat, {128, 128});
  model.Constant("w", {128, 128}, Random(16384, 1, -0.05f, 0.05f));
  for (int i = 0; i < kMatMuls; ++i) {
    model.Node("MatMul", {i == 0 ? "x" : fmt::format("p{}", i), "w"}, {fmt::format("m{}", i)});
    model.Node("Tanh", {fmt::format("m{}", i)}, {i + 1 == kMatMuls ? "y" : fmt::format("p{}", i + 1)});
  }
  const Session session = model.Session(PlainOn(kOpencl));
  const Value input = Floats({128, 128}, Random(16384, 2));
  const std::vector<float> expected = Result(session, input);
  for (int i = 0; i < 6; ++i) {
    RunOptions options;
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(100 << i));
      options.Cancel();
    });
    try {
      EXPECT_EQ(Result(session, input, options), expected);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), AnyOf(HasSubstr("cancel"), HasSubstr("Cancel")));
    }
    canceller.join();
    EXPECT_THROW(Result(session, input, options), Error);
    EXPECT_EQ(Result(session, input), expected);
  }
}

}  // namespace
}  // namespace tessera::testing
