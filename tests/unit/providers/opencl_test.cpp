// The OpenCL provider on whatever device there is, against the CPU provider; skipped where there is none.

#include "tessera/providers/opencl.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "attributes.h"
#include "model_builder.h"
#include "providers/opencl_device.h"
#include "providers/opencl_models.h"
#include "temporary_folder.h"
#include "tessera/session.h"

namespace tessera {
namespace {

using testing::Cnn;
using testing::Elsewhere;
using testing::ExpectClose;
using testing::Floats;
using ::testing::HasSubstr;
using testing::Int;
using testing::Ints;
using ::testing::IsEmpty;
using testing::kOpencl;
using testing::ModelBuilder;
using testing::OnDevice;
using testing::PlainOn;
using testing::Random;
using testing::ResultsOf;
using testing::ToVector;
using testing::Transformer;

namespace fs = std::filesystem;

const MemoryInfo kDevice{"OpenCL", DeviceType::kGpu, 0, false};

class OpenclTest : public OnDevice<> {};

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
  ExpectClose(ResultsOf(session, inputs), ResultsOf(cpu, inputs));
}

TEST_F(OpenclTest, CnnRunsWholeWithOneCopyEachWay) {
  const Session session = Cnn().Session(PlainOn(kOpencl)), cpu = Cnn().Session(PlainOn("cpu"));
  EXPECT_THAT(Elsewhere(session), IsEmpty());
  EXPECT_EQ(session.placement().copies.size(), 2u) << session.placement().ToText();
  for (unsigned seed = 0; seed < 3; ++seed) {
    const std::vector<Value> inputs = {Floats({2, 3, 17, 15}, Random(2 * 3 * 17 * 15, seed))};
    ExpectClose(ResultsOf(session, inputs), ResultsOf(cpu, inputs));
  }
}

TEST_F(OpenclTest, TransformerKeepsShapeArithmeticOnTheHost) {
  const Session session = Transformer().Session(PlainOn(kOpencl)), cpu = Transformer().Session(PlainOn("cpu"));
  EXPECT_THAT(Elsewhere(session), ::testing::UnorderedElementsAre("Shape", "Gather", "Concat", "Concat"));
  EXPECT_EQ(session.placement().copies.size(), 2u) << session.placement().ToText();
  for (const int64_t batch : {1, 3}) {
    const std::vector<Value> inputs = {
        Value(Tensor::Of<float>(Shape{batch, 5, 16}, Random(static_cast<size_t>(batch) * 80, 5)))};
    ExpectClose(ResultsOf(session, inputs), ResultsOf(cpu, inputs));
  }
}

TEST_F(OpenclTest, ConcurrentRunsDoNotDisturbEachOther) {
  const Session session = Transformer().Session(PlainOn(kOpencl)), cpu = Transformer().Session(PlainOn("cpu"));
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<Value> inputs = {Value(Tensor::Of<float>(Shape{t + 1, 5, 16}, Random((t + 1) * 80, t)))};
      const std::vector<Value> expected = ResultsOf(cpu, inputs);
      for (int i = 0; i < 10; ++i) ExpectClose(ResultsOf(session, inputs), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(OpenclTest, ElementwiseBroadcastsLikeTheCpu) {
  struct Case {
    std::vector<int64_t> a, b;
  };
  const Case cases[] = {{{3, 4}, {3, 4}}, {{3, 4}, {4}}, {{3, 4}, {3, 1}}, {{2, 1, 4}, {3, 1}},
                        {{}, {2, 2}},     {{1}, {}},     {{0, 3}, {1, 3}}};
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"}) {
    for (const Case& one : cases) {
      ModelBuilder model;
      model.Input("a", ElementType::kFloat, one.a).Input("b", ElementType::kFloat, one.b);
      model.AnyOutput("y", ElementType::kFloat);
      model.Node(op, {"a", "b"}, {"y"});
      const Session session = model.Session(PlainOn(kOpencl)), cpu = model.Session(PlainOn("cpu"));
      EXPECT_THAT(Elsewhere(session), IsEmpty());
      const Shape a(one.a), b(one.b);
      const std::vector<Value> inputs = {
          Value(Tensor::Of<float>(a, Random(static_cast<size_t>(a.num_elements()), 1, 0.1f, 2))),
          Value(Tensor::Of<float>(b, Random(static_cast<size_t>(b.num_elements()), 2, 0.1f, 2)))};
      SCOPED_TRACE(std::string(op) + a.ToString() + b.ToString());
      ExpectClose(ResultsOf(session, inputs), ResultsOf(cpu, inputs));
    }
  }
}

TEST_F(OpenclTest, ComparisonsDoNotOverwriteAnInputOfTheSameSize) {
  ModelBuilder model;  // sixteen bytes of int64, sixteen of bool
  model.Input("x", ElementType::kInt64, {2, 1})
      .Input("z", ElementType::kInt64, {1, 8})
      .Output("y", ElementType::kBool, {2, 8});
  model.Node("Add", {"x", "x"}, {"a"});
  model.Node("Less", {"a", "z"}, {"y"});
  const Session session = model.Session(PlainOn(kOpencl));
  EXPECT_THAT(Elsewhere(session), IsEmpty());
  const Value y =
      ResultsOf(session, {Value(Tensor::Of<int64_t>(Shape{2, 1}, std::vector<int64_t>{2, -1})),
                          Value(Tensor::Of<int64_t>(Shape{1, 8}, std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}))})[0];
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(y.tensor().data<bool>()[i], i < 8 ? i > 4 : true) << i;
}

TEST_F(OpenclTest, ActivationsKeepNan) {
  const std::vector<float> values = {NAN, -INFINITY, INFINITY, 0.0f, -0.0f, 1.5f, -1.5f, 100.0f, -100.0f, 1e-30f};
  for (const char* op : {"Relu", "Sigmoid", "Tanh", "Exp", "Erf", "Gelu", "Elu", "Selu", "Softplus", "Softsign", "Mish",
                         "HardSwish", "HardSigmoid", "LeakyRelu", "Abs", "Neg", "Sign", "Floor", "Round"}) {
    ModelBuilder model(22);
    model.Input("x", ElementType::kFloat, {10}).Output("y", ElementType::kFloat, {10});
    model.Node(op, {"x"}, {"y"});
    const Session session = model.Session(PlainOn(kOpencl)), cpu = model.Session(PlainOn("cpu"));
    EXPECT_THAT(Elsewhere(session), IsEmpty());
    const std::vector<Value> inputs = {Floats({10}, values)};
    SCOPED_TRACE(op);
    ExpectClose(ResultsOf(session, inputs), ResultsOf(cpu, inputs));
  }
}

TEST_F(OpenclTest, LongRowsAreReducedByManyWorkItems) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceLogSumExp"}) {
    ModelBuilder model(18);
    const std::vector<int64_t> axes = {1};
    model.Input("x", ElementType::kFloat, {3, 1000, 2})
        .Output("y", ElementType::kFloat, {3, 1, 2})
        .Constant("axes", {1}, axes);
    model.Node(op, {"x", "axes"}, {"y"});
    const Session session = model.Session(PlainOn(kOpencl)), cpu = model.Session(PlainOn("cpu"));
    EXPECT_THAT(Elsewhere(session), IsEmpty());
    const std::vector<Value> inputs = {Floats({3, 1000, 2}, Random(6000, 9))};
    SCOPED_TRACE(op);
    ExpectClose(ResultsOf(session, inputs), ResultsOf(cpu, inputs));
  }
}

TEST_F(OpenclTest, IndicesOutsideAreErrors) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {4}).Input("i", ElementType::kInt64, {2}).Output("y", ElementType::kFloat, {2});
  model.Node("Gather", {"x", "i"}, {"y"});
  const Session session = model.Session(PlainOn(kOpencl));
  EXPECT_THAT(Elsewhere(session), IsEmpty());
  const auto run = [&](std::vector<int64_t> indices) {
    return ToVector(ResultsOf(session, {Floats({4}, {1, 2, 3, 4}), Value(Tensor::Of<int64_t>(Shape{2}, indices))})[0]);
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

  ModelBuilder counting;
  counting.Input("x", ElementType::kFloat, {3}).Output("y", ElementType::kInt64, {1, -1});
  counting.Node("NonZero", {"x"}, {"y"});
  EXPECT_THAT(counting.Session(PlainOn(kOpencl)).placement().nodes.at(0).refusals.at(0).second,
              HasSubstr("each run would wait"));
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
    EXPECT_THAT(ToVector(ResultsOf(session, {Floats({4}, {-1, 2, -3, 4})})[0]), ::testing::ElementsAre(0, 2, 0, 4));
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
