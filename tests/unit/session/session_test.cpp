#include "tessera/session.h"

#include <gmock/gmock.h>

#include <fstream>
#include <thread>

#include "endless_loop.h"
#include "error_of.h"
#include "model_builder.h"
#include "runtime/threads/thread_pools.h"
#include "session/session_state.h"
#include "toy_provider.h"

namespace tessera {
namespace {

using testing::AddModel;
using ::testing::ElementsAre;
using testing::ErrorOf;
using testing::Floats;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::OnToy;
using testing::ToVector;

TEST(Session, RunsByName) {
  const Session session = AddModel().Session(OnToy());
  const std::vector<std::string> names = {"b", "a"};
  const std::vector<Value> inputs = {Floats({2}, {1, 2}), Floats({2}, {10, 20})};
  const std::vector<Value> outputs = session.Run(names, inputs);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(ToVector(outputs[0]), ElementsAre(11, 22));
}

TEST(Session, RunsByPosition) {
  const Session session = AddModel().Session(OnToy());
  const std::vector<Value> inputs = {Floats({2}, {1, 2}), Floats({2}, {10, 20})};
  std::vector<Value> results(1);
  session.Run(inputs, results);
  EXPECT_THAT(ToVector(results[0]), ElementsAre(11, 22));
  Tensor buffer(ElementType::kFloat, Shape{2});
  results[0] = buffer;
  session.Run(inputs, results);
  EXPECT_THAT(ToVector(buffer), ElementsAre(11, 22));
}

TEST(Session, RunsBound) {
  const Session session = AddModel().Session(OnToy());
  IoBinding binding(session);
  binding.BindInput("a", Floats({2}, {1, 2}));
  binding.BindInput("b", Floats({2}, {3, 4}));
  binding.BindOutput("y");
  session.Run(binding);
  EXPECT_THAT(ToVector(binding.outputs()[0]), ElementsAre(4, 6));
}

TEST(Session, ResultsOutliveTheSession) {
  std::vector<Value> results(1);
  {
    const Session session = AddModel().Session(OnToy());
    session.Run(std::vector<Value>{Floats({2}, {1, 2}), Floats({2}, {1, 1})}, results);
  }
  EXPECT_THAT(ToVector(results[0]), ElementsAre(2, 3));
}

/// Without an arena too, whose raw allocator is the session's provider's.
TEST(Session, DeviceTensorsOutliveTheSession) {
  const MemoryInfo toy{testing::kToyMemory, DeviceType::kGpu, 0, false};
  for (const bool arena : {true, false}) {
    SessionOptions options = OnToy({{"device", "1"}});
    options.enable_arena = arena;
    const int before = testing::Counters().allocators;
    {
      Value result;
      Tensor own;
      {
        const Session session = AddModel().Session(options);
        IoBinding binding(session);
        binding.BindInput("a", Floats({2}, {1, 2}));
        binding.BindInput("b", Floats({2}, {1, 1}));
        binding.BindOutput("y", toy);
        session.Run(binding);
        result = binding.outputs()[0];
        own = Tensor(ElementType::kFloat, Shape{2}, session.allocator(toy));
      }
      EXPECT_EQ(result.tensor().memory(), toy);
      EXPECT_EQ(testing::Counters().allocators, before + 1) << arena;
    }
    EXPECT_EQ(testing::Counters().allocators, before) << arena;
  }
}

TEST(Session, ResultsShareNothingWithInputsOrEachOther) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("x2", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  model.Output("z", ElementType::kFloat, {2}).Output("c", ElementType::kFloat, {2});
  const std::vector<float> constant = {7, 8};
  model.Constant("k", {2}, std::span<const float>(constant));
  model.Node("Identity", {"x"}, {"x2"});
  model.Node("Neg", {"x"}, {"y"});
  model.Node("Identity", {"y"}, {"z"});
  model.Node("Identity", {"k"}, {"c"});
  SessionOptions options = OnToy();
  options.optimization_level = OptimizationLevel::kNone;
  const Session session = model.Session(options);
  const std::vector<Value> inputs = {Floats({2}, {1, 2})};
  for (int run = 0; run < 3; ++run) {
    std::vector<Value> results(4);
    session.Run(inputs, results);
    for (Value& result : results) {
      for (const Value& other : inputs) EXPECT_NE(result.tensor().raw(), other.tensor().raw());
      for (const Value& other : results) EXPECT_TRUE(&other == &result || result.tensor().raw() != other.tensor().raw());
    }
    EXPECT_THAT(ToVector(results[0]), ElementsAre(1, 2));
    EXPECT_THAT(ToVector(results[2]), ElementsAre(-1, -2));
    EXPECT_THAT(ToVector(results[3]), ElementsAre(7, 8));
    for (Value& result : results) result.tensor().mutable_data<float>()[0] = 99;
  }
}

/// What a sequence or a map says of its parts need not be what they are.
TEST(Session, NamesThePartOfAnInputThatIsWrong) {
  const TypeInfo reals = TypeInfo::OfTensor(ElementType::kFloat);
  const std::vector<int64_t> ints = {1, 2};
  const Value good = Floats({2}, {1, 2}), wrong = Tensor::Of<int64_t>(Shape{2}, ints);
  ModelBuilder model;
  auto& input = *model.proto().mutable_graph()->add_input();
  input.set_name("x");
  auto& elements = *input.mutable_type()->mutable_sequence_type()->mutable_elem_type();
  elements.mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  model.Output("y", ElementType::kInt64, {});
  model.Node("SequenceLength", {"x"}, {"y"});
  const Session session = model.Session();
  const auto run = [&](std::vector<Value> parts) {
    std::vector<Value> results(1);
    return ErrorOf([&] { session.Run(std::vector<Value>{Sequence{reals, std::move(parts)}}, results); });
  };
  EXPECT_EQ(run({good, good}), "no error");
  EXPECT_EQ(run({good, wrong}),
            "input 'x' is seq(tensor(float)) whose element 1 is tensor(int64), but the model expects seq(tensor(float))");
  EXPECT_EQ(run({Value()}),
            "input 'x' is seq(tensor(float)) whose element 0 is nothing, but the model expects seq(tensor(float))");
}

TEST(Session, NamesWhatIsWrongWithInputs) {
  const Session session = AddModel().Session(OnToy());
  const std::vector<std::string> both = {"a", "b"};
  const std::vector<std::string> wrong = {"a", "c"};
  const Value good = Floats({2}, {1, 2});
  const auto run = [&](const std::vector<std::string>& names, std::vector<Value> values,
                       std::vector<std::string> outputs = {}) {
    return ErrorOf([&] { session.Run(names, values, outputs); });
  };
  EXPECT_EQ(run(wrong, {good, good}), "the model has no input 'c' (inputs: a, b)");
  EXPECT_EQ(run({"a"}, {good}), "input 'b' is missing: give tensor(float) [2]");
  EXPECT_EQ(run({"a", "a"}, {good, good}), "input 'a' is given twice; give it once");
  EXPECT_EQ(run(both, {good, good}, {"z"}), "the model has no output 'z' (outputs: y)");
  EXPECT_EQ(run(both, {good, good}, {"y", "y"}), "output 'y' is asked for twice; ask once");
  EXPECT_EQ(run(both, {good, Floats({3}, {1, 2, 3})}), "input 'b' has shape [3], but the model expects [2]");
  EXPECT_EQ(run(both, {good, Floats({1, 2}, {1, 2})}), "input 'b' has shape [1,2], but the model expects [2]");
  const std::vector<int32_t> ints = {1, 2};
  EXPECT_EQ(run(both, {good, Tensor::Of<int32_t>(Shape{2}, ints)}), "input 'b' is int32, but the model expects float");
  EXPECT_EQ(run(both, {good, Value()}), "input 'b' is nothing, but the model expects tensor(float)");
  std::vector<Value> results = {Floats({3}, {0, 0, 0})};
  EXPECT_EQ(ErrorOf([&] { session.Run(std::vector<Value>{good, good}, results); }),
            "Add 'sum': output 'y' is float [2], but the buffer given for it is float [3]; give one that fits, or none; "
            "inputs: a float[2], b float[2]");
  EXPECT_THAT(ToVector(session.Run(both, std::vector<Value>{good, good})[0]), ElementsAre(2, 4));  // still works
}

TEST(Session, NamesTheNodeOfAnError) {
  ModelBuilder model;
  model.Input("a", ElementType::kFloat, {-1}).Input("b", ElementType::kFloat, {-1}).Output("y", ElementType::kFloat, {-1});
  model.Node("Add", {"a", "b"}, {"y"}, "sum");
  const Session session = model.Session(OnToy());
  const std::vector<Value> bad = {Floats({2}, {1, 2}), Floats({3}, {1, 2, 3})};
  std::vector<Value> results(1);
  EXPECT_EQ(ErrorOf([&] { session.Run(bad, results); }),
            "Add 'sum': shapes differ: [2] and [3]; inputs: a float[2], b float[3]");
}

TEST(Session, ListsConfigurationKeys) {
  SessionOptions options = OnToy();
  options.config["session.nonsense"] = "1";
  EXPECT_THAT(ErrorOf([&] { AddModel().Session(options); }), HasSubstr("'session.nonsense' (allowed: session.precision"));
  options = OnToy();
  options.config["session.intra_op.allow_spinning"] = "maybe";
  EXPECT_THAT(ErrorOf([&] { AddModel().Session(options); }), HasSubstr("is 'maybe', expected true or false"));
}

/// y = -slow(x), where slow waits until the run is cancelled.
ModelBuilder SlowModel() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  model.Node("Softsign", {"x"}, {"t"}, "slow");
  model.Node("Neg", {"t"}, {"y"}, "after");
  return model;
}

void WaitForSlowKernel(int before) {
  while (testing::Counters().slow_computes == before) std::this_thread::yield();
}

TEST(Session, CancelStopsARun) {
  for (const ExecutionMode mode : {ExecutionMode::kSequential, ExecutionMode::kParallel}) {
    SessionOptions on_toy = OnToy();
    on_toy.execution_mode = mode;
    const Session session = SlowModel().Session(on_toy);
    RunOptions options;
    const int before = testing::Counters().slow_computes;
    std::thread canceller([&] {
      WaitForSlowKernel(before);
      options.Cancel();
    });
    std::vector<Value> results(1);
    const std::vector<Value> inputs = {Floats({2}, {1, 2})};
    EXPECT_THAT(ErrorOf([&] { session.Run(inputs, results, options); }), HasSubstr("Neg 'after': the run was cancelled"));
    canceller.join();
    EXPECT_THAT(ErrorOf([&] { session.Run(inputs, results, options); }),
                HasSubstr("Softsign 'slow': the run was cancelled"));
    EXPECT_TRUE(results[0].is_none());
  }
}

TEST(Session, CancelStopsOnlyItsOwnRuns) {
  const Session session = SlowModel().Session(OnToy());
  const std::vector<Value> inputs = {Floats({2}, {1, 2})};
  const int before = testing::Counters().slow_computes;
  RunOptions first, second;
  std::atomic<int> cancelled = 0;
  const auto run = [&](RunOptions& options) {
    std::vector<Value> results(1);
    EXPECT_THAT(ErrorOf([&] { session.Run(inputs, results, options); }), HasSubstr("cancelled"));
    ++cancelled;
  };
  std::thread one([&] { run(first); });
  std::thread other([&] { run(second); });
  while (testing::Counters().slow_computes < before + 2) std::this_thread::yield();
  first.Cancel();
  one.join();
  EXPECT_EQ(cancelled, 1);
  second.Cancel();
  other.join();
}

TEST(Session, CancelStopsALoop) {
  const Session session = testing::EndlessLoop().Session(OnToy());
  RunOptions options;
  const int before = testing::Counters().computes;
  std::thread canceller([&] {
    while (testing::Counters().computes < before + 10) std::this_thread::yield();
    options.Cancel();
  });
  std::vector<Value> results(1);
  EXPECT_THAT(ErrorOf([&] { session.Run(std::vector<Value>{Floats({2}, {1, 2})}, results, options); }),
              ::testing::AllOf(HasSubstr("Loop 'loop': "), HasSubstr("the run was cancelled")));
  canceller.join();
}

TEST(Session, RefusesATraceThatCannotBeWritten) {
  SessionOptions options = OnToy();
  options.profile_prefix = "/nonexistent/trace";
  EXPECT_THAT(ErrorOf([&] { AddModel().Session(options); }),
              HasSubstr("the profile cannot be written to /nonexistent/trace"));
}

TEST(Session, ManyThreadsRunAtOnce) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1}).Output("y", ElementType::kFloat, {-1});
  model.Node("Neg", {"x"}, {"a"});
  model.Node("Add", {"a", "x"}, {"b"});
  model.Node("Add", {"b", "x"}, {"c"});
  model.Node("Mul", {"c", "c"}, {"y"});
  for (const ExecutionMode mode : {ExecutionMode::kSequential, ExecutionMode::kParallel}) {
    SessionOptions options = OnToy();
    options.execution_mode = mode;
    const Session session = model.Session(options);
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&session, t] {
        for (int run = 0; run < 50; ++run) {
          const auto size = static_cast<size_t>(1 + (t + run) % 20);  // more shapes than plans are kept
          const Tensor x = Tensor::Of<float>(Shape{static_cast<int64_t>(size)}, std::vector<float>(size, 3));
          std::vector<Value> results(1);
          session.Run(std::vector<Value>{x}, results);
          EXPECT_EQ(ToVector(results[0]), std::vector<float>(size, 9));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(Session, OverTheMemoryLimitIsAnErrorAndNotTheEnd) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1}).Output("y", ElementType::kFloat, {-1});
  model.Node("Neg", {"x"}, {"t"}, "first");
  model.Node("Neg", {"t"}, {"y"}, "second");
  SessionOptions options = OnToy();
  options.arena = {.extend = ArenaExtendStrategy::kSameAsRequested, .limit = 1 << 20};
  const Session session = model.Session(options);
  std::vector<Value> results(1);
  const auto run = [&](int64_t size) {
    results[0] = Value();
    session.Run(std::vector<Value>{Tensor::Of<float>(Shape{size}, std::vector<float>(static_cast<size_t>(size), 1))},
                results);
  };
  run(1000);
  EXPECT_THAT(
      ErrorOf([&] { run(1 << 20); }),
      ::testing::AllOf(HasSubstr("Neg 'first': cpu_mem_limit exceeded: 4194304 bytes"), HasSubstr("of 1048576 bytes")));
  run(1000);
  EXPECT_EQ(results[0].tensor().num_elements(), 1000);
}

/// What runs at once have taken lies idle afterwards: a larger run gets it before the limit is an error.
TEST(Session, IdleMemoryCountsNotAgainstTheLimit) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1}).Output("y", ElementType::kFloat, {-1});
  model.Node("Neg", {"x"}, {"t"});
  model.Node("Neg", {"t"}, {"y"});
  SessionOptions options = OnToy();
  options.optimization_level = OptimizationLevel::kNone;
  options.arena = {.extend = ArenaExtendStrategy::kSameAsRequested, .limit = 1200 << 10};
  const Session session = model.Session(options);
  const auto run = [&](int64_t kib) {
    const std::vector<float> ones(static_cast<size_t>(kib) << 8, 1);
    std::vector<Value> results(1);
    session.Run(std::vector<Value>{Tensor::Of<float>(Shape{static_cast<int64_t>(ones.size())}, ones)}, results);
    return results[0].tensor().data<float>()[0];
  };
  Executor& executor = *session.state()->model->executor;
  for (int i = 0; i < 2; ++i) run(128);
  {
    const Executor::Lease first(executor);
    run(128);
    const Executor::Lease second(executor);
    run(128);
    const Executor::Lease third(executor);
    run(128);
  }
  ASSERT_GE(session.memory_use()[0].stats.bytes_in_use, 4 * 128 << 10);
  EXPECT_EQ(run(896), 1);
}

TEST(Session, OverridableInitializers) {
  ModelBuilder model = AddModel();
  const std::vector<float> defaults = {5, 6};
  model.Constant("b", {2}, std::span<const float>(defaults));
  const Session session = model.Session(OnToy());
  ASSERT_EQ(session.inputs().size(), 1u);
  ASSERT_EQ(session.overridable_initializers().size(), 1u);
  const Value x = Floats({2}, {1, 2});
  EXPECT_THAT(ToVector(session.Run(std::vector<std::string>{"a"}, std::vector<Value>{x})[0]), ElementsAre(6, 8));
  EXPECT_THAT(ToVector(session.Run(std::vector<std::string>{"a", "b"}, std::vector<Value>{x, x})[0]), ElementsAre(2, 4));
  EXPECT_THAT(ToVector(session.Run(std::vector<std::string>{"a"}, std::vector<Value>{x})[0]), ElementsAre(6, 8));
}

TEST(Session, ShrinkGivesMemoryBack) {
  ModelBuilder model;
  model.Input("a", ElementType::kFloat, {-1}).Input("b", ElementType::kFloat, {-1}).Output("y", ElementType::kFloat, {-1});
  model.Node("Neg", {"a"}, {"t"});
  model.Node("Add", {"t", "b"}, {"y"});
  const Session session = model.Session(OnToy());
  RunOptions shrink;
  shrink.shrink_arenas = true;
  std::vector<Value> results = {Floats({2}, {0, 0})};  // not of the arena
  const std::vector<Value> good = {Floats({2}, {1, 2}), Floats({2}, {1, 1})},
                           bad = {Floats({2}, {1, 2}), Floats({3}, {1, 1, 1})};
  for (int i = 0; i < 3; ++i) session.Run(good, results);
  EXPECT_GT(session.memory_use()[0].stats.bytes_reserved, 0);
  session.Run(good, results, shrink);
  EXPECT_EQ(session.memory_use()[0].stats.bytes_reserved, 0);
  session.Run(good, results);
  EXPECT_GT(session.memory_use()[0].stats.bytes_reserved, 0);
  EXPECT_THAT(ErrorOf([&] { session.Run(bad, results, shrink); }), HasSubstr("shapes differ"));
  EXPECT_EQ(session.memory_use()[0].stats.bytes_reserved, 0);
}

TEST(Session, ParallelBranchesRunAtTheSameTime) {
  if (UsableCores() < 2) GTEST_SKIP() << "one core has one thread between operators";
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2});
  for (const char* name : {"y", "z"}) {
    model.Output(name, ElementType::kFloat, {2});
    model.Node("Softplus", {"x"}, {name});
  }
  SessionOptions options = OnToy();
  options.execution_mode = ExecutionMode::kParallel;
  options.inter_op_threads = 2;
  options.optimization_level = OptimizationLevel::kNone;  // equal nodes would become one
  std::vector<Value> results(2);
  model.Session(options).Run(std::vector<Value>{Floats({2}, {1, 2})}, results);
  for (const Value& result : results) EXPECT_THAT(ToVector(result), ElementsAre(1, 1));
}

}  // namespace
}  // namespace tessera
