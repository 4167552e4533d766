#include <gmock/gmock.h>

#include <fstream>
#include <thread>

#include "base/log.h"
#include "error_of.h"
#include "model_builder.h"
#include "runtime/threads/thread_pools.h"
#include "session/session_state.h"
#include "toy_provider.h"

namespace tessera {
namespace {

using testing::AddModel;
using ::testing::ElementsAre;
using testing::ErrorOf;
using testing::Floats;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using testing::ToVector;

std::vector<float> RunAdd(const Session& session) {
  std::vector<Value> results(1);
  session.Run(std::vector<Value>{Floats({2}, {1, 2}), Floats({2}, {10, 20})}, results);
  return ToVector(results[0]);
}

Environment ToyEnvironment(ProviderOptions options) {
  EnvironmentOptions environment;
  environment.default_providers = {{std::string(testing::Toy().name), std::move(options)}};
  return Environment(environment);
}

/// Collects the log while it lives.
class CapturedLog {
 public:
  CapturedLog() {
    SetLogSink([this](LogLevel, std::string_view id, std::string_view message) {
      const std::lock_guard lock(mutex_);
      text_ += std::string(id) + ": " + std::string(message) + "\n";
    });
  }
  ~CapturedLog() { SetLogSink({}); }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

int CountThreads() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "Threads:") return status >> word, std::stoi(word);
  }
  return -1;
}

TEST(Environment, DefaultProvidersServeEverySession) {
  const Environment environment = ToyEnvironment({});
  EXPECT_THAT(AddModel().Session({}, environment).providers(), ElementsAre("ToyExecutionProvider", "CPUExecutionProvider"));
}

TEST(Environment, SessionProvidersExtendTheDefaults) {
  const Environment environment = ToyEnvironment({{"ops", "Neg"}, {"number", "5"}});
  SessionOptions options;
  options.providers = {{"cpu", {}}};
  EXPECT_THAT(AddModel().Session(options, environment).providers(),
              ElementsAre("ToyExecutionProvider", "CPUExecutionProvider"));
  options.providers = {{"toy", {{"ops", "Add"}}}};  // its own option wins, the other one stays
  const Session session = AddModel().Session(options, environment);
  EXPECT_EQ(session.placement().nodes[0].provider, "ToyExecutionProvider");
  EXPECT_EQ(session.state()->model->resources.providers[0].provider->options().at("number"), "5");
  EXPECT_THAT(RunAdd(session), ElementsAre(11, 22));
}

TEST(Environment, ChecksItsProviders) {
  EXPECT_THAT(ErrorOf([] { ToyEnvironment({{"speed", "1"}}); }), HasSubstr("has no option 'speed' (allowed: ops"));
}

TEST(Environment, SkipsAProviderThatCannotStart) {
  SessionOptions options;
  options.providers = {{std::string(testing::Toy().name), {{"fail_start", "1"}}}};
  const CapturedLog log;
  const Session session = AddModel().Session(options);
  EXPECT_EQ(log.text(), "tessera: ToyExecutionProvider is skipped: there is no toy\n");  // one line
  EXPECT_THAT(session.providers(), ElementsAre("CPUExecutionProvider"));
  EXPECT_THAT(session.placement().ToText(), HasSubstr("ToyExecutionProvider: skipped: there is no toy\n"));
  EXPECT_THAT(RunAdd(session), ElementsAre(11, 22));
}

TEST(Environment, SkipsAProviderThatCannotJoinTheSession) {
  for (const auto& [option, why] :
       {std::pair("fail_memory", "the toy has no memory"), {"fail_attach", "the toy is broken"}}) {
    SessionOptions options = testing::OnToy({{"device", "1"}, {option, "1"}});
    {
      const CapturedLog log;
      const Session session = AddModel().Session(options);
      EXPECT_EQ(log.text(), std::string("tessera: ToyExecutionProvider is skipped: ") + why + "\n");
      EXPECT_THAT(session.providers(), ElementsAre("CPUExecutionProvider"));
      EXPECT_EQ(session.placement().providers[0].status, why);
      EXPECT_THAT(RunAdd(session), ElementsAre(11, 22));
    }
    options.error_on_failure = true;
    EXPECT_THAT(ErrorOf([&] { AddModel().Session(options); }),
                HasSubstr(std::string("ToyExecutionProvider cannot start: ") + why));
  }
}

TEST(Environment, WarnsOfEntriesOfOtherRuntimesThatDoNothing) {
  SessionOptions options;
  options.config["session.dynamic_block_base"] = "4";
  options.config["session.inter_op.allow_spinning"] = "0";
  const CapturedLog log;
  EXPECT_THAT(RunAdd(AddModel().Session(options)), ElementsAre(11, 22));
  EXPECT_THAT(log.text(), HasSubstr("'session.dynamic_block_base' has no effect here"));
  EXPECT_THAT(log.text(), HasSubstr("'session.inter_op.allow_spinning' has no effect here"));
}

TEST(Environment, LogSinksThatThrowStopNoSession) {
  SessionOptions options;
  options.config["session.dynamic_block_base"] = "4";  // is warned of
  SetLogSink([](LogLevel, std::string_view, std::string_view) { throw std::runtime_error("full"); });
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(RunAdd(AddModel().Session(options)), ElementsAre(11, 22));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("'session.dynamic_block_base' has no effect here"));
  SetLogSink({});
}

TEST(Environment, ReportsPlacement) {
  ModelBuilder model = AddModel();
  model.Output("n", ElementType::kFloat, {2}).Node("Neg", {"y"}, {"n"}, "negate");
  SessionOptions options;
  options.providers = {{std::string(testing::Toy().name), {{"ops", "Add"}, {"device", "1"}}}};
  options.config["session.min_island_nodes"] = "0";
  options.log_level = LogLevel::kVerbose;
  options.log_id = "mine";
  const CapturedLog log;
  const Session session = model.Session(options);
  EXPECT_THAT(log.text(), HasSubstr("mine: placement:\nToyExecutionProvider: 1 nodes\nCPUExecutionProvider: 1 nodes\n"));
  EXPECT_THAT(log.text(), HasSubstr(session.placement().ToText()));
  const std::string text = session.placement().ToText();
  EXPECT_THAT(text, HasSubstr("  Add 'sum' (version 14): ToyExecutionProvider\n"));
  EXPECT_THAT(
      text,
      HasSubstr("  Neg 'negate' (version 13): CPUExecutionProvider\n      ToyExecutionProvider: not among the ops\n"));
  EXPECT_THAT(text, HasSubstr("  copy 'y': Toy to Cpu\n"));
}

TEST(Environment, LogsNamedRuns) {
  const Session session = AddModel().Session();
  const CapturedLog log;
  RunOptions options;
  std::vector<Value> results(1);
  const std::vector<Value> inputs = {Floats({2}, {1, 2}), Floats({2}, {10, 20})};
  session.Run(inputs, results, options);
  EXPECT_EQ(log.text(), "");
  options.tag = "first batch";
  options.log_level = LogLevel::kVerbose;
  session.Run(inputs, results, options);
  EXPECT_THAT(log.text(), HasSubstr("run first batch took "));
}

TEST(Environment, SessionsShareItsThreads) {
  EnvironmentOptions global;
  global.global_intra_op_threads = 3;
  global.global_inter_op_threads = 2;
  const Environment environment(global);
  SessionOptions options;
  options.use_global_threads = true;
  options.execution_mode = ExecutionMode::kParallel;
  const Session first = AddModel().Session(options, environment);
  const int threads = CountThreads();
  std::vector<Session> more;
  for (int i = 0; i < 5; ++i) more.push_back(AddModel().Session(options, environment));
  EXPECT_EQ(CountThreads(), threads);
  EXPECT_EQ(first.state()->model->resources.threads->num_threads(), 3);
  for (const Session& session : more) {
    EXPECT_EQ(session.state()->model->resources.threads, first.state()->model->resources.threads);
    EXPECT_EQ(session.state()->model->resources.inter_op_arena, first.state()->model->resources.inter_op_arena);
    EXPECT_THAT(RunAdd(session), ElementsAre(11, 22));
  }
  const Environment none;
  EXPECT_THAT(ErrorOf([&] { AddModel().Session(options, none); }),
              HasSubstr("set global_intra_op_threads, or unset use_global_threads"));
  global.global_inter_op_threads = 0;
  const Environment no_inter_op(global);
  EXPECT_THAT(ErrorOf([&] { AddModel().Session(options, no_inter_op); }),
              HasSubstr("set global_inter_op_threads, or unset use_global_threads"));
}

TEST(Environment, WarnsOfThreadsThatASharedPoolDoesNotHave) {
  EnvironmentOptions global;
  global.global_intra_op_threads = 3;
  global.global_inter_op_threads = 2;
  const Environment environment(global);
  SessionOptions options;
  options.use_global_threads = true;
  options.execution_mode = ExecutionMode::kParallel;
  options.intra_op_threads = 3;
  options.inter_op_threads = 2;
  const CapturedLog log;
  AddModel().Session(options, environment);
  EXPECT_EQ(log.text(), "");
  options.intra_op_threads = 4;
  options.inter_op_threads = 1;
  AddModel().Session(options, environment);
  EXPECT_THAT(log.text(),
              HasSubstr("intra_op_threads is 4, but the session shares its environment's threads, which are 3"));
  EXPECT_THAT(log.text(),
              HasSubstr("inter_op_threads is 1, but the session shares its environment's threads, which are 2"));
}

TEST(Environment, SessionsShareItsArena) {
  const Environment environment;
  SessionOptions options;
  options.config["session.use_env_allocators"] = "1";
  const Session first = AddModel().Session(options, environment);
  const Session second = AddModel().Session(options, environment);
  EXPECT_EQ(&first.allocator({}), &second.allocator({}));
  EXPECT_NE(&first.allocator({}), &AddModel().Session().allocator({}));
}

TEST(Environment, SaysWhatItsArenaDoesNotKeep) {
  const auto with = [](int64_t limit, ArenaExtendStrategy extend = ArenaExtendStrategy::kNextPowerOfTwo) {
    SessionOptions options;
    options.config["session.use_env_allocators"] = "1";
    options.arena = {.extend = extend, .limit = limit};
    return options;
  };
  const Environment environment, limitless;
  const CapturedLog log;
  const Session first = AddModel().Session(with(8 << 20), environment);
  AddModel().Session(with(0), environment);  // says nothing, takes what is there
  EXPECT_EQ(log.text(), "");
  EXPECT_THAT(ErrorOf([&] { AddModel().Session(with(4 << 20), environment); }),
              HasSubstr("cpu_mem_limit is 4194304, but the host arena that sessions share was made with 8388608"));
  AddModel().Session(with(16 << 20, ArenaExtendStrategy::kSameAsRequested), environment);
  EXPECT_THAT(
      log.text(),
      HasSubstr("cpu_mem_limit is 16777216, but the host arena that sessions share was made with 8388608: that one holds"));
  EXPECT_THAT(log.text(), HasSubstr("the arena's extend strategy has no effect"));
  AddModel().Session(with(0), limitless);
  EXPECT_THAT(ErrorOf([&] { AddModel().Session(with(4 << 20), limitless); }), HasSubstr("was made with none"));
}

TEST(Environment, CpuOptionsGovernTheHostArena) {
  SessionOptions options;
  options.providers = {{"cpu", {{"cpu_mem_limit", "2M"}, {"arena_extend_strategy", "kSameAsRequested"}}}};
  const Session session = AddModel().Session(options);
  EXPECT_EQ(session.memory_use()[0].stats.limit, 2 << 20);
  void* buffer = session.allocator({}).Allocate(640);
  EXPECT_EQ(session.memory_use()[0].stats.bytes_reserved, 640);
  session.allocator({}).Free(buffer);
  EXPECT_THAT(ErrorOf([&] { session.allocator({}).Allocate(3 << 20); }),
              HasSubstr("cpu_mem_limit exceeded: 3145728 bytes"));
  options.enable_arena = false;
  EXPECT_THAT(ErrorOf([&] { AddModel().Session(options); }), HasSubstr("cpu_mem_limit is 2097152, but there is no arena"));
}

/// Every thread of a run computes denormals the way that the session says.
TEST(Environment, DenormalsCountAsZeroOnAllThreads) {
  constexpr int64_t kSize = 1 << 20;
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {kSize}).Output("y", ElementType::kFloat, {kSize});
  model.Node("Add", {"x", "x"}, {"y"});
  const std::vector<Value> inputs = {Tensor::Of<float>(Shape{kSize}, std::vector<float>(kSize, 1e-40f))};
  for (const ExecutionMode mode : {ExecutionMode::kSequential, ExecutionMode::kParallel}) {
    for (const bool zero : {false, true}) {
      SessionOptions options;
      options.intra_op_threads = 4;
      options.execution_mode = mode;
      options.config["session.set_denormal_as_zero"] = zero ? "1" : "0";
      const Session session = model.Session(options);
      std::vector<Value> results(1);
      session.Run(inputs, results);
      const std::vector<float> values = ToVector(results[0]);
      EXPECT_EQ(std::count(values.begin(), values.end(), 0.0f), zero ? kSize : 0);
    }
  }
  volatile float tiny = 1e-40f;
  EXPECT_GT(tiny + tiny, 0);  // this thread is as it was
}

}  // namespace
}  // namespace tessera
