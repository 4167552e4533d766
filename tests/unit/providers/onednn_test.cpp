#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>
#include <random>
#include <thread>

#include "model_builder.h"
#include "onednn/shared_weights.h"
#include "tessera/session.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::ToVector;

SessionOptions On(const char* provider) {
  SessionOptions options;
  options.providers = {{provider, {}}};
  // Lowerings are to be tested on every processor.
  if (std::string_view(provider) == "dnnl") options.providers[0].options = {{"claims", "all"}};
  return options;
}

/// Numbers of a small range: sums stay exact enough to compare.
std::vector<float> Numbers(size_t count, unsigned seed, float low = -1, float high = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(generator);
  return values;
}

Tensor RandomTensor(const Shape& shape, unsigned seed) {
  return Tensor::Of<float>(shape, Numbers(static_cast<size_t>(shape.num_elements()), seed));
}

/// Adds a float initializer of random values.
void Weights(ModelBuilder& model, const std::string& name, std::initializer_list<int64_t> dims, float low = -0.5f,
             float high = 0.5f) {
  const auto values = Numbers(static_cast<size_t>(Shape(dims).num_elements()),
                              static_cast<unsigned>(name.size() * 31 + name[0]), low, high);
  model.Constant(name, dims, std::span<const float>(values));
}

void Integers(onnx::NodeProto& node, const char* name, std::initializer_list<int64_t> values) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INTS);
  for (int64_t value : values) attribute->add_ints(value);
}
void Integer(onnx::NodeProto& node, const char* name, int64_t value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}

/// Convolutions with BatchNormalization, Relu, a residual, a Concat and a classifier.
ModelBuilder Cnn(int64_t batch) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {batch, 3, 16, 16}).Output("y", ElementType::kFloat, {batch, 10});
  if (batch < 0)
    model.proto()
        .mutable_graph()
        ->mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(0)
        ->set_dim_param("N");
  Weights(model, "w1", {16, 3, 3, 3});
  Integers(model.Node("Conv", {"x", "w1"}, {"c1"}), "pads", {1, 1, 1, 1});
  for (const char* name : {"scale", "variance"}) Weights(model, name, {16}, 0.5f, 1.5f);
  for (const char* name : {"shift", "mean"}) Weights(model, name, {16});
  model.Node("BatchNormalization", {"c1", "scale", "shift", "mean", "variance"}, {"n1"});
  model.Node("Relu", {"n1"}, {"r1"});
  auto& pool = model.Node("MaxPool", {"r1"}, {"p1"});
  Integers(pool, "kernel_shape", {3, 3});
  Integers(pool, "strides", {2, 2});
  Integers(pool, "pads", {1, 1, 1, 1});
  Weights(model, "w2", {16, 16, 1, 1});
  Weights(model, "b2", {16});
  model.Node("Conv", {"p1", "w2", "b2"}, {"c2"});
  model.Node("Add", {"c2", "p1"}, {"a2"});
  model.Node("Relu", {"a2"}, {"r2"});
  Weights(model, "w3", {8, 16, 3, 3});
  Integers(model.Node("Conv", {"r2", "w3"}, {"c3"}), "pads", {1, 1, 1, 1});
  Integer(model.Node("Concat", {"r2", "c3"}, {"k"}), "axis", 1);
  model.Node("GlobalAveragePool", {"k"}, {"g"});
  model.Node("Flatten", {"g"}, {"f"});
  Weights(model, "w4", {10, 24});
  Weights(model, "b4", {10});
  Integer(model.Node("Gemm", {"f", "w4", "b4"}, {"l"}), "transB", 1);
  model.Node("Softmax", {"l"}, {"y"});
  return model;
}

std::vector<float> RunOne(const Session& session, const Tensor& x) {
  std::vector<Value> results(1);
  session.Run(std::vector<Value>{x}, results);
  return ToVector(results[0]);
}

void ExpectNear(const std::vector<float>& actual, const std::vector<float>& expected, float tolerance = 1e-4f) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "element " << i;
}

/// Runs on both providers and compares; returns the session on oneDNN.
Session ExpectSameAsCpu(const ModelBuilder& model, const std::vector<Value>& inputs) {
  Session session = model.Session(On("dnnl"));
  const Session reference = model.Session(On("cpu"));
  std::vector<Value> results(session.outputs().size()), expected(results.size());
  session.Run(inputs, results);
  reference.Run(inputs, expected);
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].tensor().shape(), expected[i].tensor().shape());
    ExpectNear(ToVector(results[i]), ToVector(expected[i]));
  }
  return session;
}

TEST(Onednn, ClaimsANetworkAsOneRegion) {
  for (const OptimizationLevel level : {OptimizationLevel::kNone, OptimizationLevel::kAll}) {
    SessionOptions options = On("dnnl");
    options.optimization_level = level;
    const Session session = Cnn(1).Session(options);
    for (const auto& node : session.placement().nodes) {
      EXPECT_EQ(node.provider, "DnnlExecutionProvider") << node.op_type;
      EXPECT_EQ(node.fused_into, session.placement().nodes[0].fused_into) << node.op_type;
      EXPECT_NE(node.fused_into, "") << node.op_type;
    }
    const Tensor x = RandomTensor({1, 3, 16, 16}, 1);
    ExpectNear(RunOne(session, x), RunOne(Cnn(1).Session(On("cpu")), x));
  }
}

/// Convolutions of volumes, which oneDNN computes faster everywhere, then of images, where that takes AVX-512.
TEST(Onednn, ClaimsWhatItComputesFaster) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 8, 4, 8, 8}).Output("y", ElementType::kFloat, {1, 8, 32, 8});
  const std::vector<int64_t> image = {1, 8, 32, 8};
  model.Constant("image", {4}, std::span<const int64_t>(image));
  Weights(model, "w3", {8, 8, 3, 3, 3});
  Weights(model, "w2", {8, 8, 3, 3});
  Integers(model.Node("Conv", {"x", "w3"}, {"a"}), "pads", {1, 1, 1, 1, 1, 1});
  model.Node("Relu", {"a"}, {"b"});
  model.Node("Reshape", {"b", "image"}, {"c"});
  Integers(model.Node("Conv", {"c", "w2"}, {"d"}), "pads", {1, 1, 1, 1});
  model.Node("Relu", {"d"}, {"y"});
  SessionOptions options = On("dnnl");
  options.optimization_level = OptimizationLevel::kNone;  // keeps the nodes as they are
  options.providers[0].options.clear();
  const Session session = model.Session(options);
  for (const auto& node : session.placement().nodes) {
    const bool wanted = onednn::HasAvx512() || (node.outputs[0] != "d" && node.outputs[0] != "y");
    EXPECT_EQ(node.provider, wanted ? "DnnlExecutionProvider" : "CPUExecutionProvider") << node.outputs[0];
    if (!wanted && node.op_type == "Conv") {
      EXPECT_THAT(node.refusals[0].second, HasSubstr("without AVX-512"));
    }
  }
  const Tensor x = RandomTensor({1, 8, 4, 8, 8}, 1);
  const auto expected = RunOne(model.Session(On("cpu")), x);
  ExpectNear(RunOne(session, x), expected);
  options.optimization_level = OptimizationLevel::kAll;
  ExpectNear(RunOne(model.Session(options), x), expected);
}

/// What it leaves is computed as in a session of the CPU provider alone: in blocks of channels, on threads of its own.
TEST(Onednn, WhatItLeavesIsOptimizedForTheCpuProvider) {
  if (onednn::HasAvx512()) GTEST_SKIP() << "it leaves nothing";
  SessionOptions options = On("dnnl");
  options.providers[0].options.clear();
  const Session session = Cnn(1).Session(options), reference = Cnn(1).Session(On("cpu"));
  ASSERT_EQ(session.placement().nodes.size(), reference.placement().nodes.size());
  for (size_t i = 0; i < session.placement().nodes.size(); ++i)
    EXPECT_EQ(session.placement().nodes[i].op_type, reference.placement().nodes[i].op_type);
  const Tensor x = RandomTensor({1, 3, 16, 16}, 1);
  EXPECT_EQ(RunOne(session, x), RunOne(reference, x));
}

TEST(Onednn, CompilesForEachBatchSize) {
  const Session session = Cnn(-1).Session(On("dnnl")), reference = Cnn(-1).Session(On("cpu"));
  for (const auto& node : session.placement().nodes) EXPECT_EQ(node.provider, "DnnlExecutionProvider") << node.op_type;
  std::vector<int64_t> batches(20);  // more than are kept
  std::iota(batches.begin(), batches.end(), 0);
  for (const int64_t again : {0, 3, 19}) batches.push_back(again);
  for (const int64_t batch : batches) {
    const Tensor x = RandomTensor({batch, 3, 16, 16}, static_cast<unsigned>(batch));
    SCOPED_TRACE(batch);
    ExpectNear(RunOne(session, x), RunOne(reference, x));
  }
}

TEST(Onednn, RunsFromManyThreads) {
  const Session session = Cnn(-1).Session(On("dnnl")), reference = Cnn(-1).Session(On("cpu"));
  std::vector<Tensor> inputs;
  std::vector<std::vector<float>> expected, actual(8);
  for (unsigned i = 0; i < 8; ++i) {
    inputs.push_back(RandomTensor({1 + i % 3, 3, 16, 16}, i));
    expected.push_back(RunOne(reference, inputs.back()));
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int run = 0; run < 10; ++run) actual[i] = RunOne(session, inputs[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < 8; ++i) ExpectNear(actual[i], expected[i]);
}

TEST(Onednn, SameBitsFromRunToRun) {
  const Session session = Cnn(2).Session(On("dnnl"));
  const Tensor x = RandomTensor({2, 3, 16, 16}, 7);
  const auto first = RunOne(session, x);
  for (int run = 0; run < 5; ++run) EXPECT_EQ(RunOne(session, x), first);
}

TEST(Onednn, SharesReorderedWeights) {
  using onednn::SharedWeights;
  const Tensor tensor = RandomTensor({16, 16, 3, 3}, 3);
  const onednn::Dims dims = {16, 16, 3, 3};
  const onednn::Desc blocked(dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ABcd8b8a);
  std::weak_ptr<const dnnl::memory> watched;
  {
    const auto one = SharedWeights::InLayout(SharedWeights::Plain(tensor, onednn::Plain(dims)), blocked);
    const auto two = SharedWeights::InLayout(SharedWeights::Plain(tensor, onednn::Plain(dims)), blocked);
    EXPECT_EQ(one, two);
    watched = one;
  }
  EXPECT_TRUE(watched.expired());
  int made = 0;
  const auto make = [&](std::span<float> out) { out[0] = static_cast<float>(++made); };
  const auto one = SharedWeights::Derived("key", {tensor}, onednn::Plain({1}), make);
  EXPECT_EQ(SharedWeights::Derived("key", {tensor}, onednn::Plain({1}), make), one);
  EXPECT_NE(SharedWeights::Derived("other", {tensor}, onednn::Plain({1}), make), one);
  EXPECT_EQ(made, 2);
}

TEST(Onednn, ReorderedWeightsComeFromAContext) {
  for (const int64_t batch : {int64_t{2}, int64_t{-1}}) {
    const std::string bytes = Cnn(batch).bytes();
    const std::filesystem::path file = std::filesystem::temp_directory_path() / fmt::format("tessera_onednn_{}_{}", getpid(), batch);
    std::filesystem::remove(file);
    const std::vector<Value> inputs = {RandomTensor({2, 3, 16, 16}, 1)};
    SessionOptions options = On("dnnl");
    std::vector<std::vector<float>> results;
    for (int start = 0; start < 3; ++start) {
      if (start == 1) {
        options.config["ep.context_enable"] = "1";
        options.config["ep.context_file_path"] = file.string();
      }
      const Session session(std::as_bytes(std::span(bytes)), options);
      EXPECT_EQ(session.context().used, start == 2) << session.context().detail;
      if (start == 2) {
        EXPECT_GE(session.context().packed, 1u);
        EXPECT_EQ(session.context().packed_anew, 0u);
      }
      std::vector<Value> outputs(1);
      session.Run(inputs, outputs);
      results.push_back(ToVector(outputs[0]));
    }
    EXPECT_EQ(results[1], results[0]);
    EXPECT_EQ(results[2], results[0]);
    std::filesystem::remove(file);
  }
}

TEST(Onednn, WorksBesideAnotherSessionThatEnds) {
  const Tensor x = RandomTensor({1, 3, 16, 16}, 5);
  auto first = std::make_unique<Session>(Cnn(1).Session(On("dnnl")));
  const Session second = Cnn(1).Session(On("dnnl"));
  const auto expected = RunOne(*first, x);
  first.reset();
  EXPECT_EQ(RunOne(second, x), expected);
}

struct Refusal {
  const char* name;
  const char* op;
  ElementType type;
  std::vector<int64_t> x;
  void (*prepare)(ModelBuilder& model, onnx::NodeProto& node);
  const char* reason;
};

TEST(Onednn, RefusalsCarryAReason) {
  const Refusal cases[] = {
      {"operator", "Neg", ElementType::kFloat, {1, 8}, [](ModelBuilder&, onnx::NodeProto&) {}, "no lowering"},
      {"type", "Relu", ElementType::kDouble, {1, 8}, [](ModelBuilder&, onnx::NodeProto&) {}, "float is lowered"},
      {"rank",
       "Relu",
       ElementType::kFloat,
       {1, 1, 1, 1, 1, 1, 8},
       [](ModelBuilder&, onnx::NodeProto&) {},
       "more than 6 dimensions"},
      {"empty", "Relu", ElementType::kFloat, {0, 8}, [](ModelBuilder&, onnx::NodeProto&) {}, "an input is empty"},
      {"alone", "Relu", ElementType::kFloat, {1, 8}, [](ModelBuilder&, onnx::NodeProto&) {}, "alone it gains nothing"},
      {"vector",
       "MatMul",
       ElementType::kFloat,
       {8},
       [](ModelBuilder& model, onnx::NodeProto& node) {
         Weights(model, "w", {8, 8});
         node.add_input("w");
       },
       "vector operands"},
      {"transA",
       "Gemm",
       ElementType::kFloat,
       {8, 8},
       [](ModelBuilder& model, onnx::NodeProto& node) {
         Weights(model, "w", {8, 8});
         node.add_input("w");
         Integer(node, "transA", 1);
       },
       "transposed A"},
      {"indices",
       "MaxPool",
       ElementType::kFloat,
       {1, 8, 4, 4},
       [](ModelBuilder& model, onnx::NodeProto& node) {
         Integers(node, "kernel_shape", {2, 2});
         node.add_output("i");
         model.Output("i", ElementType::kInt64, {-1, -1, -1, -1});
       },
       "only the first output"},
      {"spatial",
       "Conv",
       ElementType::kFloat,
       {1, 2, 3, 3, 3, 3},
       [](ModelBuilder& model, onnx::NodeProto& node) {
         Weights(model, "w", {2, 2, 1, 1, 1, 1});
         node.add_input("w");
       },
       "one to three spatial"},
  };
  for (const Refusal& one : cases) {
    SCOPED_TRACE(one.name);
    ModelBuilder model;
    ModelBuilder::Declare(model.proto().mutable_graph()->add_input(), "x", one.type, one.x);
    ModelBuilder::Declare(model.proto().mutable_graph()->add_output(), "y", one.type,
                          std::vector<int64_t>(one.x.size(), -1));
    if (std::string_view(one.op) == "MatMul")
      model.proto().mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
    one.prepare(model, model.Node(one.op, {"x"}, {"y"}));
    const Session session = model.Session(On("dnnl"));
    ASSERT_EQ(session.placement().nodes.size(), 1u);
    const auto& node = session.placement().nodes[0];
    EXPECT_EQ(node.provider, "CPUExecutionProvider");
    ASSERT_FALSE(node.refusals.empty());
    EXPECT_EQ(node.refusals[0].first, "DnnlExecutionProvider");
    EXPECT_THAT(node.refusals[0].second, HasSubstr(one.reason));
  }
}

TEST(Onednn, ResidualOfTheConvolutionsOwnInputIsNotOverwritten) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 16, 8, 8}).Output("y", ElementType::kFloat, {1, 16, 8, 8});
  Weights(model, "w", {16, 16, 1, 1});
  model.Node("Conv", {"x", "w"}, {"a"});
  model.Node("Conv", {"a", "w"}, {"b"});
  model.Node("Add", {"b", "a"}, {"y"});
  ExpectSameAsCpu(model, {RandomTensor({1, 16, 8, 8}, 1)});
}

TEST(Onednn, ResidualsInPlace) {
  // The sum's other operand: still needed later, an output, twice the same, or free.
  for (const char* last : {"later", "output", "free"}) {
    SCOPED_TRACE(last);
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {2, 16, 8, 8}).Output("y", ElementType::kFloat, {2, 16, 8, 8});
    Weights(model, "w", {16, 16, 1, 1});
    Weights(model, "v", {16, 16, 3, 3});
    model.Node("Conv", {"x", "w"}, {"a"});
    Integers(model.Node("Conv", {"x", "v"}, {"b"}), "pads", {1, 1, 1, 1});
    model.Node("Add", {"a", "b"}, {"c"});
    model.Node("Relu", {"c"}, {"d"});
    if (std::string_view(last) == "later") {
      model.Node("Mul", {"d", "a"}, {"y"});
    } else {
      model.Node("Relu", {"d"}, {"y"});
    }
    if (std::string_view(last) == "output") model.Output("a", ElementType::kFloat, {2, 16, 8, 8});
    ExpectSameAsCpu(model, {RandomTensor({2, 16, 8, 8}, 2)});
  }
}

/// 3x3 convolutions large enough for Winograd's transform, with what their last step takes up and what it must leave.
TEST(Onednn, WinogradConvolutions) {
  const std::vector<std::vector<const char*>> followers = {{},
                                                           {"Relu"},
                                                           {"Add"},
                                                           {"Add", "Relu"},
                                                           {"Relu", "Add"},
                                                           {"HardSwish"},
                                                           {"Sigmoid", "Relu"},
                                                           {"Add", "Add", "LeakyRelu"},
                                                           {"BatchNormalization", "Relu"}};
  int number = 0;
  for (const auto& ops : followers) {
    for (const int threads : {1, 3}) {
      const int64_t top = number % 3, left = (number + 1) % 3, batch = 1 + number % 2;
      const int64_t height = 30 + number, width = 45 - number;
      SCOPED_TRACE(number++);
      ModelBuilder model;
      const Shape residual_shape = {batch, 48, height + top - 1, width + left - 1};
      model.Input("x", ElementType::kFloat, {batch, 32, height, width});
      model.Input("residual", ElementType::kFloat, {batch, 48, height + top - 1, width + left - 1});
      model.Output("y", ElementType::kFloat, {batch, 48, height + top - 1, width + left - 1});
      model.Node("Abs", {"x"}, {"v0"});
      model.Node("Tanh", {"residual"}, {"r0"});
      Weights(model, "w", {48, 32, 3, 3});
      Weights(model, "b", {48});
      for (const char* name : {"scale", "variance"}) Weights(model, name, {48}, 0.5f, 1.5f);
      for (const char* name : {"shift", "mean"}) Weights(model, name, {48});
      Integers(model.Node("Conv", {"v0", "w", "b"}, {"v1"}), "pads", {top, left, 1, 1});
      std::string last = "v1";
      for (const char* op : ops) {
        const std::string next = "v" + std::to_string(std::stoi(last.substr(1)) + 1);
        if (op == std::string_view("Add")) {
          model.Node(op, {last, "r0"}, {next});
        } else if (op == std::string_view("BatchNormalization")) {
          model.Node(op, {last, "scale", "shift", "mean", "variance"}, {next});
        } else {
          model.Node(op, {last}, {next});
        }
        last = next;
      }
      model.Node("Identity", {last}, {"y"});
      SessionOptions options = On("dnnl"), plain = On("cpu");
      options.intra_op_threads = threads;
      plain.optimization_level = OptimizationLevel::kNone;
      const std::vector<Value> inputs = {RandomTensor({batch, 32, height, width}, 1), RandomTensor(residual_shape, 2)};
      std::vector<Value> result(1), expected(1);
      const Session session = model.Session(options);
      session.Run(inputs, result);
      model.Session(plain).Run(inputs, expected);
      ExpectNear(ToVector(result[0]), ToVector(expected[0]));
      session.Run(inputs, result);
      ExpectNear(ToVector(result[0]), ToVector(expected[0]));
    }
  }
}

/// x * Sigmoid(x) alone, after a convolution and after Winograd's, with the Sigmoid needed elsewhere, then
/// squeeze-and-excitation: one factor a channel.
TEST(Onednn, SwishAndSqueezeAndExcitation) {
  for (const int64_t batch : {1, 2}) {
    for (const bool needed : {false, true}) {
      SCOPED_TRACE(::testing::Message() << "batch " << batch << ", Sigmoid needed elsewhere: " << needed);
      ModelBuilder model;
      model.Input("x", ElementType::kFloat, {batch, 32, 28, 28}).Output("y", ElementType::kFloat, {batch, 32, 28, 28});
      Weights(model, "w1", {32, 32, 3, 3});
      Weights(model, "w2", {32, 32, 1, 1});
      Weights(model, "w3", {8, 32, 1, 1});
      Weights(model, "w4", {32, 8, 1, 1});
      model.Node("Sigmoid", {"x"}, {"sx"});
      model.Node("Mul", {"sx", "x"}, {"v1"});
      Integers(model.Node("Conv", {"v1", "w1"}, {"c1"}), "pads", {1, 1, 1, 1});
      model.Node("Sigmoid", {"c1"}, {"s1"});
      model.Node("Mul", {"c1", "s1"}, {"v2"});
      model.Node("Conv", {"v2", "w2"}, {"c2"});
      model.Node("Sigmoid", {"c2"}, {"s2"});
      model.Node("Mul", {"c2", "s2"}, {"v3"});
      model.Node("GlobalAveragePool", {"v3"}, {"g"});
      model.Node("Conv", {"g", "w3"}, {"e1"});
      model.Node("Relu", {"e1"}, {"e2"});
      model.Node("Conv", {"e2", "w4"}, {"e3"});
      model.Node("Sigmoid", {"e3"}, {"e4"});
      model.Node("Mul", {"e4", "v3"}, {"v4"});
      model.Node("Add", {"v4", needed ? "s2" : "x"}, {"y"});
      if (needed) model.Output("s1", ElementType::kFloat, {batch, 32, 28, 28});
      ExpectSameAsCpu(model, {RandomTensor({batch, 32, 28, 28}, 3)});
    }
  }
}

TEST(Onednn, ConcatInPlace) {
  // Blocked and unblocked channel counts, a nested Concat, an input twice, an input of the region, a part that is an
  // output.
  for (const int64_t batch : {1, 2}) {
    for (const int64_t channels : {8, 16, 5}) {
      SCOPED_TRACE(batch * 100 + channels);
      ModelBuilder model;
      model.Input("x", ElementType::kFloat, {batch, 8, 6, 6});
      for (const char* name : {"y", "z", "k2"}) model.Output(name, ElementType::kFloat, {-1, -1, -1, -1});
      Weights(model, "w", {channels, 8, 1, 1});
      Weights(model, "v", {8, 8, 1, 1});
      model.Node("Conv", {"x", "w"}, {"a"});
      model.Node("Conv", {"x", "v"}, {"b"});
      Integer(model.Node("Concat", {"a", "b"}, {"k1"}), "axis", 1);
      Integer(model.Node("Concat", {"k1", "b", "x", "a"}, {"k2"}), "axis", 1);
      model.Node("Relu", {"k2"}, {"y"});
      model.Node("GlobalMaxPool", {"k1"}, {"z"});
      ExpectSameAsCpu(model, {RandomTensor({batch, 8, 6, 6}, 3)});
    }
  }
}

TEST(Onednn, ChannelShuffle) {
  ModelBuilder model;
  const std::vector<int64_t> split = {0, 2, 12, 7, 5}, joined = {0, -1, 7, 5};
  model.Input("x", ElementType::kFloat, {2, 24, 7, 5}).Output("y", ElementType::kFloat, {2, 24, 7, 5});
  Weights(model, "w", {24, 12, 1, 1});
  model.Constant("split", {5}, std::span<const int64_t>(split));
  model.Constant("joined", {4}, std::span<const int64_t>(joined));
  Integer(model.Node("Conv", {"x", "w"}, {"c"}), "group", 2);
  model.Node("Reshape", {"c", "split"}, {"s"});
  Integers(model.Node("Transpose", {"s"}, {"t"}), "perm", {0, 2, 1, 3, 4});
  model.Node("Reshape", {"t", "joined"}, {"j"});
  Integer(model.Node("Conv", {"j", "w"}, {"y"}), "group", 2);
  const Session session = ExpectSameAsCpu(model, {RandomTensor({2, 24, 7, 5}, 4)});
  for (const auto& node : session.placement().nodes) EXPECT_EQ(node.provider, "DnnlExecutionProvider") << node.op_type;
}

TEST(Onednn, TransposedConvolutions) {
  for (const int64_t group : {1, 2}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {2, 8, 5, 6}).Output("y", ElementType::kFloat, {2, 6 * group, 10, 18});
    Weights(model, "w", {8, 6, 3, 4});
    Weights(model, "b", {6 * group});
    auto& node = model.Node("ConvTranspose", {"x", "w", "b"}, {"c"});
    Integer(node, "group", group);
    Integers(node, "strides", {2, 3});
    Integers(node, "pads", {1, 1, 1, 0});
    Integers(node, "output_padding", {1, 0});
    model.Node("Relu", {"c"}, {"y"});
    const Session session = ExpectSameAsCpu(model, {RandomTensor({2, 8, 5, 6}, 6)});
    EXPECT_EQ(session.placement().nodes[0].provider, "DnnlExecutionProvider");
  }
}

TEST(Onednn, ChannelScalesFoldIntoConvolutions) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 4, 6, 6})
      .Output("y", ElementType::kFloat, {1, 8, 6, 6})
      .Output("z", ElementType::kFloat, {1, 8, 6, 6});
  Weights(model, "w", {8, 4, 1, 1});
  for (const char* name : {"mul", "sub"}) Weights(model, name, {8, 1, 1}, 0.5f, 2);
  Weights(model, "div", {1}, 0.5f, 2);
  Weights(model, "row", {6});  // not one a channel
  model.Node("Conv", {"x", "w"}, {"c"});
  model.Node("Mul", {"mul", "c"}, {"m"});
  model.Node("Sub", {"sub", "m"}, {"s"});
  model.Node("Div", {"s", "div"}, {"d"});
  model.Node("Add", {"d", "row"}, {"y"});
  model.Node("Relu", {"y"}, {"r"});
  model.Node("Mul", {"r", "mul"}, {"q"});
  model.Node("Add", {"q", "sub"}, {"z"});
  ExpectSameAsCpu(model, {RandomTensor({1, 4, 6, 6}, 8)});
}

TEST(Onednn, ProductsOverNothingAreZero) {
  ModelBuilder model;
  model.Input("a", ElementType::kFloat, {2, -1})
      .Input("b", ElementType::kFloat, {-1, 3})
      .Output("y", ElementType::kFloat, {2, 3});
  model.Node("MatMul", {"a", "b"}, {"m"});
  model.Node("Sigmoid", {"m"}, {"y"});
  ExpectSameAsCpu(model, {Tensor(ElementType::kFloat, Shape{2, 0}), Tensor(ElementType::kFloat, Shape{0, 3})});
  ExpectSameAsCpu(model, {RandomTensor({2, 5}, 1), RandomTensor({5, 3}, 2)});
}

TEST(Onednn, ABadShapeAtRunTimeIsAnErrorThatNamesTheNode) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, -1, 8, 8}).Output("y", ElementType::kFloat, {1, 4, -1, -1});
  Weights(model, "w", {4, 3, 3, 3});
  model.Node("Conv", {"x", "w"}, {"y"}, "stem");
  const Session session = model.Session(On("dnnl"));
  std::vector<Value> results(1);
  try {
    session.Run(std::vector<Value>{RandomTensor({1, 5, 8, 8}, 1)}, results);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("stem"));
  }
  session.Run(std::vector<Value>{RandomTensor({1, 3, 8, 8}, 1)}, results);  // still works
}

}  // namespace
}  // namespace tessera
