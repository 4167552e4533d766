#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>
#include <ostream>
#include <set>
#include <thread>

#include "base/cpu_features.h"
#include "onednn/program/shared_weights.h"
#include "providers/onednn_models.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

/// Convolutions with BatchNormalization, Relu, a residual, a Concat and a classifier.
ModelBuilder Cnn(int64_t batch) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {batch, 3, 16, 16}).Output("y", ElementType::kFloat, {batch, 10});
  if (batch < 0) model.NameDim("x", 0, "N");
  Weights(model, "w1", {16, 3, 3, 3});
  Ints(model.Node("Conv", {"x", "w1"}, {"c1"}), "pads", {1, 1, 1, 1});
  for (const char* name : {"scale", "variance"}) Weights(model, name, {16}, 0.5f, 1.5f);
  for (const char* name : {"shift", "mean"}) Weights(model, name, {16});
  model.Node("BatchNormalization", {"c1", "scale", "shift", "mean", "variance"}, {"n1"});
  model.Node("Relu", {"n1"}, {"r1"});
  auto& pool = model.Node("MaxPool", {"r1"}, {"p1"});
  Ints(pool, "kernel_shape", {3, 3});
  Ints(pool, "strides", {2, 2});
  Ints(pool, "pads", {1, 1, 1, 1});
  Weights(model, "w2", {16, 16, 1, 1});
  Weights(model, "b2", {16});
  model.Node("Conv", {"p1", "w2", "b2"}, {"c2"});
  model.Node("Add", {"c2", "p1"}, {"a2"});
  model.Node("Relu", {"a2"}, {"r2"});
  Weights(model, "w3", {8, 16, 3, 3});
  Ints(model.Node("Conv", {"r2", "w3"}, {"c3"}), "pads", {1, 1, 1, 1});
  Int(model.Node("Concat", {"r2", "c3"}, {"k"}), "axis", 1);
  model.Node("GlobalAveragePool", {"k"}, {"g"});
  model.Node("Flatten", {"g"}, {"f"});
  Weights(model, "w4", {10, 24});
  Weights(model, "b4", {10});
  Int(model.Node("Gemm", {"f", "w4", "b4"}, {"l"}), "transB", 1);
  model.Node("Softmax", {"l"}, {"y"});
  return model;
}

TEST(Onednn, ClaimsANetworkAsOneRegion) {
  for (const OptimizationLevel level : {OptimizationLevel::kNone, OptimizationLevel::kAll}) {
    SessionOptions options = OnProvider("dnnl");
    options.optimization_level = level;
    const Session session = Cnn(1).Session(options);
    for (const auto& node : session.placement().nodes) {
      EXPECT_EQ(node.provider, "DnnlExecutionProvider") << node.op_type;
      EXPECT_EQ(node.fused_into, session.placement().nodes[0].fused_into) << node.op_type;
      EXPECT_NE(node.fused_into, "") << node.op_type;
    }
    const Tensor x = RandomTensor({1, 3, 16, 16}, 1);
    ExpectNear(RunOne(session, x), RunOne(Cnn(1).Session(OnProvider("cpu")), x));
  }
}

/// Float32, of images and of volumes.
TEST(Onednn, LeavesWhatTheCpuProviderComputesFaster) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 8, 4, 8, 8}).Output("y", ElementType::kFloat, {1, 8, 32, 8});
  const std::vector<int64_t> image = {1, 8, 32, 8};
  model.Constant("image", {4}, std::span<const int64_t>(image));
  Weights(model, "w3", {8, 8, 3, 3, 3});
  Weights(model, "w2", {8, 8, 3, 3});
  Ints(model.Node("Conv", {"x", "w3"}, {"a"}), "pads", {1, 1, 1, 1, 1, 1});
  model.Node("Relu", {"a"}, {"b"});
  model.Node("Reshape", {"b", "image"}, {"c"});
  Ints(model.Node("Conv", {"c", "w2"}, {"d"}), "pads", {1, 1, 1, 1});
  model.Node("Relu", {"d"}, {"y"});
  SessionOptions options = OnProvider("dnnl");
  options.optimization_level = OptimizationLevel::kNone;  // keeps the nodes as they are
  options.providers[0].options.clear();
  const Session session = model.Session(options);
  for (const auto& node : session.placement().nodes) {
    EXPECT_EQ(node.provider, "CPUExecutionProvider") << node.outputs[0];
    EXPECT_THAT(node.refusals[0].second, HasSubstr("computes float32 faster")) << node.outputs[0];
  }
  const Tensor x = RandomTensor({1, 8, 4, 8, 8}, 1);
  const auto expected = RunOne(model.Session(OnProvider("cpu")), x);
  ExpectNear(RunOne(session, x), expected);
  options.optimization_level = OptimizationLevel::kAll;
  ExpectNear(RunOne(model.Session(options), x), expected);
}

/// Matmuls of float32 are left everywhere, those whose operands are rounded where there are no tiles; they are rounded
/// then, too.
TEST(Onednn, ClaimsMatMulsThatItRoundsFaster) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {8, 64}).Output("y", ElementType::kFloat, {8, 32});
  Weights(model, "w", {64, 32});
  model.Node("MatMul", {"x", "w"}, {"a"});
  model.Node("Relu", {"a"}, {"y"});
  SessionOptions options = OnProvider("dnnl");
  options.providers[0].options.clear();
  const Session left = model.Session(options);
  for (const auto& node : left.placement().nodes) EXPECT_EQ(node.provider, "CPUExecutionProvider") << node.op_type;
  if (!HasBfloat16()) GTEST_SKIP() << "no matmuls of bfloat16 here";
  options.providers[0].options = {{"precision", "bf16"}};
  const Tensor x = RandomTensor({8, 64}, 1);
  const std::vector<float> expected = RunOne(model.Session(OnProvider("cpu")), x);
  for (const bool all : {false, true}) {
    if (all) options.providers[0].options.emplace("claims", "all");
    const Session session = model.Session(options);
    const bool on_cpu = !all && !onednn::HasTiles();
    const char* provider = on_cpu ? "CPUExecutionProvider" : "DnnlExecutionProvider";
    const auto placement = session.placement();
    for (const auto& node : placement.nodes) EXPECT_EQ(node.provider, provider) << node.op_type;
    EXPECT_EQ(placement.nodes.at(0).precision, on_cpu && !HasFastAvx512Bf16() ? "bf16-weights" : "bf16");
    ExpectRoughly(RunOne(session, x), expected);
  }
}

/// At bfloat16, without tiles: windows that the CPU provider transforms, unless others take most of the time.
TEST(Onednn, LeavesTransformsThatAreFasterUnrounded) {
  if (!HasBfloat16() || onednn::HasTiles()) GTEST_SKIP() << "this processor rounds none, or all";
  for (const int64_t pointwise : {0, 3}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {1, 32, 20, 20}).Output("y", ElementType::kFloat, {1, 32, 20, 20});
    Weights(model, "w3", {32, 32, 3, 3});
    Weights(model, "w1", {32, 32, 1, 1});
    for (int64_t i = 0; i < pointwise; ++i) {
      const std::string from = i == 0 ? "x" : fmt::format("p{}", i - 1);
      model.Node("Conv", {from, "w1"}, {fmt::format("p{}", i)});
    }
    Ints(model.Node("Conv", {pointwise == 0 ? "x" : "p2", "w3"}, {"a"}), "pads", {1, 1, 1, 1});
    model.Node("Relu", {"a"}, {"y"});
    SessionOptions options = OnProvider("dnnl");
    options.providers[0].options = {{"precision", "bf16"}};
    const Session session = model.Session(options);
    const bool claims = pointwise > 0 && HasFastAvx512Bf16();
    for (const auto& node : session.placement().nodes) {
      EXPECT_EQ(node.provider, claims ? "DnnlExecutionProvider" : "CPUExecutionProvider")
          << node.op_type << ", " << pointwise;
    }
    const Tensor x = RandomTensor({1, 32, 20, 20}, 1);
    ExpectRoughly(RunOne(session, x), RunOne(model.Session(OnProvider("cpu")), x));
  }
}

/// What it leaves is computed as in a session of the CPU provider alone: in blocks of channels, on threads of its own.
TEST(Onednn, WhatItLeavesIsOptimizedForTheCpuProvider) {
  SessionOptions options = OnProvider("dnnl");
  options.providers[0].options.clear();
  const Session session = Cnn(1).Session(options), reference = Cnn(1).Session(OnProvider("cpu"));
  ASSERT_EQ(session.placement().nodes.size(), reference.placement().nodes.size());
  for (size_t i = 0; i < session.placement().nodes.size(); ++i)
    EXPECT_EQ(session.placement().nodes[i].op_type, reference.placement().nodes[i].op_type);
  const Tensor x = RandomTensor({1, 3, 16, 16}, 1);
  EXPECT_EQ(RunOne(session, x), RunOne(reference, x));
}

/// A sum written over one of its terms is not read from a copy that was made of the term before.
TEST(Onednn, SumsInPlaceAreReadAnew) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 16, 8, 8}).Output("y", ElementType::kFloat, {1, 16, 8, 8});
  for (const char* name : {"w1", "w22"}) Weights(model, name, {16, 16, 3, 3});
  for (const char* name : {"m1", "m22"}) Weights(model, name, {8, 8});
  Ints(model.Node("Conv", {"x", "w1"}, {"a"}), "pads", {1, 1, 1, 1});
  model.Node("MatMul", {"a", "m1"}, {"b"});  // reads rows
  Ints(model.Node("Conv", {"b", "w22"}, {"c"}), "pads", {1, 1, 1, 1});
  model.Node("Add", {"c", "a"}, {"d"});
  model.Node("MatMul", {"d", "m22"}, {"y"});
  ExpectSameAsCpu(model, {RandomTensor({1, 16, 8, 8}, 1)});
}

TEST(Onednn, CompilesForEachBatchSize) {
  const Session session = Cnn(-1).Session(OnProvider("dnnl")), reference = Cnn(-1).Session(OnProvider("cpu"));
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
  const Session session = Cnn(-1).Session(OnProvider("dnnl")), reference = Cnn(-1).Session(OnProvider("cpu"));
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
  const Session session = Cnn(2).Session(OnProvider("dnnl"));
  const Tensor x = RandomTensor({2, 3, 16, 16}, 7);
  const auto first = RunOne(session, x);
  for (int run = 0; run < 5; ++run) EXPECT_EQ(RunOne(session, x), first);
}

TEST(Onednn, KeysTellLayoutsApart) {
  using onednn::LayoutKey, onednn::Plain;
  const onednn::Dims dims = {2, 16, 3, 5};
  EXPECT_EQ(LayoutKey(Plain(dims)), LayoutKey(Plain(dims)));
  std::set<std::string> keys;
  for (const onednn::DataType type : {onednn::DataType::f32, onednn::DataType::bf16}) {
    for (const auto& desc :
         {Plain(dims, type), Plain({2, 16, 5, 3}, type), onednn::ChannelNchw8c(dims, type), onednn::Nhwc(dims, type)})
      EXPECT_TRUE(keys.insert(LayoutKey(desc)).second) << keys.size();
  }
}

TEST(Onednn, SharesReorderedWeights) {
  using onednn::SharedWeights;
  const SharedWeights shared(HostAllocator(), nullptr);
  const Tensor tensor = RandomTensor({16, 16, 3, 3}, 3);
  const onednn::Dims dims = {16, 16, 3, 3};
  const onednn::Desc blocked(dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ABcd8b8a);
  std::weak_ptr<const dnnl::memory> watched;
  {
    const auto one = shared.InLayout(SharedWeights::Plain(tensor, onednn::Plain(dims)), blocked);
    const auto two = shared.InLayout(SharedWeights::Plain(tensor, onednn::Plain(dims)), blocked);
    EXPECT_EQ(one, two);
    watched = one;
  }
  EXPECT_TRUE(watched.expired());
  int made = 0;
  const auto make = [&](std::span<float> out) { out[0] = static_cast<float>(++made); };
  const auto one = shared.Derived("key", {tensor}, onednn::Plain({1}), make);
  EXPECT_EQ(shared.Derived("key", {tensor}, onednn::Plain({1}), make), one);
  EXPECT_NE(shared.Derived("other", {tensor}, onednn::Plain({1}), make), one);
  EXPECT_EQ(made, 2);
}

TEST(Onednn, ReorderedWeightsComeFromAContext) {
  for (const int64_t batch : {int64_t{2}, int64_t{-1}}) {
    const std::string bytes = Cnn(batch).bytes();
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / fmt::format("tessera_onednn_{}_{}", getpid(), batch);
    std::filesystem::remove(file);
    const std::vector<Value> inputs = {RandomTensor({2, 3, 16, 16}, 1)};
    SessionOptions options = OnProvider("dnnl");
    std::vector<std::vector<float>> results;
    for (int start = 0; start < 3; ++start) {
      if (start == 1) {
        options.config["session.context_enable"] = "1";
        options.config["session.context_file_path"] = file.string();
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
  auto first = std::make_unique<Session>(Cnn(1).Session(OnProvider("dnnl")));
  const Session second = Cnn(1).Session(OnProvider("dnnl"));
  const auto expected = RunOne(*first, x);
  first.reset();
  EXPECT_EQ(RunOne(second, x), expected);
}

/// One node of input x, as `prepare` completes it, and a part of why oneDNN leaves it.
struct Refusal {
  const char* name;
  const char* op;
  ElementType type;
  std::vector<int64_t> x;
  const char* reason;
  void (*prepare)(ModelBuilder& model, onnx::NodeProto& node) = [](ModelBuilder&, onnx::NodeProto&) {};
};

void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }

const Refusal kRefusals[] = {
    {"Operator", "Sign", ElementType::kFloat, {1, 8}, "no lowering"},
    {"Type", "Relu", ElementType::kDouble, {1, 8}, "an input is tensor(double); float or"},
    {"Rank", "Relu", ElementType::kFloat, {1, 1, 1, 1, 1, 1, 8}, "more than 6 dimensions"},
    {"Empty", "Relu", ElementType::kFloat, {0, 8}, "an input is empty"},
    {"Alone", "Relu", ElementType::kFloat, {1, 8}, "alone it gains nothing"},
    {"Vector",
     "MatMul",
     ElementType::kFloat,
     {8},
     "vector operands",
     [](ModelBuilder& model, onnx::NodeProto& node) {
       Weights(model, "w", {8, 8});
       node.add_input("w");
     }},
    {"TransA",
     "Gemm",
     ElementType::kFloat,
     {8, 8},
     "transposed A",
     [](ModelBuilder& model, onnx::NodeProto& node) {
       Weights(model, "w", {8, 8});
       node.add_input("w");
       Int(node, "transA", 1);
     }},
    {"Indices",
     "MaxPool",
     ElementType::kFloat,
     {1, 8, 4, 4},
     "only the first output",
     [](ModelBuilder& model, onnx::NodeProto& node) {
       Ints(node, "kernel_shape", {2, 2});
       node.add_output("i");
       model.Output("i", ElementType::kInt64, {-1, -1, -1, -1});
     }},
    {"SpatialRank",
     "Conv",
     ElementType::kFloat,
     {1, 2, 3, 3, 3, 3},
     "one to three spatial",
     [](ModelBuilder& model, onnx::NodeProto& node) {
       Weights(model, "w", {2, 2, 1, 1, 1, 1});
       node.add_input("w");
     }},
    {"DepthwiseVolume",
     "Conv",
     ElementType::kFloat,
     {1, 2, 3, 3, 3},
     "only reference code",
     [](ModelBuilder& model, onnx::NodeProto& node) {
       Weights(model, "w", {2, 1, 1, 1, 1});
       node.add_input("w");
       Int(node, "group", 2);
     }},
    {"WindowsOfPadding",
     "MaxPool",
     ElementType::kFloat,
     {1, 8, 4, 4},
     "nothing but padding",
     [](ModelBuilder&, onnx::NodeProto& node) {
       Ints(node, "kernel_shape", {2, 2});
       Ints(node, "pads", {0, 0, 0, 2});
     }},
};

class OnednnRefusals : public ::testing::TestWithParam<Refusal> {};

TEST_P(OnednnRefusals, CarryAReason) {
  const Refusal& one = GetParam();
  ModelBuilder model;
  ModelBuilder::Declare(model.proto().mutable_graph()->add_input(), "x", one.type, one.x);
  ModelBuilder::Declare(model.proto().mutable_graph()->add_output(), "y", one.type, std::vector<int64_t>(one.x.size(), -1));
  if (std::string_view(one.op) == "MatMul")
    model.proto().mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  one.prepare(model, model.Node(one.op, {"x"}, {"y"}));
  const Session session = model.Session(OnProvider("dnnl"));
  ASSERT_EQ(session.placement().nodes.size(), 1u);
  const auto& node = session.placement().nodes[0];
  EXPECT_EQ(node.provider, "CPUExecutionProvider");
  ASSERT_FALSE(node.refusals.empty());
  EXPECT_EQ(node.refusals[0].first, "DnnlExecutionProvider");
  EXPECT_THAT(node.refusals[0].second, HasSubstr(one.reason));
}

INSTANTIATE_TEST_SUITE_P(Nodes, OnednnRefusals, ::testing::ValuesIn(kRefusals),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Onednn, ABadShapeAtRunTimeIsAnErrorThatNamesTheNode) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, -1, 8, 8}).Output("y", ElementType::kFloat, {1, 4, -1, -1});
  Weights(model, "w", {4, 3, 3, 3});
  model.Node("Conv", {"x", "w"}, {"y"}, "stem");
  const Session session = model.Session(OnProvider("dnnl"));
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
}  // namespace tessera::testing
