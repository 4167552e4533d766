// What packages of strangers may say of sessions: nothing that reaches beyond them.

#include <gmock/gmock.h>

#include <filesystem>
#include <string>

#include "bindings/c/package/package.h"
#include "bindings/c/package/package_options.h"
#include "bindings/c/table.h"
#include "error_of.h"
#include "model_builder.h"
#include "temporary_folder.h"

namespace tessera::c_abi {
namespace {

namespace fs = std::filesystem;
using tessera::testing::AddModel;
using tessera::testing::Api;
using tessera::testing::Ask;
using tessera::testing::ErrorOf;
using tessera::testing::RequireOk;
using tessera::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const OrtModelPackageApi& PackageApi() { return *Api().GetModelPackageApi(); }

class PackageTest : public ::testing::Test {
 protected:
  PackageTest() {
    fs::create_directories(Root() / "v");
    fs::create_directories(Outside());
    folder_.Write("package/v/model.onnx", AddModel().bytes());
    folder_.Write("outside/model.onnx", AddModel().bytes());
  }
  ~PackageTest() override {
    if (env_ != nullptr) Api().ReleaseEnv(env_);
  }

  fs::path Root() const { return folder_.path() / "package"; }
  fs::path Outside() const { return folder_.path() / "outside"; }

  /// One variant, of which this is said for ONNX Runtime beside its model.
  void Say(const std::string& info, const std::string& provider = "CPUExecutionProvider",
           const std::string& layout = "portable", const std::string& model = "model.onnx") const {
    folder_.Write("package/manifest.json", R"({"schema_version": "1.0", "layout": ")" + layout +
                                               R"(", "components": {"m": {"variants": {"v": {"ep": ")" + provider +
                                               R"(", "executor_info": {"ort": {"model_file": ")" + model + "\"" + info +
                                               "}}}}}}}");
  }
  void SayOption(const std::string& key, const std::string& value, const std::string& layout = "portable") const {
    Say(R"(, "session_options": {")" + key + R"(": ")" + value + "\"}", "CPUExecutionProvider", layout);
  }
  void SayProviderOption(const std::string& provider, const std::string& key, const std::string& value) const {
    Say(R"(, "provider_options": {")" + key + R"(": ")" + value + "\"}", provider);
  }

  std::string ReadError() const {
    return ErrorOf([&] { ReadPackage(Root()); });
  }

  /// What goes wrong, and what is logged, when a session is made of it as the package says.
  std::string SessionError(bool trusted = false) {
    if (env_ == nullptr) env_ = Ask(Api().CreateEnv, ORT_LOGGING_LEVEL_WARNING, "packages");
    OrtSessionOptions* session_options = Ask(Api().CreateSessionOptions);
    if (trusted) RequireOk(Api().AddSessionConfigEntry(session_options, "session.trust_installed_packages", "1"));
    OrtModelPackageContext* package = nullptr;
    OrtModelPackageOptions* options = nullptr;
    OrtModelPackageComponentContext* chosen = nullptr;
    OrtSession* session = nullptr;
    OrtStatus* status = PackageApi().CreateModelPackageContext(Root().c_str(), &package);
    if (status == nullptr)
      status = PackageApi().CreateModelPackageOptionsFromSessionOptions(env_, session_options, &options);
    if (status == nullptr) status = PackageApi().SelectComponent(package, "m", options, &chosen);
    if (status == nullptr) status = PackageApi().CreateSession(env_, chosen, nullptr, &session);
    const std::string error = status == nullptr ? "no error" : Api().GetErrorMessage(status);
    Api().ReleaseStatus(status);
    Api().ReleaseSession(session);
    PackageApi().ReleaseModelPackageComponentContext(chosen);
    PackageApi().ReleaseModelPackageOptions(options);
    PackageApi().ReleaseModelPackageContext(package);
    Api().ReleaseSessionOptions(session_options);
    return error;
  }
  std::string LogOfSession() {
    ::testing::internal::CaptureStderr();
    const std::string error = SessionError();
    const std::string log = ::testing::internal::GetCapturedStderr();
    return error == "no error" ? log : error;
  }

  TemporaryFolder folder_;
  OrtEnv* env_ = nullptr;
};

TEST_F(PackageTest, ContextsAreTheProgramsToName) {
  const fs::path file = Outside() / "file";
  for (const char* layout : {"portable", "installed"}) {
    for (const std::string& path : {file.string(), std::string("kept.bin")}) {
      Say(R"(, "session_options": {"session.context_enable": "1", "session.context_file_path": ")" + path + "\"}",
          "CPUExecutionProvider", layout);
      EXPECT_THAT(ReadError(), AllOf(HasSubstr("session.context_"), HasSubstr("take it out of the package")));
    }
  }
  for (const char* key : {"session.context_enable", "session.context_file_path", "session.context_embed_mode"}) {
    SayOption(key, "1");
    EXPECT_THAT(ReadError(), HasSubstr(key));
  }
}

TEST_F(PackageTest, LimitsFilesAndNamesAreTheProgramsToSet) {
  for (const char* key : {"session.load_memory_limit", "session.run_memory_limit", "session.log_id",
                          "session.enable_profiling", "session.optimized_model_filepath"}) {
    SayOption(key, "0");
    EXPECT_THAT(ReadError(), AllOf(HasSubstr(key), HasSubstr("is for the program to do"))) << key;
  }
}

TEST_F(PackageTest, CompiledModelsAreNotWrittenForIt) {
  Say(R"(, "session_options": {"ep.context_enable": "1", "ep.context_file_path": "compiled.onnx"})");
  EXPECT_THAT(LogOfSession(), AllOf(HasSubstr("the package sets 'ep.context_enable' to '1'"), HasSubstr("no effect")));
  EXPECT_FALSE(fs::exists(Root() / "v/compiled.onnx"));
  SayOption("ep.context_file_path", "../../outside/file");
  EXPECT_THAT(ReadError(), HasSubstr("leads upwards"));
}

TEST_F(PackageTest, OptionsThatAreNotKnownAreLeftOut) {
  for (const char* key :
       {"made.up", "session.optimized_model_external_initializers_file_name", "session.tuning",
        "session.log_severity_level", "session.intra_op.spin_duration_us", "ep.someprovider.backend_path"}) {
    EXPECT_FALSE(IsTaken(key, "1")) << key;
    SayOption(key, "1");
    EXPECT_THAT(LogOfSession(), HasSubstr(std::string("the package sets '") + key + "'"));
  }
  for (const char* key : {"session.graph_optimization_level", "session.enable_mem_pattern", "session.round_halves"}) {
    EXPECT_TRUE(IsTaken(key, "1")) << key;
    SayOption(key, "1");
    EXPECT_THAT(LogOfSession(), Not(HasSubstr("the package sets")));
  }
}

TEST_F(PackageTest, ThreadsAreAtMostThoseOfTheMachine) {
  EXPECT_TRUE(IsTaken("session.intra_op_num_threads", "0"));
  EXPECT_TRUE(IsTaken("session.intra_op_num_threads", "1"));
  for (const char* count : {"65536", "-2", "x", ""}) EXPECT_FALSE(IsTaken("session.intra_op_num_threads", count)) << count;
  SayOption("session.intra_op_num_threads", "65536");
  EXPECT_THAT(LogOfSession(), HasSubstr("session.intra_op_num_threads"));
}

TEST_F(PackageTest, ProvidersOpenNoFilesForIt) {
  for (const char* provider : {"OpenCLExecutionProvider", "CPUExecutionProvider", "SomeExecutionProvider"}) {
    for (const char* key : {"program_cache_path", "BACKEND_PATH", "cache_dir", "profile_file", "custom_op_library"}) {
      SayProviderOption(provider, key, "x");
      EXPECT_THAT(ReadError(), AllOf(HasSubstr(key), HasSubstr("take it out of the package"))) << provider;
    }
    for (const char* value : {"/x", "a/b", "libx.so"}) {
      SayProviderOption(provider, "option", value);
      EXPECT_THAT(ReadError(), HasSubstr("'option'")) << provider << value;
    }
  }
  SayProviderOption("SomeExecutionProvider", "option", "1");
  EXPECT_EQ(ReadError(), "no error");
}

TEST_F(PackageTest, ProvidersThatAreBuiltInTakeWhatTheyComputeByAlone) {
  for (const char* key : {"gpu_mem_limit", "device_id", "tuning", "profiling"}) {
    SayProviderOption("OpenCLExecutionProvider", key, "0");
    EXPECT_THAT(ReadError(), AllOf(HasSubstr(key), HasSubstr("packages may set: arena_extend_strategy"))) << key;
  }
  SayProviderOption("OpenCLExecutionProvider", "winograd", "0");
  EXPECT_EQ(ReadError(), "no error");
  SayProviderOption("DnnlExecutionProvider", "claims", "all");
  EXPECT_EQ(ReadError(), "no error");
}

TEST_F(PackageTest, InstalledIsWhatTheProgramTrusts) {
  Say("", "CPUExecutionProvider", "installed", (Outside() / "model.onnx").string());
  EXPECT_THAT(SessionError(), AllOf(HasSubstr("outside of its package"), HasSubstr("session.trust_installed_packages=1")));
  EXPECT_EQ(SessionError(true), "no error");
  SayOption("session.model_external_initializers_file_folder_path", Outside().string(), "installed");
  EXPECT_THAT(SessionError(), HasSubstr("outside of its package"));
  EXPECT_EQ(SessionError(true), "no error");
  SayOption("session.model_external_initializers_file_folder_path", Outside().string());
  EXPECT_THAT(SessionError(true), HasSubstr("is absolute"));
  SayOption("session.trust_installed_packages", "1", "installed");
  EXPECT_FALSE(IsTaken("session.trust_installed_packages", "1"));
  EXPECT_EQ(SessionError(), "no error");
}

TEST_F(PackageTest, SharedFoldersThatAreLinksLeadNowhereElse) {
  const std::string digits(64, 'a');
  fs::create_directories(Root() / "shared_assets");
  fs::create_directory_symlink(Outside(), Root() / "shared_assets" / ("sha256-" + digits));
  SayOption("session.model_external_initializers_file_folder_path", "sha256:" + digits);
  EXPECT_THAT(SessionError(), HasSubstr("outside of its package"));
  EXPECT_THAT(SessionError(true), HasSubstr("outside of its package"));
}

}  // namespace
}  // namespace tessera::c_abi
