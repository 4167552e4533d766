// What applications do wrong with the API is an error that says so, and what they hold afterwards still works.

#include <gmock/gmock.h>

#include <memory>

#include "error_of.h"
#include "model_builder.h"

namespace tessera {
namespace {

using testing::AddModel;
using ::testing::ElementsAre;
using testing::ErrorOf;
using testing::Floats;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::ToVector;

const MemoryInfo kElsewhere = {"Elsewhere", DeviceType::kGpu, 0, false};

std::vector<Value> TwoInputs() { return {Floats({2}, {1, 2}), Floats({2}, {10, 20})}; }

std::vector<float> SumOf(const Session& session) {
  std::vector<Value> results(1);
  session.Run(TwoInputs(), results);
  return ToVector(results[0]);
}

TEST(Misuse, SessionsThatWereMovedFrom) {
  Session from = AddModel().Session();
  const std::vector<NamedType>* inputs = &from.inputs();
  IoBinding binding(from);
  Session to = std::move(from);
  EXPECT_EQ(&to.inputs(), inputs);  // what accessors refer to moves along
  const auto error = HasSubstr("the session was moved from");
  std::vector<Value> results(1);
  // NOLINTBEGIN: use after move
  EXPECT_THAT(ErrorOf([&] { from.Run(TwoInputs(), results); }), error);
  EXPECT_THAT(ErrorOf([&] { from.Run(std::vector<std::string>{"a", "b"}, TwoInputs()); }), error);
  EXPECT_THAT(ErrorOf([&] { from.Run(binding); }), error);
  EXPECT_THAT(ErrorOf([&] { from.inputs(); }), error);
  EXPECT_THAT(ErrorOf([&] { from.overridable_initializers(); }), error);
  EXPECT_THAT(ErrorOf([&] { from.metadata(); }), error);
  EXPECT_THAT(ErrorOf([&] { from.placement(); }), error);
  EXPECT_THAT(ErrorOf([&] { from.memory_use(); }), error);
  EXPECT_THAT(ErrorOf([&] { from.providers(); }), error);
  EXPECT_THAT(ErrorOf([&] { from.allocator({}); }), error);
  EXPECT_THAT(ErrorOf([&] { from.EndProfiling(); }), error);
  EXPECT_THAT(ErrorOf([&] { IoBinding another(from); }), HasSubstr("this one was moved from"));
  from = std::move(to);
  // NOLINTEND
  EXPECT_THAT(SumOf(from), ElementsAre(11, 22));
}

TEST(Misuse, BindingsThatWereMovedFrom) {
  const Session session = AddModel().Session();
  IoBinding from(session);
  from.BindInput("a", Floats({2}, {1, 2}));
  IoBinding to(session);
  to = std::move(from);
  const auto error = HasSubstr("the binding was moved from");
  // NOLINTBEGIN: use after move
  EXPECT_THAT(ErrorOf([&] { from.BindInput("a", Floats({2}, {1, 2})); }), error);
  EXPECT_THAT(ErrorOf([&] { from.BindOutput("y"); }), error);
  EXPECT_THAT(ErrorOf([&] { from.BindOutput("y", Floats({2}, {0, 0})); }), error);
  EXPECT_THAT(ErrorOf([&] { from.ClearInputs(); }), error);
  EXPECT_THAT(ErrorOf([&] { from.outputs(); }), error);
  EXPECT_THAT(ErrorOf([&] { session.Run(from); }), error);
  // NOLINTEND
  to.BindInput("b", Floats({2}, {10, 20}));
  to.BindOutput("y");
  session.Run(to);
  EXPECT_THAT(ToVector(to.outputs()[0]), ElementsAre(11, 22));
}

TEST(Misuse, EnvironmentsThatWereMovedFromOrAreGone) {
  auto environment = std::make_unique<Environment>();
  const Environment moved = std::move(*environment);
  const Session first = AddModel().Session({}, *environment);
  EXPECT_EQ(environment->options().log_id, "tessera");
  EnvironmentOptions shared;
  shared.global_intra_op_threads = 2;
  *environment = Environment(shared);
  SessionOptions options;
  options.use_global_threads = true;
  options.config["session.use_env_allocators"] = "1";
  auto second = std::make_unique<Session>(AddModel().Session(options, *environment));
  auto third = std::make_unique<Session>(AddModel().Session(options, *environment));
  std::vector<Value> results(1);
  second->Run(TwoInputs(), results);
  environment.reset();
  EXPECT_THAT(SumOf(*second), ElementsAre(11, 22));
  second.reset();  // the first to use the arena that both share
  EXPECT_THAT(SumOf(*third), ElementsAre(11, 22));
  third.reset();
  EXPECT_THAT(ToVector(results[0]), ElementsAre(11, 22));  // from the environment's arena
  EXPECT_THAT(SumOf(first), ElementsAre(11, 22));
}

TEST(Misuse, BindingsWhoseSessionIsGone) {
  auto session = std::make_unique<Session>(AddModel().Session());
  IoBinding binding(*session);
  binding.BindInput("a", Floats({2}, {1, 2}));
  binding.BindInput("b", Floats({2}, {10, 20}));
  binding.BindOutput("y");
  session->Run(binding);
  session.reset();
  EXPECT_THAT(ToVector(binding.outputs()[0]), ElementsAre(11, 22));
  binding.BindInput("a", Floats({2}, {3, 4}));
  EXPECT_THAT(ErrorOf([&] { AddModel().Session().Run(binding); }), HasSubstr("the binding belongs to another session"));
}

TEST(Misuse, ValuesThatAreNone) {
  const Session session = AddModel().Session();
  std::vector<Value> results(1);
  for (const Value& value : {Value(), Value(Tensor()), Value(Sequence())}) {
    EXPECT_THAT(ErrorOf([&] { session.Run(std::vector<Value>{value, value}, results); }), HasSubstr("input 'a' is "));
    IoBinding binding(session);
    EXPECT_THAT(ErrorOf([&] { binding.BindInput("a", value); }), HasSubstr("input 'a' is "));
  }
  results[0] = Value(Tensor());  // the same as none
  session.Run(TwoInputs(), results);
  EXPECT_THAT(ToVector(results[0]), ElementsAre(11, 22));
  results[0] = Value(Sequence());
  session.Run(TwoInputs(), results);
  EXPECT_THAT(ToVector(results[0]), ElementsAre(11, 22));
}

TEST(Misuse, MemoryThatTheSessionDoesNotHave) {
  const Session session = AddModel().Session();
  float memory[2] = {};
  const Tensor far = Tensor::View(ElementType::kFloat, {2}, memory, kElsewhere);
  std::vector<Value> inputs = TwoInputs(), results(1);
  inputs[1] = far;
  EXPECT_THAT(ErrorOf([&] { session.Run(inputs, results); }),
              HasSubstr("input 'b' lies in Elsewhere memory, which the session does not use"));
  results[0] = far;
  EXPECT_THAT(ErrorOf([&] { session.Run(TwoInputs(), results); }), HasSubstr("output 'y' lies in Elsewhere memory"));
  IoBinding binding(session);
  EXPECT_THAT(ErrorOf([&] { binding.BindInput("a", far); }), HasSubstr("Elsewhere"));
  EXPECT_THAT(ErrorOf([&] { binding.BindOutput("y", far); }), HasSubstr("output 'y' lies in Elsewhere memory"));
  EXPECT_THAT(ErrorOf([&] { binding.BindOutput("y", kElsewhere); }), HasSubstr("has no memory Elsewhere for output 'y'"));
  EXPECT_THAT(ErrorOf([&] { session.allocator(kElsewhere); }), HasSubstr("has no memory Elsewhere"));
  Tensor here = Floats({2}, {0, 0});
  EXPECT_THAT(ErrorOf([&] { session.Copy(far, here); }), HasSubstr("no provider copies from Elsewhere to Cpu memory"));
  EXPECT_THAT(ErrorOf([&] { far.Clone(); }), HasSubstr("cannot be cloned by the host"));
  EXPECT_THAT(SumOf(session), ElementsAre(11, 22));
}

TEST(Misuse, BuffersOfTheHostByAnotherNameAreWrittenInPlace) {
  const Session session = AddModel().Session();
  float memory[2] = {};
  IoBinding binding(session);
  binding.BindInput("a", Floats({2}, {1, 2}));
  binding.BindInput("b", Floats({2}, {10, 20}));
  binding.BindOutput("y", Tensor::View(ElementType::kFloat, {2}, memory, {"Pinned", DeviceType::kCpu, 0, true}));
  session.Run(binding);
  EXPECT_THAT(memory, ElementsAre(11, 22));
  EXPECT_EQ(binding.outputs()[0].tensor().raw(), memory);
}

TEST(Misuse, BuffersThatDoNotFit) {
  const Session session = AddModel().Session();
  IoBinding binding(session);
  binding.BindInput("a", Floats({2}, {1, 2}));
  binding.BindInput("b", Floats({2}, {10, 20}));
  for (const Tensor& buffer :
       {Floats({3}, {0, 0, 0}), Floats({2, 1}, {0, 0}), Tensor(ElementType::kInt32, {2}), Floats({0}, {})}) {
    std::vector<Value> results = {buffer};
    EXPECT_THAT(ErrorOf([&] { session.Run(TwoInputs(), results); }), HasSubstr("'y'"));
    binding.BindOutput("y", buffer);
    EXPECT_THAT(ErrorOf([&] { session.Run(binding); }), HasSubstr("'y'"));
  }
  binding.BindOutput("y");
  session.Run(binding);
  EXPECT_THAT(ToVector(binding.outputs()[0]), ElementsAre(11, 22));
}

TEST(Misuse, RunsAfterRunsThatFailed) {
  const Session session = AddModel().Session();
  std::vector<Value> results(1);
  RunOptions options;
  options.shrink_arenas = true;
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(ErrorOf([&] { session.Run(std::vector<Value>(1), results); }), "no error");
    EXPECT_NE(ErrorOf([&] { session.Run(TwoInputs(), {}); }), "no error");
    options.Cancel();
    EXPECT_THAT(ErrorOf([&] { session.Run(TwoInputs(), results, options); }), HasSubstr("cancel"));
    options.ResetCancel();
    session.Run(TwoInputs(), results, options);
    EXPECT_THAT(ToVector(results[0]), ElementsAre(11, 22));
  }
}

TEST(Misuse, SizesOfNothingAndOfMoreThanThereIs) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, -1}).Output("y", ElementType::kFloat, {-1, -1});
  model.Node("Add", {"x", "x"}, {"y"});
  const Session session = model.Session();
  std::vector<Value> results(1);
  for (const Shape& shape : {Shape{0, 3}, Shape{3, 0}, Shape{0, int64_t{1} << 40}}) {
    for (const Tensor& x : {Tensor(ElementType::kFloat, shape), Tensor::View(ElementType::kFloat, shape, nullptr)}) {
      results[0] = Value();
      session.Run(std::vector<Value>{x}, results);
      EXPECT_EQ(results[0].tensor().shape(), shape);
      session.Run(std::vector<Value>{x}, results);
    }
  }
  EXPECT_NE(ErrorOf([] { Tensor(ElementType::kFloat, {int64_t{1} << 47}); }), "no error");  // 512 TiB
  EXPECT_NE(ErrorOf([] { Tensor(ElementType::kFloat, {int64_t{1} << 62, 4}); }), "no error");
  EXPECT_NE(ErrorOf([] { Tensor(ElementType::kFloat, {-1}); }), "no error");
  EXPECT_NE(ErrorOf([] { Tensor(ElementType::kFloat, {0, -1}); }), "no error");
}

TEST(Misuse, CopiesThatDoNotFit) {
  const Session session = AddModel().Session();
  Tensor two = Floats({2}, {0, 0}), undefined;
  EXPECT_NE(ErrorOf([&] { session.Copy(Floats({3}, {1, 2, 3}), two); }), "no error");
  EXPECT_NE(ErrorOf([&] { session.Copy(Tensor(ElementType::kInt32, {2}), two); }), "no error");
  EXPECT_NE(ErrorOf([&] { session.Copy(two, undefined); }), "no error");
  EXPECT_EQ(ErrorOf([&] { session.Copy(two, two); }), "no error");
  EXPECT_NE(ErrorOf([&] { undefined.Clone(); }), "no error");
}

TEST(Misuse, CopiesBetweenTensorsThatShareMemory) {
  const Session session = AddModel().Session();
  std::vector<float> memory = {1, 2, 3, 4};
  const Tensor from = Tensor::View(Shape{3}, std::span(memory).first(3));
  Tensor to = Tensor::View(Shape{3}, std::span(memory).last(3));
  session.Copy(from, to);
  EXPECT_EQ(memory, (std::vector<float>{1, 1, 2, 3}));
  std::vector<std::string> texts = {"a", "b", "c"};
  const Tensor words = Tensor::View(Shape{2}, std::span(texts).first(2));
  Tensor others = Tensor::View(Shape{2}, std::span(texts).last(2));
  EXPECT_THAT(ErrorOf([&] { session.Copy(words, others); }), HasSubstr("the same strings"));
}

}  // namespace
}  // namespace tessera
