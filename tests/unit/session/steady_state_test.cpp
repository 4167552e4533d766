// A run that looks like the one before it touches the heap no more.

#ifdef TESSERA_COUNTS_ALLOCATIONS

#include <gmock/gmock.h>

#include "allocation_count.h"
#include "model_builder.h"

namespace tessera {
namespace {

using perf::AllocationCount;
using testing::Floats;
using testing::ModelBuilder;

/// y = x + x + ... + x.
ModelBuilder Chain(int nodes, std::initializer_list<int64_t> dims) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, dims).Output("y", ElementType::kFloat, dims);
  std::string last = "x";
  for (int i = 0; i < nodes; ++i) {
    const std::string next = i + 1 == nodes ? "y" : "v" + std::to_string(i);
    model.Node("Add", {last, "x"}, {next});
    last = next;
  }
  return model;
}

SessionOptions OnThreads(int threads) {
  SessionOptions options;
  options.intra_op_threads = threads;
  return options;
}

int64_t AllocationsOfTenRuns(const Session& session, std::span<const Value> inputs, std::span<Value> results) {
  for (int i = 0; i < 5; ++i) session.Run(inputs, results);
  const int64_t before = AllocationCount();
  for (int i = 0; i < 10; ++i) session.Run(inputs, results);
  return AllocationCount() - before;
}

TEST(SteadyState, ChainsAllocateNothing) {
  for (const int threads : {1, 2}) {
    const Session session = Chain(100, {}).Session(OnThreads(threads));
    const std::vector<Value> inputs = {Floats({}, {1})};
    std::vector<Value> results(1);
    EXPECT_EQ(AllocationsOfTenRuns(session, inputs, results), 0) << threads << " threads";
    EXPECT_EQ(testing::ToVector(results[0])[0], 101);
  }
}

TEST(SteadyState, DynamicShapesAllocateNothing) {
  const Session session = Chain(20, {-1, -1}).Session(OnThreads(2));
  std::vector<Value> results(1);
  for (const int64_t size : {3, 300}) {
    const std::vector<Value> inputs = {
        Tensor::Of<float>(Shape{size, size}, std::vector<float>(static_cast<size_t>(size * size), 2))};
    results[0] = Value();
    EXPECT_EQ(AllocationsOfTenRuns(session, inputs, results), 0) << size;
    EXPECT_EQ(testing::ToVector(results[0])[0], 42);
  }
}

TEST(SteadyState, BoundRunsAllocateNothing) {
  const Session session = Chain(20, {2}).Session(OnThreads(1));
  IoBinding binding(session);
  binding.BindInput("x", Floats({2}, {1, 2}));
  binding.BindOutput("y", Tensor(ElementType::kFloat, Shape{2}));
  for (int i = 0; i < 5; ++i) session.Run(binding);
  const int64_t before = AllocationCount();
  for (int i = 0; i < 10; ++i) session.Run(binding);
  EXPECT_EQ(AllocationCount() - before, 0);
}

TEST(SteadyState, NothingIsMeasuredOnceATraceIsWritten) {
  SessionOptions options = OnThreads(1);
  options.profile_prefix = std::filesystem::path(::testing::TempDir()) / "finished";
  Session session = Chain(20, {2}).Session(options);
  const std::vector<Value> inputs = {Floats({2}, {1, 2})};
  std::vector<Value> results(1);
  session.Run(inputs, results);
  std::filesystem::remove(session.EndProfiling());
  EXPECT_EQ(AllocationsOfTenRuns(session, inputs, results), 0);
}

/// y = the sum of the indices of x that are not zero, of which there are more or fewer in each run.
TEST(SteadyState, ShapesThatDependOnValuesAllocateNothing) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1000}).Output("y", ElementType::kFloat, {});
  model.Node("NonZero", {"x"}, {"indices"});
  auto& cast = model.Node("Cast", {"indices"}, {"numbers"});
  cast.add_attribute()->set_name("to");
  cast.mutable_attribute(0)->set_type(onnx::AttributeProto::INT);
  cast.mutable_attribute(0)->set_i(onnx::TensorProto::FLOAT);
  model.Node("Unique", {"numbers"}, {"u"});
  auto& sum = model.Node("ReduceSum", {"u"}, {"y"});
  sum.add_attribute()->set_name("keepdims");
  sum.mutable_attribute(0)->set_type(onnx::AttributeProto::INT);
  const Session session = model.Session(OnThreads(2));
  std::vector<Value> inputs = {Floats({1000}, std::vector<float>(1000, 0))}, results(1);
  const std::span<float> x = inputs[0].tensor().mutable_values<float>();
  const auto run = [&](size_t ones) {
    std::fill_n(x.begin(), ones, 1.0f);
    std::fill(x.begin() + static_cast<std::ptrdiff_t>(ones), x.end(), 0.0f);
    session.Run(inputs, results);
    return results[0].tensor().values<float>()[0];
  };
  for (const size_t ones : {1000, 0, 500, 1, 1000}) run(ones);
  const int64_t before = AllocationCount();
  const float few = run(3), none = run(0), many = run(1000), some = run(40);
  EXPECT_EQ(AllocationCount() - before, 0);
  EXPECT_EQ(few, 3);
  EXPECT_EQ(none, 0);
  EXPECT_EQ(many, 999 * 500);
  EXPECT_EQ(some, 39 * 20);
}

TEST(SteadyState, LayersAllocateNothing) {
  ModelBuilder model;
  const std::vector<float> weights(2 * 3 * 3 * 3, 0.5f), matrix(32 * 5, 0.25f);
  model.Input("x", ElementType::kFloat, {1, 3, 4, 4}).Output("y", ElementType::kFloat, {1, 5});
  model.Constant("w", {2, 3, 3, 3}, std::span<const float>(weights)).Constant("m", {32, 5}, std::span<const float>(matrix));
  auto& conv = model.Node("Conv", {"x", "w"}, {"c"});
  auto* pads = conv.add_attribute();
  pads->set_name("pads");
  pads->set_type(onnx::AttributeProto::INTS);
  for (int i = 0; i < 4; ++i) pads->add_ints(1);
  model.Node("Relu", {"c"}, {"r"});
  model.Node("Flatten", {"r"}, {"f"});
  model.Node("MatMul", {"f", "m"}, {"p"});
  model.Node("Softmax", {"p"}, {"y"});
  for (const int threads : {1, 2}) {
    const Session session = model.Session(OnThreads(threads));
    const std::vector<Value> inputs = {Tensor::Of<float>(Shape{1, 3, 4, 4}, std::vector<float>(48, 1))};
    std::vector<Value> results(1);
    EXPECT_EQ(AllocationsOfTenRuns(session, inputs, results), 0) << threads << " threads";
  }
}

}  // namespace
}  // namespace tessera

#endif
