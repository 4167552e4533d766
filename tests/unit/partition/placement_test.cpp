#include <gmock/gmock.h>

#include <set>

#include "attributes.h"
#include "model_builder.h"
#include "tessera/session.h"
#include "toy_provider.h"

namespace tessera {
namespace {

using testing::Counters;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::Floats;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::ToVector;

const MemoryInfo kDevice{testing::kToyMemory, DeviceType::kGpu, 0, false};

SessionOptions Toy(ProviderOptions options) {
  SessionOptions session;
  session.providers = {{std::string(testing::Toy().name), std::move(options)}};
  session.optimization_level = OptimizationLevel::kNone;
  return session;
}

/// y = -(x + x) * x, with Mul in the middle of nothing else.
ModelBuilder Chain() {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  model.Node("Add", {"x", "x"}, {"a"}, "add");
  model.Node("Neg", {"a"}, {"b"}, "neg");
  model.Node("Mul", {"b", "x"}, {"y"}, "mul");
  return model;
}

std::string ErrorOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Placement, ValuesCrossMemoriesOnce) {
  const Session session = Chain().Session(Toy({{"device", "1"}}));
  EXPECT_EQ(session.placement().copies.size(), 2u);  // x to the device, y back
  Counters().Reset();
  const std::vector<Value> inputs = {Floats({2}, {1, 2})};
  for (int run = 0; run < 3; ++run) {
    std::vector<Value> results(1);
    session.Run(inputs, results);
    EXPECT_THAT(ToVector(results[0]), ElementsAre(-2, -8));
  }
  EXPECT_EQ(Counters().uploads, 3);
  EXPECT_EQ(Counters().downloads, 3);
  EXPECT_EQ(Counters().synchronizations, 3);  // when the host reads the results
}

TEST(Placement, NodesWhoseKernelsCannotBeMadeGoToTheNextProvider) {
  SessionOptions options = Toy({{"device", "1"}, {"fail_kernel", "Neg"}});
  options.log_level = LogLevel::kFatal;
  options.config["session.min_island_nodes"] = "0";
  const Session session = Chain().Session(options);
  const std::vector<Value> inputs = {Floats({2}, {1, 2})};
  std::vector<Value> results(1);
  session.Run(inputs, results);
  EXPECT_THAT(ToVector(results[0]), ElementsAre(-2, -8));
  const PlacementReport& placement = session.placement();
  ASSERT_EQ(placement.nodes.size(), 3u);
  for (const auto& node : placement.nodes) {
    EXPECT_EQ(node.provider, node.name == "neg" ? "CPUExecutionProvider" : "ToyExecutionProvider") << node.name;
    if (node.name == "neg") {
      EXPECT_THAT(node.refusals.at(0).second, HasSubstr("the toy has no Neg after all"));
    }
  }
  EXPECT_EQ(placement.copies.size(), 4u);  // x and the result of neg to the device, the sum and y back
  EXPECT_EQ(placement.providers.at(0).nodes, 2);

  options.error_on_failure = true;
  EXPECT_THAT(ErrorOf([&] { Chain().Session(options); }),
              AllOf(HasSubstr("neg"), HasSubstr("the toy has no Neg after all")));
}

/// On the host, too, where other kernels have packed their constants by the time that one fails.
TEST(Placement, NodesGoToTheNextProviderOfTheSameMemory) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 64}).Output("y", ElementType::kFloat, {1, 64});
  const std::vector<float> weights(64 * 64, 0.5f);
  model.Constant("w", {64, 64}, weights);
  model.Node("MatMul", {"x", "w"}, {"p"}, "product");
  model.Node("Neg", {"p"}, {"n"}, "neg");
  model.Node("MatMul", {"n", "w"}, {"y"}, "second");
  SessionOptions options = Toy({{"fail_kernel", "Neg"}});
  options.log_level = LogLevel::kFatal;
  const Session session = model.Session(options);
  const std::vector<Value> inputs = {Floats({1, 64}, std::vector<float>(64, 0.25f))};
  std::vector<Value> results(1);
  session.Run(inputs, results);
  EXPECT_THAT(ToVector(results[0]), Each(-0.25f * 64 * 0.5f * 64 * 0.5f));
  for (const auto& node : session.placement().nodes) EXPECT_EQ(node.provider, "CPUExecutionProvider") << node.name;

  options.error_on_failure = true;
  EXPECT_THAT(ErrorOf([&] { model.Session(options); }), HasSubstr("the toy has no Neg after all"));
}

TEST(Placement, NodesOfNestedGraphsGoToTheNextProviderToo) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Input("yes", ElementType::kBool, {}).Output("y", ElementType::kFloat, {2});
  auto& branch = model.Node("If", {"yes"}, {"y"}, "if");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = branch.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    auto& graph = *attribute->mutable_g();
    graph.set_name(name);
    ModelBuilder::AddNode(graph, "Add", {"x", "x"}, {std::string("a_") + name}, "");
    ModelBuilder::AddNode(graph, "Neg", {std::string("a_") + name}, {std::string("b_") + name}, "");
    ModelBuilder::Declare(graph.add_output(), std::string("b_") + name, ElementType::kFloat, {2});
  }
  SessionOptions options = Toy({{"device", "1"}, {"fail_kernel", "Neg"}});
  options.log_level = LogLevel::kFatal;
  options.config["session.min_island_nodes"] = "0";
  const Session session = model.Session(options);
  const bool yes = true;
  const std::vector<Value> inputs = {Floats({2}, {1, 2}), Tensor::Of<bool>(Shape{}, std::span(&yes, 1))};
  std::vector<Value> results(1);
  session.Run(inputs, results);
  EXPECT_THAT(ToVector(results[0]), ElementsAre(-2, -4));
  for (const auto& node : session.placement().nodes)
    EXPECT_EQ(node.provider == "ToyExecutionProvider", node.op_type == "Add") << node.op_type;
}

TEST(Placement, BoundTensorsStayOnTheDevice) {
  const Session session = Chain().Session(Toy({{"device", "1"}}));
  IoBinding binding(session);
  Counters().Reset();
  binding.BindInput("x", Floats({2}, {1, 2}));
  EXPECT_EQ(Counters().uploads, 1);
  binding.BindOutput("y", kDevice);
  Counters().Reset();
  for (int run = 0; run < 3; ++run) {
    session.Run(binding);
    ASSERT_EQ(binding.outputs()[0].tensor().memory(), kDevice);
  }
  EXPECT_EQ(Counters().uploads + Counters().downloads, 0);
  Tensor host(ElementType::kFloat, Shape{2});
  session.Copy(binding.outputs()[0].tensor(), host);
  EXPECT_THAT(ToVector(host), ElementsAre(-2, -8));

  Tensor buffer(ElementType::kFloat, Shape{2}, session.allocator(kDevice));
  binding.BindOutput("y", buffer);
  session.Run(binding);
  EXPECT_EQ(binding.outputs()[0].tensor().raw(), buffer.raw());
  session.Copy(buffer, host);
  EXPECT_THAT(ToVector(host), ElementsAre(-2, -8));
}

TEST(Placement, ConstantsAreUploadedOnce) {
  ModelBuilder model;
  const std::vector<float> weight = {3, 4};
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  model.Constant("w", {2}, std::span<const float>(weight));
  model.Node("Add", {"x", "w"}, {"a"});
  model.Node("Mul", {"a", "w"}, {"b"});
  model.Node("Add", {"b", "w"}, {"y"});
  Counters().Reset();
  const Session session = model.Session(Toy({{"device", "1"}}));
  EXPECT_EQ(Counters().uploads, 1);
  std::vector<Value> results(1);
  session.Run(std::vector<Value>{Floats({2}, {1, 1})}, results);
  EXPECT_THAT(ToVector(results[0]), ElementsAre(15, 24));
  EXPECT_EQ(Counters().uploads, 2);
}

TEST(Placement, HostInputsAndOutputsStayOnTheHost) {
  ModelBuilder model;
  const std::vector<int64_t> shape = {4};
  model.Input("x", ElementType::kFloat, {2, 2}).Output("i", ElementType::kInt64, {1, -1});
  model.Constant("s", {1}, std::span<const int64_t>(shape));
  model.Node("Neg", {"x"}, {"n"});
  model.Node("Reshape", {"n", "s"}, {"r"});
  model.Node("NonZero", {"r"}, {"i"});
  const Session session = model.Session(Toy({{"device", "1"}}));
  Counters().Reset();
  for (const std::vector<float>& x : std::vector<std::vector<float>>{{0, 1, 0, 2}, {1, 1, 1, 1}, {0, 0, 0, 0}}) {
    std::vector<Value> results(1);
    session.Run(std::vector<Value>{Tensor::Of<float>(Shape{2, 2}, x)}, results);
    std::vector<int64_t> expected;
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] != 0) expected.push_back(static_cast<int64_t>(i));
    }
    const auto found = results[0].tensor().values<int64_t>();
    EXPECT_EQ(std::vector<int64_t>(found.begin(), found.end()), expected);
  }
  EXPECT_EQ(Counters().uploads, 3);
  EXPECT_EQ(Counters().downloads, 0);
}

TEST(Placement, FusesWhatItClaims) {
  Counters().Reset();
  const Session session = Chain().Session(Toy({{"fuse", "1"}}));
  EXPECT_EQ(Counters().compiles, 1);
  for (const auto& node : session.placement().nodes) EXPECT_EQ(node.fused_into, "toy_region");
  std::vector<Value> results(1);
  session.Run(std::vector<Value>{Floats({2}, {1, 2})}, results);
  EXPECT_THAT(ToVector(results[0]), ElementsAre(-2, -8));
  EXPECT_EQ(Counters().computes, 1);
}

TEST(Placement, RefusesWithReasons) {
  const std::string error = ErrorOf([&] {
    SessionOptions options = Toy({{"ops", "Add,Mul"}});
    options.disable_cpu_fallback = true;
    Chain().Session(options);
  });
  EXPECT_THAT(error, HasSubstr("Neg 'neg' (version 13): no provider runs it; ToyExecutionProvider: not among the ops; "
                               "CPUExecutionProvider: not asked (disable_cpu_fallback)"));
}

TEST(Placement, ChecksOptions) {
  const auto error = [](ProviderOptions options) { return ErrorOf([&] { Chain().Session(Toy(std::move(options))); }); };
  EXPECT_THAT(error({{"speed", "1"}}), HasSubstr("ToyExecutionProvider has no option 'speed' (allowed: ops, device, fuse"));
  EXPECT_THAT(error({{"device", "2"}}), HasSubstr("option 'device' is '2', expected true or false"));
  EXPECT_THAT(error({{"number", "10"}}), HasSubstr("option 'number' is '10', expected a number from 1 to 9"));
  EXPECT_THAT(error({{"level", "top"}}), HasSubstr("option 'level' is 'top', expected one of low, high"));
  EXPECT_THAT(error({{"gpu_mem_limit", "-1"}}), HasSubstr("expected a number of bytes from 0"));
  EXPECT_EQ(error({{"gpu_mem_limit", "2M"}, {"level", "HIGH"}, {"device", "True"}}), "no error");
}

/// Conv, Relu, Conv, Add on eight channels: passes for the CPU provider fuse the Relu where an earlier provider leaves both
/// alone, and lay images out in blocks where it leaves all of it.
TEST(Placement, RewritesForTheCpuProviderKeepToWhatIsLeftToIt) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 8, 4, 4}).Output("y", ElementType::kFloat, {1, 8, 4, 4});
  std::vector<float> weights(64), numbers(128);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 5) - 2;
  model.Floats("w", {8, 8, 1, 1}, weights);
  model.Node("Conv", {"x", "w"}, {"a"});
  model.Node("Relu", {"a"}, {"b"});
  model.Node("Conv", {"b", "w"}, {"c"});
  model.Node("Add", {"b", "c"}, {"y"});
  const auto run = [&](const SessionOptions& options, std::multiset<std::string>& operators) {
    const Session session = model.Session(options);
    for (const auto& node : session.placement().nodes) operators.insert(node.domain + "/" + node.op_type);
    std::vector<Value> results(1);
    session.Run(std::vector<Value>{Tensor::Of<float>(Shape{1, 8, 4, 4}, std::span<const float>(numbers))}, results);
    return ToVector(results[0]);
  };
  std::multiset<std::string> alone, beside_neg, beside_add, on_device;
  SessionOptions cpu;
  cpu.providers = {{"cpu", {}}};
  const auto expected = run(cpu, alone);
  SessionOptions options = Toy({{"ops", "Neg"}});
  options.optimization_level = OptimizationLevel::kAll;
  EXPECT_EQ(run(options, beside_neg), expected);
  EXPECT_EQ(beside_neg, alone);
  options.providers[0].options = {{"ops", "Add"}};
  EXPECT_EQ(run(options, beside_add), expected);
  EXPECT_THAT(beside_add, ElementsAre("/Add", "/Conv", "ai.tessera/FusedConv"));
  options.providers[0].options = {{"ops", "Neg"}, {"device", "1"}};
  EXPECT_EQ(run(options, on_device), expected);
  EXPECT_EQ(on_device, alone);
}

TEST(Placement, TheCpuPartBesideADeviceGetsTheLayoutsOfTheCpuAlone) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 16, 24, 24}).Output("y", ElementType::kFloat, {1, 16, 24, 24});
  std::vector<float> weights(16 * 16 * 9), numbers(16 * 24 * 24);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 5) - 2;
  model.Floats("w", {16, 16, 3, 3}, weights);
  std::string from = "x";
  for (const char* to : {"a", "b", "c"}) {
    testing::Ints(model.Node("Conv", {from, "w"}, {std::string(to) + "_conv"}), "pads", {1, 1, 1, 1});
    model.Node("Softsign", {std::string(to) + "_conv"}, {to});
    from = to;
  }
  model.Node("Neg", {"c"}, {"y"});
  const auto operators = [&](const SessionOptions& options) {
    const Session session = model.Session(options);
    std::multiset<std::string> found;
    for (const auto& node : session.placement().nodes) found.insert(node.op_type);
    std::vector<Value> results(1);
    session.Run(std::vector<Value>{Tensor::Of<float>(Shape{1, 16, 24, 24}, std::span<const float>(numbers))}, results);
    return std::pair(found, ToVector(results[0]));
  };
  SessionOptions cpu;
  cpu.providers = {{"cpu", {}}};
  const auto alone = operators(cpu);
  EXPECT_EQ(alone.first, (std::multiset<std::string>{"FromNchw8c", "Neg", "Nchw8cConv", "Nchw8cConv", "Nchw8cConv",
                                                     "Softsign", "Softsign", "Softsign", "ToNchw8c"}));
  SessionOptions beside = Toy({{"ops", "Neg"}, {"device", "1"}});
  beside.optimization_level = OptimizationLevel::kAll;
  beside.config["session.min_island_nodes"] = "0";
  EXPECT_EQ(operators(beside), alone);
}

/// A provider's nodes between those of others are given back before anything is compiled, fused or not.
TEST(Placement, FusedIslandsAreNeverCompiled) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2}).Output("y", ElementType::kFloat, {2});
  model.Node("Exp", {"x"}, {"a"});
  model.Node("Neg", {"a"}, {"b"});
  model.Node("Add", {"b", "a"}, {"c"});
  model.Node("Exp", {"c"}, {"y"});
  Counters().Reset();
  const Session session = model.Session(Toy({{"device", "1"}, {"fuse", "1"}}));
  EXPECT_EQ(Counters().compiles, 0);
  for (const auto& node : session.placement().nodes) {
    EXPECT_EQ(node.provider, "CPUExecutionProvider") << node.op_type;
    if (node.op_type != "Exp") {
      EXPECT_THAT(node.refusals.at(0).second, HasSubstr("an island of 2"));
    }
  }
}

TEST(Placement, SkipsAProviderThatCannotStart) {
  SessionOptions options = Toy({{"fail_start", "1"}});
  options.error_on_failure = true;
  EXPECT_EQ(ErrorOf([&] { Chain().Session(options); }),
            "ToyExecutionProvider cannot start: there is no toy; leave it out of the providers that are asked for");
  options.providers[0].name = "nonsense";
  EXPECT_THAT(ErrorOf([&] { Chain().Session(options); }),
              HasSubstr("there is no execution provider 'nonsense' in this build (available: "));
}

TEST(Placement, DeviceLimitIsAnError) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1}).Output("y", ElementType::kFloat, {-1});
  model.Node("Neg", {"x"}, {"y"}, "neg");
  const Session session = model.Session(Toy({{"device", "1"}, {"gpu_mem_limit", "1M"}}));
  std::vector<Value> results(1);
  const auto run = [&](int64_t size) {
    results[0] = Value();
    session.Run(std::vector<Value>{Tensor::Of<float>(Shape{size}, std::vector<float>(static_cast<size_t>(size), 1))},
                results);
  };
  run(10);
  EXPECT_THAT(ErrorOf([&] { run(1 << 20); }), HasSubstr("gpu_mem_limit exceeded: 4194304 bytes of Toy memory"));
  run(10);
  EXPECT_EQ(results[0].tensor().num_elements(), 10);
}

}  // namespace
}  // namespace tessera
