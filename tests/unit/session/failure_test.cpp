// A failed run names what failed, leaves nothing behind and the session works on.

#include <gmock/gmock.h>

#include <thread>

#include "error_of.h"
#include "model_builder.h"
#include "toy_provider.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::ToVector;

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

/// y = -(-a) * (-b): fails at "product" when the sizes differ, with both operands computed.
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

/// r = Reshape(x, s), whose rank is known at run time only; y = Abs(r).
ModelBuilder AnyRank() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {4})
      .Input("s", ElementType::kInt64, {-1})
      .Output("y", ElementType::kFloat, {-1, -1});
  model.Node("Reshape", {"x", "s"}, {"r"});
  model.Node("Abs", {"r"}, {"y"});
  return model;
}

std::vector<Value> FourFloatsAnd(std::vector<int64_t> shape) {
  return {testing::Floats({4}, {-1, 2, -3, 4}), Tensor::Of<int64_t>({static_cast<int64_t>(shape.size())}, shape)};
}

TEST_P(Failure, ValuesOfAnotherRankThanIsDeclared) {
  ModelBuilder model = AnyRank();
  model.Output("r", ElementType::kFloat, {-1, -1});
  const Session session = model.Session(Options());
  std::vector<Value> results(2);
  session.Run(FourFloatsAnd({2, 2}), results);
  EXPECT_EQ(ToVector(results[0]), std::vector<float>({1, 2, 3, 4}));
  for (const bool bound : {false, true}) {
    results = std::vector<Value>(2);
    if (bound) results[1] = testing::Floats({4}, {0, 0, 0, 0});
    EXPECT_THAT(testing::ErrorOf([&] { session.Run(FourFloatsAnd({4}), results); }),
                HasSubstr("output 'r' has shape [4], but the model declares 2 dimensions"));
  }
  results = std::vector<Value>(2);
  session.Run(FourFloatsAnd({1, 4}), results);
  EXPECT_EQ(ToVector(results[1]), std::vector<float>({-1, 2, -3, 4}));
}

TEST_P(Failure, OutputsThatNobodyReadsMayHaveAnyRank) {
  const Session session = AnyRank().Session(Options());
  std::vector<Value> results(1);
  session.Run(FourFloatsAnd({4}), results);
  EXPECT_EQ(results[0].tensor().shape(), Shape({4}));
}

TEST_P(Failure, NestedGraphsThatDeclareAnotherRank) {
  ModelBuilder model = AnyRank();
  model.Ints("count", {1});
  onnx::AttributeProto& attribute = *model.Node("Loop", {"count", "", "y"}, {"z"}).add_attribute();
  attribute.set_name("body");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto& body = *attribute.mutable_g();
  body.set_name("body");
  ModelBuilder::Declare(body.add_input(), "i", ElementType::kInt64, {});
  ModelBuilder::Declare(body.add_input(), "more", ElementType::kBool, {});
  ModelBuilder::Declare(body.add_input(), "v", ElementType::kFloat, {-1, -1});
  ModelBuilder::AddNode(body, "Identity", {"more"}, {"still"});
  ModelBuilder::AddNode(body, "Neg", {"v"}, {"w"});
  ModelBuilder::Declare(body.add_output(), "still", ElementType::kBool, {});
  ModelBuilder::Declare(body.add_output(), "w", ElementType::kFloat, {-1, -1});
  model.proto().mutable_graph()->clear_output();
  model.Output("z", ElementType::kFloat, {-1, -1});
  const Session session = model.Session(Options());
  std::vector<Value> results(1);
  EXPECT_THAT(testing::ErrorOf([&] { session.Run(FourFloatsAnd({4}), results); }),
              HasSubstr("input 'v' of the nested graph has shape [4], 2 dimensions are declared"));
  session.Run(FourFloatsAnd({2, 2}), results);
  EXPECT_EQ(ToVector(results[0]), std::vector<float>({-1, -2, -3, -4}));
}

/// Nothing to run, and a device that fails all the same: there is no node to name.
TEST(FailureWithoutNodes, IsTold) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("x", ElementType::kFloat, {2});
  for (const ExecutionMode mode : {ExecutionMode::kSequential, ExecutionMode::kParallel}) {
    SessionOptions options = testing::OnToy({{"device", "1"}, {"fail_synchronize", "1"}});
    options.execution_mode = mode;
    const Session session = model.Session(options);
    std::vector<Value> results(1);
    EXPECT_EQ(testing::ErrorOf([&] { session.Run(std::vector<Value>{Threes(2)}, results); }), "the toy hangs");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Executors, Failure,
    ::testing::Values(Setup{.name = "sequential"}, Setup{.name = "unplanned", .memory_pattern = false},
                      Setup{.name = "parallel", .mode = ExecutionMode::kParallel}, Setup{.name = "device", .device = true},
                      Setup{.name = "parallel_device", .mode = ExecutionMode::kParallel, .device = true}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tessera
