// A failed run names what failed, leaves nothing behind and the session works on.

#include <gmock/gmock.h>

#include <thread>

#include "model_builder.h"
#include "toy_provider.h"

namespace tessera {
namespace {

using testing::ModelBuilder;
using testing::ToVector;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct Setup {
  const char* name;
  ExecutionMode mode = ExecutionMode::kSequential;
  bool memory_pattern = true;
  bool device = false;
};

class Failure : public ::testing::TestWithParam<Setup> {
 protected:
  SessionOptions Options() const {
    SessionOptions options;
    options.providers = {{std::string(testing::Toy().name), {{"device", GetParam().device ? "1" : "0"}}}};
    options.execution_mode = GetParam().mode;
    options.enable_memory_pattern = GetParam().memory_pattern;
    options.optimization_level = OptimizationLevel::kNone;
    return options;
  }
};

/// y = -(-a) * (-b): fails at "product" when the sizes differ, with both factors computed.
ModelBuilder Product() {
  ModelBuilder model;
  model.Input("a", ElementType::kFloat, {-1}).Input("b", ElementType::kFloat, {-1}).Output("y", ElementType::kFloat, {-1});
  model.Node("Neg", {"a"}, {"na"});
  model.Node("Neg", {"na"}, {"nna"});
  model.Node("Neg", {"b"}, {"nb"});
  model.Node("Mul", {"nna", "nb"}, {"y"}, "product");
  return model;
}

Tensor Threes(int64_t size) { return Tensor::Of<float>(Shape{size}, std::vector<float>(static_cast<size_t>(size), 3)); }

int64_t BytesInUse(const Session& session) {
  int64_t bytes = 0;
  for (const MemoryUse& use : session.memory_use()) bytes += use.stats.bytes_in_use;
  return bytes;
}

TEST_P(Failure, LeavesNothingBehind) {
  const Session session = Product().Session(Options());
  RunOptions shrink;
  shrink.shrink_arenas = true;
  const auto good = [&](int64_t size) {
    std::vector<Value> results(1);
    session.Run(std::vector<Value>{Threes(size), Threes(size)}, results, shrink);
    EXPECT_EQ(ToVector(results[0]), std::vector<float>(static_cast<size_t>(size), -9));
  };
  good(100);
  const int64_t before = BytesInUse(session);
  for (int i = 0; i < 20; ++i) {
    std::vector<Value> results(1);
    try {
      session.Run(std::vector<Value>{Threes(100 + i), Threes(99)}, results);
      FAIL();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("Mul 'product': shapes differ: "), HasSubstr("[99]")));
    }
    EXPECT_TRUE(results[0].is_none());
  }
  good(100);
  EXPECT_EQ(BytesInUse(session), before);
}

TEST_P(Failure, ManyThreadsFailAndSucceedAtOnce) {
  const Session session = Product().Session(Options());
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&session, t] {
      for (int i = 0; i < 40; ++i) {
        std::vector<Value> results(1);
        const int64_t size = 1 + (t + i) % 7;
        const bool fails = (t + i) % 3 == 0;
        try {
          session.Run(std::vector<Value>{Threes(size), Threes(fails ? size + 1 : size)}, results);
          EXPECT_FALSE(fails);
          EXPECT_EQ(ToVector(results[0]), std::vector<float>(static_cast<size_t>(size), -9));
        } catch (const Error&) {
          EXPECT_TRUE(fails);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(Failure, ThrowingProvidersDoNotLeakSessions) {
  for (int i = 0; i < 5; ++i) {
    ModelBuilder model = Product();
    model.Output("z", ElementType::kFloat, {-1}).Node("NoSuchOperator", {"y"}, {"z"}, "unknown");
    EXPECT_THROW(model.Session(Options()), Error);
  }
}

INSTANTIATE_TEST_SUITE_P(Executors, Failure,
                         ::testing::Values(Setup{.name = "sequential"}, Setup{.name = "unplanned", .memory_pattern = false},
                                           Setup{.name = "parallel", .mode = ExecutionMode::kParallel},
                                           Setup{.name = "device", .device = true},
                                           Setup{.name = "parallel_device", .mode = ExecutionMode::kParallel, .device = true}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tessera
