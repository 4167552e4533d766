// Applications run sessions on threads whose stacks are smaller than a main thread's.

#include <gtest/gtest.h>
#include <pthread.h>

#include "attributes.h"
#include "model_builder.h"
#include "waves.h"

namespace tessera {
namespace {

using testing::ModelBuilder;
using testing::Waves;

/// Calls run() on a thread with `bytes` of stack.
template <class Run>
void OnStackOf(size_t bytes, Run run) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  pthread_t thread;
  const auto enter = [](void* argument) -> void* {
    (*static_cast<Run*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, enter, &run), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

/// On a small stack the model gives what it gives here.
void ExpectTheSame(const ModelBuilder& model, const std::vector<Value>& inputs) {
  constexpr size_t kStack = size_t{512} << 10;
  SessionOptions options;
  options.intra_op_threads = 1;
  const Session session = model.Session(options);
  std::vector<Value> expected(1), given(1);
  session.Run(inputs, expected);
  OnStackOf(kStack, [&] { session.Run(inputs, given); });
  EXPECT_EQ(testing::ToVector(given[0]), testing::ToVector(expected[0]));
}

/// A product of 300 x 400 x 500, whose factors come as `a` and `b` or as inputs where they are empty.
ModelBuilder Product(bool constant, bool transposed) {
  ModelBuilder model;
  model.Input("a", ElementType::kFloat, transposed ? std::vector<int64_t>{400, 300} : std::vector<int64_t>{300, 400});
  if (constant) {
    model.Floats("b", {400, 500}, Waves(400 * 500, 0.3f, 1));
  } else {
    model.Input("b", ElementType::kFloat, {400, 500});
  }
  model.Output("y", ElementType::kFloat, {300, 500});
  testing::Int(model.Node("Gemm", {"a", "b"}, {"y"}), "transA", transposed ? 1 : 0);
  return model;
}

TEST(SmallStack, HoldsProducts) {
  for (const bool constant : {false, true}) {
    for (const bool transposed : {false, true}) {
      std::vector<Value> inputs;
      inputs.push_back(Tensor::Of<float>(transposed ? Shape{400, 300} : Shape{300, 400}, Waves(300 * 400, 0.7f, 1)));
      if (!constant) inputs.push_back(Tensor::Of<float>(Shape{400, 500}, Waves(400 * 500, 0.3f, 1)));
      ExpectTheSame(Product(constant, transposed), inputs);
    }
  }
}

TEST(SmallStack, HoldsConvolutions) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 3, 64, 64});
  model.Floats("v", {64, 3, 5, 5}, Waves(64 * 75, 0.3f, 0.1f)).Floats("w", {64, 64, 7, 7}, Waves(64 * 64 * 49, 0.7f, 0.02f));
  model.Node("Conv", {"x", "v"}, {"h"});
  model.Node("Conv", {"h", "w"}, {"y"});
  model.Output("y", ElementType::kFloat, {1, 64, 54, 54});
  const std::vector<Value> inputs = {Tensor::Of<float>(Shape{1, 3, 64, 64}, Waves(3 * 64 * 64, 0.1f, 1))};
  ExpectTheSame(model, inputs);
}

}  // namespace
}  // namespace tessera
