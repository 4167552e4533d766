// What a session writes as JSON. In a file of its own: each that parses JSON takes ten seconds to build.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "model_builder.h"
#include "runtime/threads/thread_pools.h"
#include "toy_provider.h"

namespace tessera {
namespace {

using testing::AddModel;
using testing::Floats;
using testing::ModelBuilder;
using testing::OnToy;

TEST(Reports, WritePlacement) {
  ModelBuilder model = AddModel();
  model.Output("n", ElementType::kFloat, {2}).Node("Neg", {"y"}, {"n"}, "negate");
  SessionOptions options = OnToy({{"ops", "Add"}, {"device", "1"}});
  options.config["session.min_island_nodes"] = "0";
  const Session session = model.Session(options);
  const auto json = nlohmann::json::parse(session.placement().ToJson());
  EXPECT_EQ(json["providers"][0]["name"], "ToyExecutionProvider");
  EXPECT_EQ(json["providers"][0]["status"], "active");
  EXPECT_EQ(json["providers"][0]["nodes"], 1);
  EXPECT_EQ(json["nodes"][1]["op_type"], "Neg");
  EXPECT_EQ(json["nodes"][1]["since_version"], 13);
  EXPECT_EQ(json["nodes"][1]["refusals"][0]["reason"], "not among the ops");
  EXPECT_EQ(json["copies"].size(), 3u);
  EXPECT_EQ(json["copies"][2]["from"], "Toy");
}

TEST(Reports, WriteATrace) {
  SessionOptions options = OnToy({});
  options.profile_prefix = std::filesystem::path(::testing::TempDir()) / "trace";
  Session session = AddModel().Session(options);
  std::vector<Value> results(1);
  session.Run(std::vector<Value>{Floats({2}, {1, 2}), Floats({2}, {1, 1})}, results);
  const std::filesystem::path path = session.EndProfiling();
  std::ifstream file(path);
  const auto trace = nlohmann::json::parse(file);
  bool node = false, load = false;
  std::map<int64_t, std::string> rows;
  for (const auto& event : trace) {
    if (event["ph"] == "M") {
      if (event["name"] == "thread_name") rows[event["tid"]] = event["args"]["name"];
      continue;
    }
    EXPECT_TRUE(rows.contains(event["tid"])) << event;
    node |= event["cat"] == "Node" && event["name"] == "Add 'sum'" && event["args"]["provider"] == "ToyExecutionProvider" &&
            event["args"]["inputs"] == "float[2], float[2]" && event["args"]["outputs"] == "float[2]" &&
            event["args"]["bytes"] == 24 && event["args"]["flops"] == 2;
    EXPECT_EQ(event["ph"], "X");
    EXPECT_GT(event["tid"], 0);
    EXPECT_GE(event["dur"], 0);
    load |= event["cat"] == "Load" && event["name"] == "partition";
  }
  EXPECT_TRUE(node);
  EXPECT_TRUE(load);
  std::filesystem::remove(path);
}

/// Weights that a kernel has packed are told of as the model has them.
TEST(Reports, TellTheWorkOfEachNode) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {1, 3, 8, 8}).Output("y", ElementType::kFloat, {1, 16, 6, 6});
  model.Constant("w", {16, 3, 3, 3}, std::vector<float>(16 * 3 * 3 * 3, 0.5f));
  model.Node("Conv", {"x", "w"}, {"y"}, "conv");
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  options.profile_prefix = std::filesystem::path(::testing::TempDir()) / "work";
  Session session = model.Session(options);
  std::vector<Value> results(1);
  session.Run(std::vector<Value>{Floats({1, 3, 8, 8}, std::vector<float>(3 * 8 * 8, 1.0f))}, results);
  const std::filesystem::path path = session.EndProfiling();
  std::ifstream file(path);
  double flops = 0;
  for (const auto& event : nlohmann::json::parse(file)) {
    if (event.value("cat", "") != "Node" || !event["args"].contains("flops")) continue;
    flops += event["args"]["flops"].get<double>();
    EXPECT_NE(event["args"].value("kernel", ""), "") << event;
    EXPECT_THAT(event["args"]["inputs"].get<std::string>(), ::testing::HasSubstr("float[16,3,3,3]"));
    EXPECT_GE(event["args"]["bytes"].get<size_t>(), 4u * (3 * 64 + 16 * 27 + 16 * 36));
  }
  EXPECT_EQ(flops, 2.0 * 16 * 36 * 27);
  std::filesystem::remove(path);
}

TEST(Reports, TellTheThreadsOfParallelBranches) {
  if (UsableCores() < 2) GTEST_SKIP() << "one core has one thread between operators";
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {2, 3});
  for (const char* name : {"y", "z"}) {
    model.Output(name, ElementType::kFloat, {2, 3});
    model.Node("Softplus", {"x"}, {name}, name);
  }
  SessionOptions options = OnToy();
  options.execution_mode = ExecutionMode::kParallel;
  options.inter_op_threads = 2;
  options.optimization_level = OptimizationLevel::kNone;
  options.profile_prefix = std::filesystem::path(::testing::TempDir()) / "parallel";
  Session session = model.Session(options);
  std::vector<Value> results(2);
  session.Run(std::vector<Value>{Floats({2, 3}, {1, 2, 3, 4, 5, 6})}, results);
  const std::filesystem::path path = session.EndProfiling();
  std::ifstream file(path);
  std::vector<int64_t> threads;
  for (const auto& event : nlohmann::json::parse(file)) {
    if (event.value("cat", "") != "Node") continue;
    threads.push_back(event["tid"]);
    EXPECT_EQ(event["args"]["op_type"], "Softplus");
    EXPECT_EQ(event["args"]["provider"], "ToyExecutionProvider");
    EXPECT_EQ(event["args"]["inputs"], "float[2,3]");
    EXPECT_EQ(event["args"]["outputs"], "float[2,3]");
  }
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_NE(threads[0], threads[1]);  // each waited for the other to begin
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tessera
