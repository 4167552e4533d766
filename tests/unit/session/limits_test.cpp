// What a load and its runs may take: memory by the session's and the environment's options, time until a deadline or a
// flag.

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <memory>

#include "base/memory_budget.h"
#include "endless_loop.h"
#include "error_of.h"
#include "model_builder.h"
#include "runtime/memory/arena.h"
#include "toy_provider.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::ModelBuilder;

constexpr std::string_view kNoError = "no error";

TEST(MemoryBudget, CountsAndRefuses) {
  MemoryBudget budget("some.limit", 1000);
  budget.Charge(600);
  EXPECT_THAT(ErrorOf([&] { budget.Charge(401); }),
              AllOf(HasSubstr("some.limit exceeded"), HasSubstr("401 bytes were asked for"), HasSubstr("600 of 1000")));
  budget.Charge(400);
  EXPECT_EQ(budget.used(), 1000);
  budget.Refund(1000);
  EXPECT_EQ(budget.used(), 0);
  EXPECT_NE(ErrorOf([&] { budget.Charge(std::numeric_limits<size_t>::max()); }), kNoError);
  budget.Extend(500);
  budget.Charge(1500);
  budget.Refund(1500);
}

TEST(MemoryBudget, TheSharedOneHoldsForAll) {
  const auto shared = std::make_shared<MemoryBudget>("shared.limit", 1000);
  MemoryBudget one("one.limit", 0, shared), other("other.limit", 700, shared);
  one.Charge(800);
  EXPECT_THAT(ErrorOf([&] { other.Charge(300); }), HasSubstr("shared.limit"));
  one.Refund(600);
  EXPECT_THAT(ErrorOf([&] { other.Charge(701); }), HasSubstr("other.limit"));
  EXPECT_EQ(shared->used(), 200);
  other.Charge(700);
  EXPECT_EQ(shared->used(), 900);
}

TEST(MemoryBudget, AllocatorsLiveUntilTheirBuffersAndChargesAreGone) {
  const auto budget = std::make_shared<MemoryBudget>("some.limit", 10'000);
  auto allocator = MakeBudgetedAllocator(HostAllocator(), budget);
  auto tensor = std::make_unique<Tensor>(ElementType::kFloat, Shape{100}, *allocator);
  MemoryCharge charge(*allocator, 50);
  charge.Add(50);
  EXPECT_EQ(budget->used(), 500);
  EXPECT_NE(ErrorOf([&] { charge.Add(10'000); }), kNoError);
  EXPECT_EQ(charge.bytes(), 100u);
  allocator.reset();
  tensor.reset();
  EXPECT_EQ(budget->used(), 100);
  charge = MemoryCharge();
  EXPECT_EQ(budget->used(), 0);
}

TEST(MemoryBudget, ArenasCountCharges) {
  const auto budget = std::make_shared<MemoryBudget>("some.limit", 1 << 20);
  auto arena = Arena::Make(MakeBudgetedAllocator(HostAllocator(), budget), {.limit = 4096, .limit_name = "arena.limit"});
  MemoryCharge charge(*arena, 3000);
  EXPECT_EQ(arena->stats().bytes_in_use, 3000);
  EXPECT_EQ(budget->used(), 3000);
  EXPECT_THAT(ErrorOf([&] { arena->Allocate(2000); }), HasSubstr("arena.limit exceeded"));
  void* const buffer = arena->Allocate(1000);
  EXPECT_THAT(ErrorOf([&] { charge.Add(2000); }), HasSubstr("arena.limit exceeded"));
  arena->Free(buffer);
  arena.reset();
  charge = MemoryCharge();
  EXPECT_EQ(budget->used(), 0);
}

/// y = -(-x), of any length.
ModelBuilder Negations() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1}).Output("y", ElementType::kFloat, {-1});
  model.Node("Neg", {"x"}, {"t"}, "first");
  model.Node("Neg", {"t"}, {"y"}, "second");
  return model;
}

Tensor Ones(int64_t size) { return Tensor::Of<float>(Shape{size}, std::vector<float>(static_cast<size_t>(size), 1)); }

SessionOptions Unoptimized() {
  SessionOptions options;
  options.optimization_level = OptimizationLevel::kNone;
  return options;
}

std::string ErrorOfRun(const Session& session, int64_t size, const RunOptions& run = {}) {
  return ErrorOf([&] {
    const std::vector<Value> inputs = {Ones(size)};
    std::vector<Value> results(1);
    session.Run(inputs, results, run);
  });
}

TEST(RunMemoryLimit, NamesNodeSizeAndOptionAndTheSessionWorksOn) {
  for (const bool arena : {true, false}) {
    SessionOptions options = Unoptimized();
    options.enable_arena = arena;
    options.config["session.run_memory_limit"] = "64k";
    const Session session = Negations().Session(options);
    EXPECT_EQ(ErrorOfRun(session, 1000), kNoError);
    EXPECT_THAT(ErrorOfRun(session, 100'000),
                AllOf(HasSubstr("Neg 'first'"), HasSubstr("session.run_memory_limit exceeded"), HasSubstr("400000 bytes")));
    EXPECT_EQ(ErrorOfRun(session, 1000), kNoError) << arena;
  }
}

TEST(RunMemoryLimit, OfTheEnvironmentHoldsForAllItsSessions) {
  EnvironmentOptions shared;
  shared.run_memory_limit = 1 << 20;
  const Environment environment(shared);
  const Session session = Negations().Session(Unoptimized(), environment);
  EXPECT_EQ(ErrorOfRun(session, 1000), kNoError);
  EXPECT_THAT(ErrorOfRun(session, 1 << 20), HasSubstr("EnvironmentOptions::run_memory_limit exceeded"));
  EXPECT_EQ(ErrorOfRun(session, 1000), kNoError);
}

TEST(RunTimeout, EndsARun) {
  const Session session = testing::EndlessLoop().Session();
  RunOptions run;
  run.timeout = std::chrono::milliseconds(20);
  EXPECT_THAT(ErrorOfRun(session, 2, run), AllOf(HasSubstr("RunOptions::timeout"), HasSubstr("20 ms")));
  run.Cancel();
  EXPECT_THAT(ErrorOfRun(session, 2, run), HasSubstr("cancelled"));
}

ErrorCode CodeOfLoad(const SessionOptions& options) {
  try {
    Negations().Session(options);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kOk;
}

TEST(LoadLimits, AFlagCancelsALoad) {
  const auto flag = std::make_shared<std::atomic<bool>>(true);
  SessionOptions options;
  options.load_cancel = flag;
  EXPECT_EQ(CodeOfLoad(options), ErrorCode::kModelLoadCanceled);
  *flag = false;
  EXPECT_EQ(CodeOfLoad(options), ErrorCode::kOk);
}

TEST(LoadLimits, MemoryOfTheGraphCounts) {
  SessionOptions options;
  options.config["session.load_memory_limit"] = "100";
  EXPECT_THAT(ErrorOf([&] { Negations().Session(options); }), HasSubstr("session.load_memory_limit exceeded"));
  options.config["session.load_memory_limit"] = "0";
  EXPECT_EQ(CodeOfLoad(options), ErrorCode::kOk);
}

}  // namespace
}  // namespace tessera
