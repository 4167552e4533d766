// The OpenCL provider on whatever device there is, against the CPU provider; skipped where there is none.

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "attributes.h"
#include "model_builder.h"
#include "providers/opencl_device.h"
#include "temporary_folder.h"
#include "tessera/providers/opencl.h"
#include "tessera/session.h"

namespace tessera {
namespace {

using testing::Floats;
using testing::Int;
using testing::Ints;
using testing::kOpencl;
using testing::ModelBuilder;
using testing::NeedDevice;
using testing::PlainOn;
using testing::Random;
using testing::ToVector;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

const MemoryInfo kDevice{"OpenCL", DeviceType::kGpu, 0, false};

class OpenclTest : public ::testing::Test {
 protected:
  void SetUp() override { NeedDevice(); }

  /// Convolutions with bias, groups, strides and a residual sum; pooling, normalization, a classifier.
  static ModelBuilder Cnn() {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {2, 3, 17, 15}).Output("y", ElementType::kFloat, {2, 10});
    const auto weights = [&](const char* name, std::initializer_list<int64_t> dims, unsigned seed, float low = -0.5f, float high = 0.5f) {
      size_t count = 1;
      for (int64_t dim : dims) count *= static_cast<size_t>(dim);
      model.Constant(name, dims, Random(count, seed, low, high));
    };
    weights("w1", {8, 3, 3, 3}, 1);
    weights("b1", {8}, 2);
    weights("scale", {8}, 3, 0.5f, 1.5f);
    weights("bias", {8}, 4);
    weights("mean", {8}, 5);
    weights("variance", {8}, 6, 0.5f, 1.5f);
    weights("w2", {8, 4, 3, 3}, 7);
    weights("w3", {10, 8}, 8);
    weights("b3", {10}, 9);
    auto& first = model.Node("Conv", {"x", "w1", "b1"}, {"c1"});
    Ints(first, "pads", {1, 1, 1, 1});
    Ints(first, "strides", {2, 1});
    model.Node("BatchNormalization", {"c1", "scale", "bias", "mean", "variance"}, {"n1"});
    model.Node("Relu", {"n1"}, {"r1"});
    auto& grouped = model.Node("Conv", {"r1", "w2"}, {"c2"});
    Ints(grouped, "pads", {1, 1, 1, 1});
    Int(grouped, "group", 2);
    model.Node("Add", {"c2", "r1"}, {"s"});
    auto& pool = model.Node("MaxPool", {"s"}, {"p"});
    Ints(pool, "kernel_shape", {3, 3});
    Ints(pool, "strides", {2, 2});
    model.Node("GlobalAveragePool", {"p"}, {"g"});
    model.Node("Flatten", {"g"}, {"f"});
    Int(model.Node("Gemm", {"f", "w3", "b3"}, {"l"}), "transB", 1);
    model.Node("Softmax", {"l"}, {"y"});
    return model;
  }

  /// One layer: attention of two heads over a batch whose size is not known, with shape arithmetic, then the feed-forward part.
  static ModelBuilder Transformer() {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {-1, 5, 16}).Output("y", ElementType::kFloat, {-1, 5, 16});
    const std::vector<int64_t> zero = {0}, tail = {5, 2, 8}, merged = {5, 16};
    model.Constant("zero", {1}, zero).Constant("tail", {3}, tail).Constant("merged", {2}, merged);
    unsigned seed = 20;
    for (const char* name : {"wq", "wk", "wv", "wo"}) model.Constant(name, {16, 16}, Random(256, seed++, -0.3f, 0.3f));
    for (const char* name : {"g", "b"}) model.Constant(name, {16}, Random(16, seed++));
    model.Constant("w1", {16, 64}, Random(1024, 30, -0.3f, 0.3f)).Constant("w2", {64, 16}, Random(1024, 31, -0.3f, 0.3f));
    const std::vector<float> root = {std::sqrt(8.0f)};
    model.Constant("root", {}, root);
    model.Node("LayerNormalization", {"x", "g", "b"}, {"n1"});
    model.Node("Shape", {"x"}, {"shape"});
    model.Node("Gather", {"shape", "zero"}, {"batch"});
    Int(model.Node("Concat", {"batch", "tail"}, {"split"}), "axis", 0);
    Int(model.Node("Concat", {"batch", "merged"}, {"join"}), "axis", 0);
    for (const std::string part : {"q", "k", "v"}) {
      model.Node("MatMul", {"n1", "w" + part}, {part + "1"});
      model.Node("Reshape", {part + "1", "split"}, {part + "2"});
      Ints(model.Node("Transpose", {part + "2"}, {part}), "perm", part == "k" ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3});
    }
    model.Node("MatMul", {"q", "k"}, {"scores"});
    model.Node("Div", {"scores", "root"}, {"scaled"});
    model.Node("Softmax", {"scaled"}, {"p"});
    model.Node("MatMul", {"p", "v"}, {"heads"});
    Ints(model.Node("Transpose", {"heads"}, {"turned"}), "perm", {0, 2, 1, 3});
    model.Node("Reshape", {"turned", "join"}, {"joined"});
    model.Node("MatMul", {"joined", "wo"}, {"attention"});
    model.Node("Add", {"attention", "x"}, {"a"});
    model.Node("LayerNormalization", {"a", "g", "b"}, {"n2"});
    model.Node("MatMul", {"n2", "w1"}, {"h"});
    model.Node("Gelu", {"h"}, {"act"});
    model.Node("MatMul", {"act", "w2"}, {"o"});
    model.Node("Add", {"o", "a"}, {"y"});
    return model;
  }

  static std::vector<Value> Run(const Session& session, const std::vector<Value>& inputs) {
    std::vector<Value> results(session.outputs().size());
    session.Run(inputs, results);
    return results;
  }

  static void ExpectClose(const Value& actual, const Value& expected, float tolerance = 1e-4f) {
    const auto a = ToVector(actual), e = ToVector(expected);
    ASSERT_EQ(actual.tensor().shape().ToString(), expected.tensor().shape().ToString());
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(e[i])) {
        EXPECT_TRUE(std::isnan(a[i])) << "element " << i;
      } else if (std::isinf(e[i])) {
        EXPECT_EQ(a[i], e[i]) << "element " << i;
      } else {
        EXPECT_NEAR(a[i], e[i], tolerance * (1 + std::abs(e[i]))) << "element " << i;
      }
    }
  }

  static std::vector<std::string> Elsewhere(const Session& session) {
    std::vector<std::string> nodes;
    for (const auto& node : session.placement().nodes) {
      if (node.provider != kOpencl) nodes.push_back(node.op_type);
    }
    return nodes;
  }
};

TEST_F(OpenclTest, CopiesBetweenHostAndDevice) {
  const Session session = Cnn().Session(PlainOn(kOpencl));
  Allocator& allocator = session.allocator(kDevice);
  for (const int64_t count : {1, 7, 1000, 100000}) {
    const std::vector<float> values = Random(static_cast<size_t>(count), 1);
    const Tensor host = Tensor::Of<float>(Shape{count}, values);
    Tensor first(ElementType::kFloat, Shape{count}, allocator), second(ElementType::kFloat, Shape{count}, allocator);
    ASSERT_EQ(first.memory(), kDevice);
    Tensor back(ElementType::kFloat, Shape{count});
    session.Copy(host, first);
    session.Copy(first, second);
    session.Copy(second, back);
    EXPECT_EQ(ToVector(Value(back)), values);
  }
}

TEST_F(OpenclTest, MemoryLimitIsAnErrorAfterWhichTheSessionWorks) {
  const Session session = Cnn().Session(PlainOn(kOpencl, {{"gpu_mem_limit", "4M"}}));
  EXPECT_THROW(Tensor(ElementType::kFloat, Shape{1 << 22}, session.allocator(kDevice)), Error);
  const Session cpu = Cnn().Session(PlainOn("cpu"));
  const std::vector<Value> inputs = {Floats({2, 3, 17, 15}, Random(2 * 3 * 17 * 15, 3))};
  ExpectClose(Run(session, inputs)[0], Run(cpu, inputs)[0]);
}

TEST_F(OpenclTest, CnnRunsWholeWithOneCopyEachWay) {
  const Session session = Cnn().Session(PlainOn(kOpencl)), cpu = Cnn().Session(PlainOn("cpu"));
  EXPECT_THAT(Elsewhere(session), IsEmpty());
  EXPECT_EQ(session.placement().copies.size(), 2u) << session.placement().ToText();
  for (unsigned seed = 0; seed < 3; ++seed) {
    const std::vector<Value> inputs = {Floats({2, 3, 17, 15}, Random(2 * 3 * 17 * 15, seed))};
    ExpectClose(Run(session, inputs)[0], Run(cpu, inputs)[0]);
  }
}

TEST_F(OpenclTest, TransformerKeepsShapeArithmeticOnTheHost) {
  const Session session = Transformer().Session(PlainOn(kOpencl)), cpu = Transformer().Session(PlainOn("cpu"));
  EXPECT_THAT(Elsewhere(session), ::testing::UnorderedElementsAre("Shape", "Gather", "Concat", "Concat"));
  EXPECT_EQ(session.placement().copies.size(), 2u) << session.placement().ToText();
  for (const int64_t batch : {1, 3}) {
    const std::vector<Value> inputs = {
        Value(Tensor::Of<float>(Shape{batch, 5, 16}, Random(static_cast<size_t>(batch) * 80, 5)))};
    ExpectClose(Run(session, inputs)[0], Run(cpu, inputs)[0]);
  }
}

TEST_F(OpenclTest, ConcurrentRunsDoNotDisturbEachOther) {
  const Session session = Transformer().Session(PlainOn(kOpencl)), cpu = Transformer().Session(PlainOn("cpu"));
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<Value> inputs = {Value(Tensor::Of<float>(Shape{t + 1, 5, 16}, Random((t + 1) * 80, t)))};
      const std::vector<Value> expected = Run(cpu, inputs);
      for (int i = 0; i < 10; ++i) ExpectClose(Run(session, inputs)[0], expected[0]);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(OpenclTest, ElementwiseBroadcastsLikeTheCpu) {
  struct Case {
    std::initializer_list<int64_t> a, b;
  };
  const Case cases[] = {{{3, 4}, {3, 4}}, {{3, 4}, {4}}, {{3, 4}, {3, 1}}, {{2, 1, 4}, {3, 1}}, {{}, {2, 2}}, {{1}, {}}, {{0, 3}, {1, 3}}};
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"}) {
    for (const Case& one : cases) {
      ModelBuilder model;
      model.Input("a", ElementType::kFloat, one.a).Input("b", ElementType::kFloat, one.b);
      model.Output("y", ElementType::kFloat, {});
      model.proto().mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
      model.Node(op, {"a", "b"}, {"y"});
      const Session session = model.Session(PlainOn(kOpencl)), cpu = model.Session(PlainOn("cpu"));
      EXPECT_THAT(Elsewhere(session), IsEmpty());
      const Shape a(one.a), b(one.b);
      const std::vector<Value> inputs = {
          Value(Tensor::Of<float>(a, Random(static_cast<size_t>(a.num_elements()), 1, 0.1f, 2))),
          Value(Tensor::Of<float>(b, Random(static_cast<size_t>(b.num_elements()), 2, 0.1f, 2)))};
      SCOPED_TRACE(std::string(op) + a.ToString() + b.ToString());
      ExpectClose(Run(session, inputs)[0], Run(cpu, inputs)[0]);
    }
  }
}

TEST_F(OpenclTest, ComparisonsDoNotOverwriteAnInputOfTheSameSize) {
  ModelBuilder model;  // sixteen bytes of int64, sixteen of bool
  model.Input("x", ElementType::kInt64, {2, 1}).Input("z", ElementType::kInt64, {1, 8}).Output("y", ElementType::kBool, {2, 8});
  model.Node("Add", {"x", "x"}, {"a"});
  model.Node("Less", {"a", "z"}, {"y"});
  const Session session = model.Session(PlainOn(kOpencl));
  EXPECT_THAT(Elsewhere(session), IsEmpty());
  const Value y = Run(session, {Value(Tensor::Of<int64_t>(Shape{2, 1}, std::vector<int64_t>{2, -1})),
                                Value(Tensor::Of<int64_t>(Shape{1, 8}, std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}))})[0];
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(y.tensor().data<bool>()[i], i < 8 ? i > 4 : true) << i;
}

TEST_F(OpenclTest, ActivationsKeepNan) {
  const std::vector<float> values = {NAN, -INFINITY, INFINITY, 0.0f, -0.0f, 1.5f, -1.5f, 100.0f, -100.0f, 1e-30f};
  for (const char* op : {"Relu", "Sigmoid", "Tanh", "Exp", "Erf", "Gelu", "Elu", "Selu", "Softplus", "Softsign", "Mish", "HardSwish",
                         "HardSigmoid", "LeakyRelu", "Abs", "Neg", "Sign", "Floor", "Round"}) {
    ModelBuilder model(22);
    model.Input("x", ElementType::kFloat, {10}).Output("y", ElementType::kFloat, {10});
    model.Node(op, {"x"}, {"y"});
    const Session session = model.Session(PlainOn(kOpencl)), cpu = model.Session(PlainOn("cpu"));
    EXPECT_THAT(Elsewhere(session), IsEmpty());
    const std::vector<Value> inputs = {Floats({10}, values)};
    SCOPED_TRACE(op);
    ExpectClose(Run(session, inputs)[0], Run(cpu, inputs)[0]);
  }
}

TEST_F(OpenclTest, LongRowsAreReducedByManyWorkItems) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceLogSumExp"}) {
    ModelBuilder model(18);
    const std::vector<int64_t> axes = {1};
    model.Input("x", ElementType::kFloat, {3, 1000, 2}).Output("y", ElementType::kFloat, {3, 1, 2}).Constant("axes", {1}, axes);
    model.Node(op, {"x", "axes"}, {"y"});
    const Session session = model.Session(PlainOn(kOpencl)), cpu = model.Session(PlainOn("cpu"));
    EXPECT_THAT(Elsewhere(session), IsEmpty());
    const std::vector<Value> inputs = {Floats({3, 1000, 2}, Random(6000, 9))};
    SCOPED_TRACE(op);
    ExpectClose(Run(session, inputs)[0], Run(cpu, inputs)[0]);
  }
}

TEST_F(OpenclTest, IndicesOutsideAreErrors) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {4}).Input("i", ElementType::kInt64, {2}).Output("y", ElementType::kFloat, {2});
  model.Node("Gather", {"x", "i"}, {"y"});
  const Session session = model.Session(PlainOn(kOpencl));
  EXPECT_THAT(Elsewhere(session), IsEmpty());
  const auto run = [&](std::vector<int64_t> indices) {
    return ToVector(Run(session, {Floats({4}, {1, 2, 3, 4}), Value(Tensor::Of<int64_t>(Shape{2}, indices))})[0]);
  };
  EXPECT_THAT(run({3, -4}), ::testing::ElementsAre(4, 1));
  EXPECT_THROW(run({0, 4}), Error);
  EXPECT_THROW(run({-5, 0}), Error);
  EXPECT_THAT(run({0, -1}), ::testing::ElementsAre(1, 4));
}

TEST_F(OpenclTest, RefusalsSayWhy) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {3}).Output("y", ElementType::kFloat, {3});
  auto* equation = model.Node("Einsum", {"x", "x", "x"}, {"y"}).add_attribute();
  equation->set_name("equation");
  equation->set_type(onnx::AttributeProto::STRING);
  equation->set_s("i,i,i->i");
  const Session session = model.Session(PlainOn(kOpencl));
  const auto& node = session.placement().nodes.at(0);
  EXPECT_EQ(node.provider, "CPUExecutionProvider");
  ASSERT_EQ(node.refusals.size(), 1u);
  EXPECT_EQ(node.refusals[0].first, kOpencl);
  EXPECT_THAT(node.refusals[0].second, HasSubstr("three operands"));
}

TEST_F(OpenclTest, ProgramsAreKeptOnDiskAndDamagedOnesRebuilt) {
  const testing::TemporaryFolder temporary;
  const fs::path folder = temporary.path();
  ModelBuilder model(22);
  model.Input("x", ElementType::kFloat, {4}).Output("y", ElementType::kFloat, {4});
  model.Node("Relu", {"x"}, {"y"});
  // Devices are kept for each path as it is written: another spelling of the folder is another process's view of it.
  std::string spelling = folder.string();
  const auto run = [&] {
    const Session session = model.Session(PlainOn(kOpencl, {{"program_cache_path", spelling += "/."}}));
    EXPECT_THAT(Elsewhere(session), IsEmpty());
    EXPECT_THAT(ToVector(Run(session, {Floats({4}, {-1, 2, -3, 4})})[0]), ::testing::ElementsAre(0, 2, 0, 4));
  };
  run();  // cold
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  ASSERT_EQ(files.size(), 1u);
  const auto contents = [&] {
    std::ifstream file(files[0], std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string whole = contents();
  const auto written = fs::last_write_time(files[0]);
  run();  // warm
  EXPECT_EQ(fs::last_write_time(files[0]), written);
  for (const size_t size : {size_t{0}, whole.size() / 2}) {
    fs::resize_file(files[0], size);
    run();
    EXPECT_GT(contents().size(), whole.size() / 2);
  }
  {
    std::fstream file(files[0], std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(whole.size() - 100));
    file << "damaged";
  }
  run();
  EXPECT_EQ(contents().find("damaged"), std::string::npos);
}

TEST(Opencl, IsSkippedWithAReasonWhereNothingFits) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1}).Output("y", ElementType::kFloat, {1});
  model.Node("Relu", {"x"}, {"y"});
  SessionOptions options = PlainOn(kOpencl, {{"platform", "no such platform"}});
  EXPECT_THROW(model.Session(options), Error);
  options.error_on_failure = false;
  options.log_level = LogLevel::kFatal;
  const Session session = model.Session(options);
  EXPECT_EQ(session.placement().nodes.at(0).provider, "CPUExecutionProvider");
  EXPECT_THAT(session.placement().providers.at(0).status, HasSubstr("there is no OpenCL device"));
}

}  // namespace
}  // namespace tessera
