#include "tessera/session.h"

#include <gmock/gmock.h>

#include "model_builder.h"

namespace tessera {
namespace {

using testing::Floats;
using testing::ModelBuilder;
using testing::ToVector;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelBuilder AddModel() {
  ModelBuilder model;
  model.Input("a", ElementType::kFloat, {2}).Input("b", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  model.Node("Add", {"a", "b"}, {"y"}, "sum");
  return model;
}

TEST(Session, RunsByName) {
  const Session session = AddModel().Session();
  const std::vector<std::string> names = {"b", "a"};
  const std::vector<Value> inputs = {Floats({2}, {1, 2}), Floats({2}, {10, 20})};
  const std::vector<Value> outputs = session.Run(names, inputs);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(ToVector(outputs[0]), ElementsAre(11, 22));
}

TEST(Session, RunsByPosition) {
  const Session session = AddModel().Session();
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
  const Session session = AddModel().Session();
  IoBinding binding(session);
  binding.BindInput("a", Floats({2}, {1, 2}));
  binding.BindInput("b", Floats({2}, {3, 4}));
  binding.BindOutput("y");
  session.Run(binding);
  EXPECT_THAT(ToVector(binding.outputs()[0]), ElementsAre(4, 6));
}

}  // namespace
}  // namespace tessera
