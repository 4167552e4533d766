#include "session/tuning.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "base/log.h"
#include "graph/algorithm.h"
#include "model_builder.h"
#include "session/session_state.h"
#include "toy_provider.h"
#include "waves.h"

namespace tessera {
namespace {

using testing::Floats;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using ::testing::Not;
using testing::ToVector;
using testing::Waves;

namespace fs = std::filesystem;

/// A convolution that has several algorithms, and an operator that Toy takes.
std::string ConvModelBytes(std::vector<int64_t> image = {1, 32, 24, 24}) {
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, image).Output("y", ElementType::kFloat, image);
  model.Constant("w", {32, 32, 3, 3}, Waves(32 * 32 * 9, 0.7f, 0.5f));
  auto* pads = model.Node("Conv", {"x", "w"}, {"convolved"}).add_attribute();
  pads->set_name("pads");
  pads->set_type(onnx::AttributeProto::INTS);
  for (int i = 0; i < 4; ++i) pads->add_ints(1);
  model.Node("Neg", {"convolved"}, {"y"});
  return model.bytes();
}

class TuningTest : public ::testing::Test {
 protected:
  TuningTest() {
    fs::remove(context_);
    SetLogSink([this](LogLevel, std::string_view, std::string_view message) { log_ += std::string(message) + "\n"; });
  }
  ~TuningTest() override {
    SetLogSink({});
    fs::remove(context_);
  }

  SessionOptions Options(bool tuning = true) const {
    SessionOptions options;
    options.log_level = LogLevel::kInfo;
    options.intra_op_threads = 1;
    options.providers = {{"cpu", {}}};
    if (tuning) options.config["session.tuning"] = "1";
    return options;
  }
  SessionOptions WithSlowToy(bool tuning = true) const {
    testing::Toy();
    SessionOptions options = Options(tuning);
    options.providers = {{"toy", {{"ops", "Neg"}, {"delay_ms", "20"}}}, {"cpu", {}}};
    return options;
  }
  static Session Make(const std::string& bytes, const SessionOptions& options) {
    return Session(std::as_bytes(std::span(bytes)), options);
  }
  static std::vector<float> Run(const Session& session) {
    const std::vector<Value> inputs = {Floats({1, 32, 24, 24}, Waves(32 * 24 * 24, 0.7f, 0.5f))};
    std::vector<Value> results(1);
    session.Run(inputs, results);
    return ToVector(results[0]);
  }

  const fs::path context_ = fs::path(::testing::TempDir()) / fmt::format("tessera_tuning_{}.tessera", getpid());
  std::string log_;
};

TEST_F(TuningTest, LeavesOutAProviderThatIsSlower) {
  const std::string bytes = ConvModelBytes();
  const Session usual = Make(bytes, WithSlowToy(false));
  EXPECT_EQ(usual.placement().providers.front().nodes, 1u);
  const Session tuned = Make(bytes, WithSlowToy());
  EXPECT_THAT(tuned.placement().providers.front().status, HasSubstr("timing at load"));
  EXPECT_EQ(tuned.placement().providers.front().nodes, 0u);
  EXPECT_EQ(tuned.providers(), std::vector<std::string>{"CPUExecutionProvider"});
  EXPECT_EQ(Run(tuned).size(), Run(usual).size());
}

TEST_F(TuningTest, KeepsAProviderThatNobodyCanReplace) {
  SessionOptions options = WithSlowToy();
  options.providers = {{"toy", {{"delay_ms", "20"}}}};
  options.disable_cpu_fallback = true;
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {4}).Output("y", ElementType::kFloat, {4}).Node("Neg", {"x"}, {"y"});
  const Session session = Make(model.bytes(), options);
  EXPECT_EQ(session.placement().providers.front().status, "active");
  EXPECT_THAT(log_, HasSubstr("tuning: without ToyExecutionProvider: "));
}

TEST_F(TuningTest, AContextRemembersWhatWasFound) {
  const std::string bytes = ConvModelBytes();
  SessionOptions options = WithSlowToy();
  options.config["session.context_enable"] = "1";
  options.config["session.context_file_path"] = context_.string();
  const std::vector<float> expected = Run(Make(bytes, options));
  EXPECT_THAT(log_, HasSubstr("tuning: "));
  log_.clear();
  const Session second = Make(bytes, options);
  EXPECT_TRUE(second.context().used) << second.context().detail;
  EXPECT_THAT(log_, Not(HasSubstr("tuning: ")));
  EXPECT_THAT(second.placement().providers.front().status, HasSubstr("timing at load"));
  EXPECT_EQ(second.providers(), std::vector<std::string>{"CPUExecutionProvider"});
  EXPECT_EQ(Run(second), expected);
}

TEST_F(TuningTest, EveryAlgorithmComputesTheSame) {
  const std::string bytes = ConvModelBytes();
  const std::vector<float> expected = Run(Make(bytes, Options(false)));
  for (const std::string_view algorithm : {kDirectAlgorithm, kWinogradAlgorithm}) {
    for (const char* provider : {"cpu", "dnnl"}) {
      SessionOptions options = Options(false);
      options.providers = {{provider, {}}};
      if (options.providers.front().name == "dnnl") options.providers.front().options["claims"] = "all";
      Trial trial(LeftOutProviders(), algorithm);
      Session::State state(options, Environment::Default().state());
      state.Load(
          {}, [&](const LoadOptions& load) { return LoadModel(std::as_bytes(std::span(bytes)), nullptr, "", load); },
          &trial);
      EXPECT_EQ(trial.nodes().size(), 1u);
      const Value input = Floats({1, 32, 24, 24}, Waves(32 * 24 * 24, 0.7f, 0.5f));
      const Value* const given = &input;
      std::vector<Value> results(1);
      state.Run({std::span(&given, 1), state.model->all_outputs, results, {}}, RunOptions());
      const std::vector<float> actual = ToVector(results[0]);
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(actual[i], expected[i], 1e-4) << algorithm << ' ' << provider << ' ' << i;
      ASSERT_EQ(trial.times().size(), state.model->executor->plan().steps.size());
    }
  }
}

/// oneDNN's implementations: each computes the same, a name that is unknown is passed over, and what is found stays with
/// the context.
TEST_F(TuningTest, EveryImplementationComputesTheSame) {
  const std::string bytes = ConvModelBytes();
  const std::vector<float> expected = Run(Make(bytes, Options(false)));
  SessionOptions options = Options(false);
  options.providers = {{"dnnl", {{"claims", "all"}}}};
  const auto load = [&](const LoadOptions& how) { return LoadModel(std::as_bytes(std::span(bytes)), nullptr, "", how); };
  for (const char* name : {"timed", "oneDNN brgconv:avx512_core", "oneDNN jit:avx512_core", "oneDNN jit:avx2",
                           "oneDNN x64:gemm:jit", "oneDNN gemm:jit", "oneDNN unknown"}) {
    Trial trial(LeftOutProviders(), name);
    Session::State state(options, Environment::Default().state());
    state.Load({}, load, &trial);
    const Value input = Floats({1, 32, 24, 24}, Waves(32 * 24 * 24, 0.7f, 0.5f));
    const Value* const given = &input;
    std::vector<Value> results(1);
    state.Run({std::span(&given, 1), state.model->all_outputs, results, {}}, RunOptions());
    const std::vector<float> actual = ToVector(results[0]);
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-4) << name << ' ' << i;
    for (const auto& [node, chosen] : trial.timed()) EXPECT_TRUE(chosen.starts_with("oneDNN ")) << chosen;
  }
}

TEST_F(TuningTest, RegionsAreTuned) {
  const std::string bytes = ConvModelBytes();
  const std::vector<float> expected = Run(Make(bytes, Options(false)));
  SessionOptions options = Options();
  options.providers = {{"dnnl", {{"claims", "all"}}}};
  options.config["session.context_enable"] = "1";
  options.config["session.context_file_path"] = context_.string();
  std::vector<std::vector<float>> results;
  for (const bool held : {false, true}) {
    const Session session = Make(bytes, options);
    EXPECT_EQ(session.context().used, held) << session.context().detail;
    results.push_back(Run(session));
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(results.back()[i], expected[i], 1e-4) << i;
  }
  EXPECT_THAT(log_, HasSubstr("by another algorithm than the usual one"));
  EXPECT_EQ(results[0], results[1]);
}

/// Another build of oneDNN, or another processor, may lack what was chosen.
TEST_F(TuningTest, AMissingImplementationIsTold) {
  const std::string bytes = ConvModelBytes();
  SessionOptions options = Options(false);
  options.providers = {{"dnnl", {{"claims", "all"}}}};
  Trial trial(LeftOutProviders(), "oneDNN of another build");
  Session::State state(options, Environment::Default().state());
  state.Load(
      {}, [&](const LoadOptions& how) { return LoadModel(std::as_bytes(std::span(bytes)), nullptr, "", how); }, &trial);
  EXPECT_THAT(log_, HasSubstr("oneDNN has no implementation 'of another build' of the Conv"));
}

/// Pointwise convolutions with strides, activations and sums, for which oneDNN has many implementations; also of an empty
/// batch.
TEST_F(TuningTest, ImplementationsOfPointwiseConvolutionsAreTimed) {
  for (const int64_t batch : {1, 0}) {
    ModelBuilder model;
    model.Input("x", ElementType::kFloat, {batch, 32, 24, 24}).Output("y", ElementType::kFloat, {batch, 64, 12, 12});
    model.Constant("w", {64, 32, 1, 1}, Waves(64 * 32, 0.7f, 0.5f))
        .Constant("v", {64, 64, 1, 1}, Waves(64 * 64, 0.3f, 0.2f));
    auto* strides = model.Node("Conv", {"x", "w"}, {"narrow"}).add_attribute();
    strides->set_name("strides");
    strides->set_type(onnx::AttributeProto::INTS);
    for (int i = 0; i < 2; ++i) strides->add_ints(2);
    model.Node("Relu", {"narrow"}, {"a"});
    model.Node("Conv", {"a", "v"}, {"b"});
    model.Node("Add", {"a", "b"}, {"y"});
    const std::string bytes = model.bytes();
    const auto run = [&](const Session& session) {
      const std::vector<Value> inputs = {Floats({batch, 32, 24, 24}, Waves(batch * 32 * 24 * 24, 0.7f, 0.5f))};
      std::vector<Value> results(1);
      session.Run(inputs, results);
      return ToVector(results[0]);
    };
    const std::vector<float> expected = run(Make(bytes, Options(false)));
    SessionOptions options = Options();
    options.providers = {{"dnnl", {{"claims", "all"}}}};
    const std::vector<float> actual = run(Make(bytes, options));
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-4) << i;
  }
}

TEST_F(TuningTest, TellsWhatItGuesses) {
  const Session session = Make(ConvModelBytes({-1, 32, 24, 24}), Options());
  EXPECT_THAT(log_, HasSubstr("dimension 0 of 'x'"));
  EXPECT_EQ(Run(session).size(), 32u * 24 * 24);
}

TEST_F(TuningTest, AModelThatCannotBeTimedRunsUntuned) {
  // Of a size that the made-up inputs do not have.
  ModelBuilder model;
  model.Input("x", ElementType::kFloat, {-1}).Output("y", ElementType::kFloat, {2, 2});
  model.Constant("shape", {2}, std::vector<int64_t>{2, 2});
  model.Node("Reshape", {"x", "shape"}, {"y"});
  SessionOptions options = WithSlowToy();
  options.providers.front().options["ops"] = "Reshape";
  const Session session = Make(model.bytes(), options);
  EXPECT_THAT(log_, HasSubstr("not tuned: "));
  std::vector<Value> results(1);
  session.Run(std::vector<Value>{Floats({4}, {1, 2, 3, 4})}, results);
  EXPECT_EQ(ToVector(results[0]), (std::vector<float>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace tessera
