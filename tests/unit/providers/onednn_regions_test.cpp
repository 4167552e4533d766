#include <omp.h>

#include <set>

#include "onednn/program_cache.h"
#include "onednn_models.h"

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

/// A weight that the region computes and adds to its own product must not become the product's memory.
TEST(OnednnRegions, SumsDoNotOverwriteWhatIsRead) {
  ModelBuilder model(17);
  model.Input("x", ElementType::kFloat, {8, 8}).Output("y", ElementType::kFloat, {8, 8});
  model.Node("Relu", {"x"}, {"w"});
  model.Node("MatMul", {"x", "w"}, {"product"});
  model.Node("Add", {"product", "w"}, {"y"});
  const Tensor x = RandomTensor({8, 8}, 1);
  ExpectNear(RunOne(model.Session(Unoptimized()), x), RunOne(model.Session(OnProvider("cpu")), x));
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

}  // namespace
}  // namespace tessera::testing
