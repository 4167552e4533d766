// A library whose provider compiles ahead of time, records runs, and has a part in profiles (compiling_provider.cpp).

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnxruntime_c_api.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "error_of.h"
#include "temporary_folder.h"
#include "tessera/session.h"
#include "unary_model.h"

extern "C" const OrtApiBase* TesseraGetOrtApiBase() noexcept;

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using testing::UnaryModel;

constexpr const char* kProvider = "CompilingExecutionProvider";
const std::vector<std::string> kInput = {"x"};

/// -|-x|: the provider has both Neg, CPU the Abs between them.
UnaryModel Mixed() { return {{{"Neg", "x", "a"}, {"Abs", "a", "b"}, {"Neg", "b", "y"}}, {"y"}}; }
UnaryModel Chain() { return {{{"Neg", "x", "a"}, {"Neg", "a", "b"}, {"Neg", "b", "y"}}, {"y"}}; }

Value Numbers(float a, float b, float c) { return Tensor::Of<float>(Shape{3}, std::vector<float>{a, b, c}); }

std::vector<float> NumbersOf(const Value& value) {
  const float* data = value.tensor().data<float>();
  return {data, data + 3};
}

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

template <class F>
ErrorCode CodeOf(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kOk;
}

class CompiledModels : public ::testing::Test {
 protected:
  CompiledModels() { environment_.RegisterProviderLibrary("compiling", COMPILING_PROVIDER); }
  ~CompiledModels() override { environment_.UnregisterProviderLibrary("compiling"); }

  SessionOptions Options() const {
    SessionOptions options;
    options.log_level = LogLevel::kFatal;
    options.error_on_failure = true;
    options.providers = {{kProvider, {}}};
    return options;
  }
  std::filesystem::path path(const char* name) const { return folder_.path() / name; }
  Session Load(const UnaryModel& model, const SessionOptions& options) const {
    return Session(model.bytes(), options, environment_);
  }
  static std::vector<float> Run(const Session& session) {
    const std::vector<Value> inputs = {Numbers(-1, 2, -3)};
    return NumbersOf(session.Run(kInput, inputs).at(0));
  }
  static int Counted(const char* function) {
    void* library = dlopen(COMPILING_PROVIDER, RTLD_NOW | RTLD_NOLOAD);
    auto* count = reinterpret_cast<int (*)()>(dlsym(library, function));
    const int counted = count();
    dlclose(library);
    return counted;
  }

  TemporaryFolder folder_;
  Environment environment_;
};

/// Nodes of the model's own, by operator.
size_t NodesOf(const Session& session, std::string_view op_type) {
  size_t nodes = 0;
  for (const auto& node : session.placement().model_nodes) nodes += node.op_type == op_type ? 1 : 0;
  return nodes;
}

TEST_F(CompiledModels, AreWrittenAndLoadedWithoutCompiling) {
  for (const bool embed : {true, false}) {
    SCOPED_TRACE(embed);
    SessionOptions options = Options();
    options.compiled_model.path = path(embed ? "embedded.onnx" : "beside.onnx");
    options.compiled_model.embed = embed;
    EXPECT_EQ(Run(Load(Mixed(), options)), (std::vector<float>{-1, -2, -3}));
    EXPECT_EQ(exists(path("beside_y.bin")), !embed);

    SessionOptions without = Options();
    without.provider_config["session.disable_model_compile"] = "1";
    const Session session(options.compiled_model.path, without, environment_);
    EXPECT_EQ(NodesOf(session, "EPContext"), 2u);
    EXPECT_EQ(NodesOf(session, "Abs"), 1u);
    EXPECT_EQ(NodesOf(session, "Neg"), 0u);
    EXPECT_EQ(Run(session), (std::vector<float>{-1, -2, -3}));
    EXPECT_EQ(session.metadata().custom.at("ep_compatibility_info.CompilingExecutionProvider"), "2 compiled");
  }
}

TEST_F(CompiledModels, NeedTheirProvider) {
  SessionOptions options = Options();
  options.compiled_model.path = path("m.onnx");
  Load(Chain(), options);
  EXPECT_THAT(ErrorOf([&] { Session session(path("m.onnx")); }),
              HasSubstr("it holds what CompilingExecutionProvider compiled"));
  EXPECT_EQ(CodeOf([&] { Session session(path("m.onnx")); }), ErrorCode::kNotImplemented);
}

TEST_F(CompiledModels, AreNotWrittenOverOthers) {
  SessionOptions options = Options();
  options.compiled_model.path = path("m.onnx");
  std::ofstream(path("m.onnx")) << "mine";
  EXPECT_THAT(ErrorOf([&] { Load(Chain(), options); }), HasSubstr("exists already"));
  EXPECT_EQ(TextOf(path("m.onnx")), "mine");
  options.compiled_model.path = folder_.path();
  EXPECT_THAT(ErrorOf([&] { Load(Chain(), options); }), HasSubstr("a folder"));
}

TEST_F(CompiledModels, AreNotWrittenWhereNothingIsCompiled) {
  SessionOptions options = Options();
  options.compiled_model.path = path("m.onnx");
  options.providers.clear();
  EXPECT_EQ(Run(Load(Chain(), options)), (std::vector<float>{1, -2, 3}));
  EXPECT_FALSE(exists(path("m.onnx")));
}

TEST_F(CompiledModels, MayBeRequired) {
  SessionOptions options = Options();
  options.error_on_failure = false;
  options.provider_config["session.disable_model_compile"] = "1";
  EXPECT_THAT(ErrorOf([&] { Load(Chain(), options); }), HasSubstr("session.disable_model_compile"));
  EXPECT_EQ(CodeOf([&] { Load(Chain(), options); }), ErrorCode::kModelRequiresCompilation);
}

TEST_F(CompiledModels, AreWrittenForClientsOfTheCAbi) {
  const OrtApi& api = *TesseraGetOrtApiBase()->GetApi(31);
  std::ofstream(path("m.onnx"), std::ios::binary)
      << std::string(reinterpret_cast<const char*>(Mixed().bytes().data()), Mixed().bytes().size());
  const auto ok = [&](OrtStatus* status) { ASSERT_EQ(status, nullptr) << api.GetErrorMessage(status); };
  OrtEnv* env = nullptr;
  ok(api.CreateEnv(ORT_LOGGING_LEVEL_FATAL, "test", &env));
  ok(api.RegisterExecutionProviderLibrary(env, "compiling too", COMPILING_PROVIDER));
  const OrtEpDevice* const* devices = nullptr;
  size_t count = 0;
  ok(api.GetEpDevices(env, &devices, &count));
  OrtSessionOptions* options = nullptr;
  ok(api.CreateSessionOptions(&options));
  ok(api.AddSessionConfigEntry(options, "ep.context_enable", "1"));
  ok(api.AddSessionConfigEntry(options, "ep.context_embed_mode", "1"));
  for (size_t i = 0; i < count; ++i) {
    if (std::string(api.EpDevice_EpName(devices[i])) != kProvider) continue;
    ok(api.SessionOptionsAppendExecutionProvider_V2(options, env, &devices[i], 1, nullptr, nullptr, 0));
    break;
  }
  OrtSession* session = nullptr;
  ok(api.CreateSession(env, path("m.onnx").c_str(), options, &session));
  api.ReleaseSession(session);
  EXPECT_TRUE(exists(path("m_ctx.onnx")));
  OrtAllocator* allocator = nullptr;
  ok(api.GetAllocatorWithDefaultOptions(&allocator));
  char* info = nullptr;
  ok(api.GetCompatibilityInfoFromModel(path("m_ctx.onnx").c_str(), kProvider, allocator, &info));
  EXPECT_STREQ(info, "2 compiled");
  ok(api.AllocatorFree(allocator, info));
  ok(api.GetCompatibilityInfoFromModel(path("m_ctx.onnx").c_str(), "Another", allocator, &info));
  EXPECT_EQ(info, nullptr);
  const std::string bytes = TextOf(path("m.onnx"));
  OrtStatus* refused = api.CreateSessionFromArray(env, bytes.data(), bytes.size(), options, &session);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(api.GetErrorCode(refused), ORT_INVALID_ARGUMENT);
  api.ReleaseStatus(refused);
  api.ReleaseSessionOptions(options);
  ok(api.UnregisterExecutionProviderLibrary(env, "compiling too"));
  api.ReleaseEnv(env);
}

TEST_F(CompiledModels, HaveTheirPartInProfiles) {
  SessionOptions options = Options();
  options.profile_prefix = path("profile");
  const int before = Counted("CompilingProviderNodes");
  Session session = Load(Mixed(), options);
  Run(session);
  Run(session);
  const std::string profile = TextOf(session.EndProfiling());
  EXPECT_THAT(profile, HasSubstr("\"name\":\"negate\""));
  EXPECT_THAT(profile, HasSubstr("\"negations\":\"4\""));
  EXPECT_EQ(Counted("CompilingProviderNodes"), before + 6);

  RunOptions run;
  run.profile_prefix = path("run");
  const Session plain = Load(Chain(), Options());
  const std::vector<Value> inputs = {Numbers(1, 2, 3)};
  plain.Run(kInput, inputs, {}, run);
  std::string one;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    if (entry.path().filename().string().starts_with("run_")) one = TextOf(entry.path());
  }
  EXPECT_THAT(one, HasSubstr("\"negations\":\"3\""));
}

class Recordings : public CompiledModels {
 protected:
  Session LoadRecording(const UnaryModel& model) const {
    SessionOptions options = Options();
    options.providers = {{kProvider, {{"record", "1"}}}};
    return Load(model, options);
  }
};

TEST_F(Recordings, AreReplayedForTheSameBuffers) {
  const Session session = LoadRecording(Chain());
  const int before = Counted("CompilingProviderReplays");
  std::vector<float> x = {1, 2, 3}, y(3), other(3);
  const Value input = Tensor::View<float>(Shape{3}, x);
  const auto run = [&](std::vector<float>& to, const RunOptions& options = {}) {
    Value result = Tensor::View<float>(Shape{3}, to);
    session.Run(std::span(&input, 1), std::span(&result, 1), options);
  };
  run(y);  // until it is recorded
  EXPECT_EQ(y, (std::vector<float>{-1, -2, -3}));
  EXPECT_EQ(Counted("CompilingProviderReplays"), before);
  x = {4, 5, 6};
  run(y);
  EXPECT_EQ(y, (std::vector<float>{-4, -5, -6}));
  EXPECT_EQ(Counted("CompilingProviderReplays"), before + 1);
  run(other);  // other buffers: a run
  EXPECT_EQ(other, (std::vector<float>{-4, -5, -6}));
  EXPECT_EQ(Counted("CompilingProviderReplays"), before + 1);
  RunOptions none;
  none.recording = -1;
  run(y, none);
  EXPECT_EQ(Counted("CompilingProviderReplays"), before + 1);
}

TEST_F(Recordings, NeedTheWholeModel) {
  EXPECT_THAT(ErrorOf([&] { LoadRecording(Mixed()); }), HasSubstr("runs on CPUExecutionProvider"));
}

}  // namespace
}  // namespace tessera
