#include <barrier>
#include <set>
#include <thread>

#include "error_of.h"
#include "onednn/program/program.h"
#include "onednn/program/program_cache.h"
#include "onednn_models.h"
#include "runtime/threads/openmp.h"

namespace tessera::testing {
namespace {

ModelBuilder Branches() {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {1, 8, 6, 6}).Output("y", ElementType::kFloat, {1, 8, 6, 6});
  for (const char* name : {"wa", "wb", "wc"}) Weights(model, name, {8, 8, 1, 1});
  model.Node("Conv", {"x", "wa"}, {"a"});
  model.Node("Conv", {"x", "wb"}, {"b"});
  return model;
}

/// Programs that oneDNN runs, and nodes that it does not.
std::pair<size_t, size_t> Programs(const Session& session) {
  std::set<std::string> programs;
  size_t others = 0;
  for (const auto& node : session.placement().nodes) {
    if (node.provider == "DnnlExecutionProvider") programs.insert(node.fused_into);
    else ++others;
  }
  return {programs.size(), others};
}

SessionOptions Unoptimized() {
  SessionOptions options = OnProvider("dnnl");
  options.optimization_level = OptimizationLevel::kNone;
  return options;
}

void ExpectPrograms(const ModelBuilder& model, size_t programs, size_t others) {
  const Session session = model.Session(Unoptimized());
  EXPECT_EQ(Programs(session), std::pair(programs, others));
  const Tensor x = RandomTensor({1, 8, 6, 6}, 1);
  ExpectNear(RunOne(session, x), RunOne(model.Session(OnProvider("cpu")), x));
}

TEST(OnednnRegions, BranchesThatMeetAreOne) {
  ModelBuilder model = Branches();
  model.Node("Add", {"a", "b"}, {"sum"});
  model.Node("Conv", {"sum", "wc"}, {"y"});
  ExpectPrograms(model, 1, 0);
}

/// A region of unknown sizes is compiled in the first run, after the CPU provider has packed its weights and let them go.
TEST(OnednnRegions, WeightsThatTheCpuProviderPacksToo) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1, 16})
      .Input("v", ElementType::kFloat, {16})
      .Output("y", ElementType::kFloat, {-1, 24})
      .Output("z", ElementType::kFloat, {24});
  Weights(model, "w", {16, 24});
  model.Node("MatMul", {"x", "w"}, {"p"});
  model.Node("Neg", {"p"}, {"y"});
  model.Node("MatMul", {"v", "w"}, {"z"});
  const Session session = model.Session(OnProvider("dnnl"));
  EXPECT_EQ(Programs(session).first, 1u);
  EXPECT_GE(Programs(session).second, 1u);
  const std::vector<Value> inputs = {RandomTensor({5, 16}, 1), RandomTensor({16}, 2)};
  std::vector<Value> results(2), expected(2);
  session.Run(inputs, results);
  model.Session(OnProvider("cpu")).Run(inputs, expected);
  for (size_t i = 0; i < 2; ++i) ExpectNear(ToVector(results[i]), ToVector(expected[i]));
}

/// What another provider computes between two nodes of what would be one region.
TEST(OnednnRegions, NoneWaitsForItself) {
  ModelBuilder model = Branches();
  model.Node("Sin", {"a"}, {"outside"});
  model.Node("Mul", {"outside", "b"}, {"product"});
  model.Node("Conv", {"product", "wc"}, {"c"});
  model.Node("Add", {"c", "a"}, {"y"});
  ExpectPrograms(model, 2, 1);
}

TEST(OnednnRegions, ApplicationsKeepTheirOpenMpSetting) {
  ModelBuilder model = Branches();
  model.Node("Add", {"a", "b"}, {"y"});
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  const Session session = model.Session(OnProvider("dnnl"));
  EXPECT_EQ(omp_get_max_threads(), 3);
  RunOne(session, RandomTensor({1, 8, 6, 6}, 1));
  EXPECT_EQ(omp_get_max_threads(), 3);
  omp_set_num_threads(before);
}

/// A weight that the region computes and adds to its own matmul must not become the matmul's memory.
TEST(OnednnRegions, SumsDoNotOverwriteWhatIsRead) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {8, 8}).Output("y", ElementType::kFloat, {8, 8});
  model.Node("Relu", {"x"}, {"w"});
  model.Node("MatMul", {"x", "w"}, {"product"});
  model.Node("Add", {"product", "w"}, {"y"});
  const Tensor x = RandomTensor({8, 8}, 1);
  ExpectNear(RunOne(model.Session(Unoptimized()), x), RunOne(model.Session(OnProvider("cpu")), x));
}

/// A matmul's own operand is what is added to it; in one run its description is the result's, too.
struct OwnAddend {
  const char* name;
  const char* op;
  std::vector<int64_t> x, w;
  int64_t group;
  bool of_weights;  // else of x
};

TEST(OnednnRegions, SumsDoNotOverwriteTheirConvolutionsOperands) {
  const OwnAddend cases[] = {{"weights in groups", "Conv", {6, 18, 5, 5}, {6, 6, 3, 3}, 3, true},
                             {"weights", "Conv", {6, 6, 5, 5}, {6, 6, 3, 3}, 1, true},
                             {"pixels", "Conv", {16, 16, 1, 1}, {16, 16, 1, 1}, 1, true},
                             {"input", "Conv", {2, 32, 9, 9}, {32, 32, 3, 3}, 1, false},
                             {"input in groups", "Conv", {2, 32, 9, 9}, {32, 16, 3, 3}, 2, false},
                             {"input of each channel", "Conv", {2, 32, 9, 9}, {32, 1, 3, 3}, 32, false},
                             {"transposed, weights", "ConvTranspose", {6, 6, 1, 1}, {6, 6, 3, 3}, 1, true},
                             {"transposed, input", "ConvTranspose", {2, 32, 9, 9}, {32, 32, 3, 3}, 1, false},
                             {"transposed, input in groups", "ConvTranspose", {2, 32, 9, 9}, {32, 16, 3, 3}, 2, false}};
  for (const OwnAddend& one : cases) {
    for (const bool relu_between : {false, true}) {
      SCOPED_TRACE(::testing::Message() << one.name << ", Relu between: " << relu_between);
      ModelBuilder model(17);
      model.Input("x", ElementType::kFloat, one.x).Input("w", ElementType::kFloat, one.w);
      model.Output("y", ElementType::kFloat, {-1, -1, -1, -1});
      // Computed in the region, x as convolutions lay it out, and nothing else reads them.
      Weights(model, "before", {one.x[1], one.x[1], 1, 1});
      model.Node("Conv", {"x", "before"}, {"tx"});
      model.Node("Tanh", {"w"}, {"tw"});
      auto& convolution = model.Node(one.op, {"tx", "tw"}, {"c"});
      Int(convolution, "group", one.group);
      if (!one.of_weights) Ints(convolution, "pads", {1, 1, 1, 1});  // results as large as x
      if (relu_between) model.Node("Relu", {"c"}, {"r"});
      model.Node("Add", {relu_between ? "r" : "c", one.of_weights ? "tw" : "tx"}, {"y"});
      const std::vector<Value> inputs = {RandomTensor(Shape(one.x), 1), RandomTensor(Shape(one.w), 2)};
      SessionOptions plain = OnProvider("cpu");
      plain.optimization_level = OptimizationLevel::kNone;
      std::vector<Value> results(1), expected(1);
      model.Session(Unoptimized()).Run(inputs, results);
      model.Session(plain).Run(inputs, expected);
      ExpectNear(ToVector(results[0]), ToVector(expected[0]));
    }
  }
}

/// What two readers want of a term that a sum could be written over: none reads what is there no more.
TEST(OnednnRegions, SumsDoNotOverwriteWhatOthersRead) {
  for (const char* reader : {"Conv", "Add", "Concat", "MatMul"}) {
    for (const bool later : {false, true}) {
      SCOPED_TRACE(::testing::Message() << reader << ", after the sum: " << later);
      ModelBuilder model(17);
      model.Input("x", ElementType::kFloat, {1, 16, 6, 6})
          .Output("y", ElementType::kFloat, {1, 16, 6, 6})
          .Output("z", ElementType::kFloat, {-1, -1, -1, -1});
      for (const char* name : {"wa", "wb", "wc"}) Weights(model, name, {16, 16, 1, 1});
      Weights(model, "m", {6, 6});
      model.Node("Conv", {"x", "wa"}, {"a"});
      const auto read = [&] {
        const std::string_view op = reader;
        if (op == "Conv") model.Node("Conv", {"a", "wc"}, {"z"});
        if (op == "Add") model.Node("Add", {"a", "x"}, {"z"});
        if (op == "MatMul") model.Node("MatMul", {"a", "m"}, {"z"});
        if (op == "Concat") Int(model.Node("Concat", {"a", "x"}, {"z"}), "axis", 1);
      };
      if (!later) read();
      model.Node("Conv", {"x", "wb"}, {"b"});
      model.Node("Add", {"b", "a"}, {"s"});
      if (later) read();
      model.Node("Relu", {"s"}, {"y"});
      SessionOptions plain = OnProvider("cpu");
      plain.optimization_level = OptimizationLevel::kNone;
      const std::vector<Value> inputs = {RandomTensor({1, 16, 6, 6}, 1)};
      std::vector<Value> results(2), expected(2);
      model.Session(Unoptimized()).Run(inputs, results);
      model.Session(plain).Run(inputs, expected);
      for (size_t i = 0; i < 2; ++i) ExpectNear(ToVector(results[i]), ToVector(expected[i]));
    }
  }
}

/// Convolutions in blocks of channels beside matmuls of rows, of images whose number and height are open.
ModelBuilder Conversions() {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {-1, 16, -1, 6}).Output("y", ElementType::kFloat, {-1, 16, -1, 5});
  for (const char* name : {"wa", "wb"}) Weights(model, name, {16, 16, 3, 3});
  Weights(model, "m", {6, 5});
  Weights(model, "bias", {1, 16, 4, 6});
  Ints(model.Node("Conv", {"x", "wa"}, {"a"}), "pads", {1, 1, 1, 1});
  model.Node("Add", {"a", "bias"}, {"s"}, "sum");  // of 4 or 1 rows
  Ints(model.Node("Conv", {"s", "wb"}, {"b"}), "pads", {1, 1, 1, 1});
  model.Node("MatMul", {"b", "m"}, {"y"});
  return model;
}

/// Many threads whose first runs are of shapes of their own, and of the same.
TEST(OnednnRegions, FirstRunsOfManyThreads) {
  ModelBuilder open = Conversions();
  open.proto().mutable_graph()->mutable_node(1)->set_op_type("Relu");
  open.proto().mutable_graph()->mutable_node(1)->mutable_input()->RemoveLast();
  constexpr size_t kThreads = 12;
  const Session reference = open.Session(OnProvider("cpu"));
  std::vector<Tensor> inputs;
  std::vector<std::vector<float>> expected;
  for (size_t i = 0; i < kThreads; ++i) {
    inputs.push_back(RandomTensor({1 + static_cast<int64_t>(i % 4), 16, 3 + static_cast<int64_t>(i / 4) * 5, 6},
                                  static_cast<unsigned>(i)));
    expected.push_back(RunOne(reference, inputs.back()));
  }
  for (int round = 0; round < 5; ++round) {
    const Session session = open.Session(Unoptimized());
    std::vector<std::vector<float>> actual(kThreads);
    std::barrier start(kThreads);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        actual[i] = RunOne(session, inputs[(i + static_cast<size_t>(round)) % kThreads]);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < kThreads; ++i) ExpectNear(actual[i], expected[(i + static_cast<size_t>(round)) % kThreads]);
  }
}

/// A run that fails while the region's layouts are chosen, between others and beside them.
TEST(OnednnRegions, FailuresBetweenLayoutsLeaveTheSession) {
  const ModelBuilder model = Conversions();
  const Session session = model.Session(Unoptimized()), reference = model.Session(OnProvider("cpu"));
  const Tensor good = RandomTensor({2, 16, 4, 6}, 1), bad = RandomTensor({2, 16, 5, 6}, 2);
  const std::vector<float> expected = RunOne(reference, good);
  EXPECT_NE(ErrorOf([&] { RunOne(session, bad); }).find("sum"), std::string::npos);
  ExpectNear(RunOne(session, good), expected);
  std::vector<std::thread> threads;
  std::vector<std::string> errors(6);
  std::vector<std::vector<float>> actual(6);
  for (size_t i = 0; i < errors.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int run = 0; run < 10; ++run) {
        if (i % 2 == 0) errors[i] = ErrorOf([&] { RunOne(session, bad); });
        else actual[i] = RunOne(session, good);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < errors.size(); ++i) {
    if (i % 2 == 0) EXPECT_NE(errors[i].find("sum"), std::string::npos) << errors[i];
    else ExpectNear(actual[i], expected);
  }
}

/// No room for what lies between two layouts is an error of that run.
TEST(OnednnRegions, NoRoomForLayoutsLeavesTheSession) {
  const ModelBuilder model = Conversions();
  SessionOptions options = Unoptimized();
  options.arena.limit = 1 << 20;
  const Session session = model.Session(options);
  const Tensor few = RandomTensor({2, 16, 4, 6}, 1), many = RandomTensor({2000, 16, 4, 6}, 2);
  const std::vector<float> expected = RunOne(model.Session(OnProvider("cpu")), few);
  for (int run = 0; run < 3; ++run) {
    EXPECT_NE(ErrorOf([&] { RunOne(session, many); }).find("limit"), std::string::npos);
    ExpectNear(RunOne(session, few), expected);
  }
}

TEST(OnednnRegions, ProgramsAreMadeOnceForEachShapeAndTeam) {
  int made = 0;
  onednn::ProgramCache cache([&](const std::vector<Shape>&, int team) {
    ++made;
    auto program = std::make_shared<onednn::Program>();
    program->threads = team;
    return program;
  });
  const auto find = [&](int64_t size, int team) {
    const Shape shape{size};
    const Shape* pointer = &shape;
    return cache.Find({&pointer, 1}, team);
  };
  std::vector<std::shared_ptr<onednn::Program>> programs;
  for (int64_t size = 0; size < 100; ++size) programs.push_back(find(size, 2));
  for (int64_t size = 0; size < 100; ++size) EXPECT_EQ(find(size, 2), programs[static_cast<size_t>(size)]);
  EXPECT_EQ(made, 100);
  EXPECT_NE(find(7, 1), programs[7]);
  EXPECT_EQ(find(7, 1)->threads, 1);
  EXPECT_EQ(made, 101);
}

/// Uses the stack that calls before this one used.
[[gnu::noinline]] void ClearStack() {
  volatile char room[16384];
  for (volatile char& byte : room) byte = 0;
}

template <class Description>
int CountImplementations(Description description) {
  int count = 1;
  for (ClearStack(); description.next_impl(); ClearStack()) ++count;
  return count;
}

[[gnu::noinline]] auto Pointwise(const onednn::Desc& out, const dnnl::primitive_attr& attr) {
  const onednn::Desc bias = onednn::Plain({64});
  return onednn::ConvolutionDesc(onednn::CpuEngine(), onednn::AnyLayout({1, 32, 24, 24}), onednn::AnyLayout({64, 32, 1, 1}),
                                 &bias, out, {{1, 1}, {2, 2}, {0, 0}, {0, 0}, {0, 0}}, attr);
}

/// oneDNN 2.6 reads what a description was made from at each move: it found nothing, or divided by strides of 0, where that
/// was gone.
TEST(OnednnRegions, DescriptionsMoveOn) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const Shape shape = {1, 64, 12, 12};
  for (const auto& out : {onednn::AnyLayout(onednn::ToDims(shape)), onednn::ChannelNchw8c(onednn::ToDims(shape))}) {
    EXPECT_GT(CountImplementations(Pointwise(out, attr)), 1);
  }
}

}  // namespace
}  // namespace tessera::testing
