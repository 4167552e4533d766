#include "runtime/plan/memory_plan.h"

#include <gmock/gmock.h>

#include "model_builder.h"

namespace tessera {
namespace {

using ::testing::ElementsAreArray;
using testing::ModelBuilder;

SessionOptions Unoptimized() {
  SessionOptions options;
  options.optimization_level = OptimizationLevel::kNone;
  options.intra_op_threads = 1;
  return options;
}

/// The plan of a model is for its inputs' shapes; sizes that depend on their data change under it.
TEST(MemoryPlan, DataDependentSizesDoNotOverwriteWhatIsRead) {
  constexpr int64_t kWidth = 300;
  ModelBuilder model;
  const std::vector<float> tens(2 * kWidth, 10);
  const std::vector<int64_t> start = {0};
  model.Input("x", ElementType::kFloat, {2, kWidth}).Input("end", ElementType::kInt64, {1});
  model.Output("y", ElementType::kFloat, {2, kWidth});
  model.Constant("tens", {2, kWidth}, std::span<const float>(tens)).Constant("start", {1}, std::span<const int64_t>(start));
  model.Node("Neg", {"x"}, {"n"});
  model.Node("Slice", {"n", "start", "end"}, {"c"});
  model.Node("Neg", {"c"}, {"d"});  // two rows, or one that broadcasts
  model.Node("Add", {"d", "tens"}, {"s"});
  model.Node("Neg", {"s"}, {"y"});
  const Session session = model.Session(Unoptimized());
  const Tensor x = Tensor::Of<float>(Shape{2, kWidth}, std::vector<float>(2 * kWidth, 1));
  for (const int64_t rows : {2, 1, 2, 1}) {
    std::vector<Value> results(1);
    session.Run(std::vector<Value>{x, Tensor::Of<int64_t>(Shape{1}, std::span<const int64_t>(&rows, 1))}, results);
    EXPECT_EQ(testing::ToVector(results[0]), std::vector<float>(2 * kWidth, -11)) << rows << " rows";
  }
}

TEST(MemoryPlan, ShapeSetsHaveTheirOwnPlans) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, -1}).Output("y", ElementType::kFloat, {-1, -1});
  std::string last = "x";
  for (int i = 0; i < 6; ++i) {
    model.Node("Transpose", {last}, {"t" + std::to_string(i)});
    last = "t" + std::to_string(i);
  }
  model.Node("Add", {last, "x"}, {"y"});
  const Session session = model.Session(Unoptimized());
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (int64_t rows = 1; rows < 30; ++rows) {  // more than are kept
      const Shape shape{rows, 31 - rows};
      std::vector<float> values(static_cast<size_t>(shape.num_elements())), twice(values.size());
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i), twice[i] = 2 * values[i];
      std::vector<Value> results(1);
      session.Run(std::vector<Value>{Tensor::Of<float>(shape, values)}, results);
      EXPECT_EQ(results[0].tensor().shape(), shape);
      EXPECT_EQ(testing::ToVector(results[0]), twice);
    }
  }
  // Six transposes in a row need two buffers: the plan reuses them.
  const int64_t before = session.memory_use()[0].stats.bytes_in_use;
  EXPECT_LE(before, 4 * 31 * 31 * static_cast<int64_t>(sizeof(float)));
}

/// Its buffers, taken one by one, would lie idle beside the block that the next run takes.
TEST(MemoryPlan, TheRunThatLearnsItGivesItsBuffersBack) {
  constexpr int64_t kElements = 1 << 20;
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, -1}).Output("y", ElementType::kFloat, {-1, -1});
  model.Node("Transpose", {"x"}, {"a"});
  model.Node("Transpose", {"a"}, {"b"});
  model.Node("Add", {"b", "x"}, {"c"});
  model.Node("ReduceMax", {"c"}, {"y"});
  const Session session = model.Session(Unoptimized());
  const std::vector<Value> inputs = {Tensor::Of<float>(Shape{1, kElements}, std::vector<float>(kElements, 1))};
  std::vector<Value> results = {Tensor(ElementType::kFloat, Shape{1, 1})};  // none of the session's memory
  session.Run(inputs, results);
  EXPECT_LT(session.memory_use()[0].stats.bytes_reserved, kElements);
  session.Run(inputs, results);
  EXPECT_EQ(testing::ToVector(results[0]), std::vector<float>(1, 2));
}

}  // namespace
}  // namespace tessera
