// OrtModelPackageApi with a library whose provider judges what variants were compiled for (compiling_provider.cpp), and
// packages as a stranger may write them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <utility>

#include "client.h"
#include "temporary_folder.h"
#include "unary_model.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;
using testing::UnaryModel;

constexpr const char* kProvider = "CompilingExecutionProvider";

class ModelPackages : public testing::ClientTest {
 protected:
  ModelPackages() : ClientTest("judging", COMPILING_PROVIDER) {}

  OrtModelPackageOptions* NewOptions(std::initializer_list<const char*> providers) const {
    OrtSessionOptions* session = nullptr;
    OrtModelPackageOptions* options = nullptr;
    Ok(api_.CreateSessionOptions(&session));
    for (const char* provider : providers) Append(session, provider);
    Ok(packages_.CreateModelPackageOptionsFromSessionOptions(env_, session, &options));
    api_.ReleaseSessionOptions(session);
    return options;
  }

  std::string ErrorOfManifest(const std::string& manifest) const {
    folder_.Write("manifest.json", manifest);
    OrtModelPackageContext* package = nullptr;
    const std::string error = ErrorOf(packages_.CreateModelPackageContext(folder_.path().c_str(), &package));
    packages_.ReleaseModelPackageContext(package);
    return error;
  }
  /// Of variants for the provider, each with more that is said of it.
  OrtModelPackageContext* Open(std::initializer_list<std::pair<const char*, std::string>> variants) const {
    std::string json;
    for (const auto& [name, more] : variants) {
      json += (json.empty() ? "\"" : ", \"") + std::string(name) + R"(": {"ep": ")" + kProvider + "\"";
      json += R"(, "variant_directory": ".", "executor_info": {"ort": "ort.json"})" + more + "}";
    }
    folder_.Write("model.onnx", {reinterpret_cast<const char*>(model_.bytes().data()), model_.bytes().size()});
    folder_.Write("manifest.json", R"({"schema_version": "1.0", "components": {"m": {"variants": {)" + json + "}}}}");
    OrtModelPackageContext* package = nullptr;
    Ok(packages_.CreateModelPackageContext(folder_.path().c_str(), &package));
    return package;
  }
  /// The name of the variant, or what the error says.
  std::string Chosen(std::initializer_list<std::pair<const char*, std::string>> variants,
                     std::initializer_list<const char*> providers = {kProvider}) const {
    OrtModelPackageContext* package = Open(variants);
    OrtModelPackageOptions* options = NewOptions(providers);
    OrtModelPackageComponentContext* chosen = nullptr;
    std::string name = ErrorOf(packages_.SelectComponent(package, "m", options, &chosen));
    if (chosen != nullptr) {
      const char* text = nullptr;
      Ok(packages_.ModelPackageComponent_GetSelectedVariantName(chosen, &text));
      name = text;
    }
    packages_.ReleaseModelPackageComponentContext(chosen);
    packages_.ReleaseModelPackageOptions(options);
    packages_.ReleaseModelPackageContext(package);
    return name;
  }

  const OrtModelPackageApi& packages_ = *api_.GetModelPackageApi();
  TemporaryFolder folder_;
  const std::filesystem::path info_ = folder_.Write("ort.json", R"({"model_file": "model.onnx"})");
  const UnaryModel model_ = {{{"Neg", "x", "y"}}, {"y"}};
};

std::string For(const std::string& what) { return R"(, "compatibility_string": ")" + what + "\""; }
std::string On(const std::string& device) { return R"(, "device": ")" + device + "\""; }

TEST_F(ModelPackages, TheProviderJudgesVariants) {
  EXPECT_EQ(Chosen({{"any", ""}, {"old", For("an older one")}, {"best", For("this one")}}), "best");
  EXPECT_EQ(Chosen({{"any", ""}, {"old", For("an older one")}}), "old");
  EXPECT_EQ(Chosen({{"any", ""}, {"too", ""}}), "any");
  EXPECT_EQ(Chosen({{"other", For("another one")}, {"unknown", For("something")}}), "unknown");
  EXPECT_EQ(Chosen({{"broken", For("failing")}, {"any", ""}}), "any");
  EXPECT_THAT(Chosen({{"other", For("another one")}}), HasSubstr("no variant for CompilingExecutionProvider"));
  EXPECT_THAT(Chosen({{"broken", For("failing")}}), HasSubstr("no variant"));
}

TEST_F(ModelPackages, VariantsAreForDevices) {
  EXPECT_EQ(Chosen({{"gpu", On("gpu")}, {"cpu", On("CPU")}}), "cpu");
  EXPECT_EQ(Chosen({{"any", ""}, {"cpu", On("cpu") + For("this one")}}), "cpu");
  EXPECT_THAT(Chosen({{"gpu", On("gpu")}}), HasSubstr("no variant"));
}

TEST_F(ModelPackages, TheFirstProviderCounts) {
  EXPECT_EQ(Chosen({{"any", ""}}, {kProvider, "CPUExecutionProvider"}), "any");
  EXPECT_THAT(Chosen({{"any", ""}}, {"CPUExecutionProvider", kProvider}), HasSubstr("for CPUExecutionProvider"));
  EXPECT_THAT(Chosen({{"any", ""}}, {}), HasSubstr("for CPUExecutionProvider"));
}

TEST_F(ModelPackages, SessionsHaveTheProvider) {
  folder_.Write("ort.json", R"({"model_file": "model.onnx", "session_options": {"session.disable_model_compile": "1"}})");
  OrtModelPackageContext* package = Open({{"any", ""}});
  OrtModelPackageOptions* options = NewOptions({kProvider});
  OrtModelPackageComponentContext* chosen = nullptr;
  Ok(packages_.SelectComponent(package, "m", options, &chosen));
  packages_.ReleaseModelPackageOptions(options);
  packages_.ReleaseModelPackageContext(package);
  OrtSession* session = nullptr;
  OrtStatus* status = packages_.CreateSession(env_, chosen, nullptr, &session);
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(api_.GetErrorCode(status), ORT_MODEL_REQUIRES_COMPILATION);
  api_.ReleaseStatus(status);
  OrtSessionOptions* given = nullptr;
  Ok(api_.CreateSessionOptions(&given));
  Append(given, kProvider);
  Ok(packages_.CreateSession(env_, chosen, given, &session));  // the package's options are not for who has some
  api_.ReleaseSession(session);
  api_.ReleaseSessionOptions(given);
  packages_.ReleaseModelPackageComponentContext(chosen);
}

TEST_F(ModelPackages, ALibraryThatIsGoneIsAnError) {
  OrtModelPackageContext* package = Open({{"any", ""}});
  OrtModelPackageOptions* options = NewOptions({kProvider});
  Unregister();
  OrtModelPackageComponentContext* chosen = nullptr;
  EXPECT_THAT(ErrorOf(packages_.SelectComponent(package, "m", options, &chosen)), HasSubstr("unregistered"));
  packages_.ReleaseModelPackageOptions(options);
  packages_.ReleaseModelPackageContext(package);
}

// Deep enough to end a process that reads it by recursion.
TEST_F(ModelPackages, ManifestsHaveLimits) {
  const auto with = [](const std::string& metadata) {
    return R"({"schema_version": "1.0", "components": {}, "additional_metadata": )" + metadata + "}";
  };
  EXPECT_EQ(ErrorOfManifest(with("[[[3]]]")), "none");
  EXPECT_THAT(ErrorOfManifest(with(std::string(1 << 20, '[') + std::string(1 << 20, ']'))), HasSubstr("deeper than"));
  EXPECT_THAT(ErrorOfManifest(with("\"" + std::string(17 << 20, 'x') + "\"")), HasSubstr("bytes"));
  std::string members = "\"0\": 0";
  for (int i = 1; i < 20000; ++i) members += ", \"" + std::to_string(i) + "\": 0";
  EXPECT_THAT(ErrorOfManifest(with("{" + members + "}")), HasSubstr("members"));
  std::string components = R"("0": "part.json")";
  for (int i = 1; i < 40; ++i) components += ", \"" + std::to_string(i) + R"(": "part.json")";
  folder_.Write("part.json", R"({"variants": {}, "additional_metadata": ")" + std::string(1 << 20, 'x') + "\"}");
  EXPECT_THAT(ErrorOfManifest(R"({"schema_version": "1.0", "components": {)" + components + "}}"), HasSubstr("bytes"));
}

TEST_F(ModelPackages, NothingIsWaitedFor) {
  const std::filesystem::path pipe = folder_.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(ErrorOfManifest(R"({"schema_version": "1.0", "components": {"m": "pipe"}})"), HasSubstr("regular file"));
}

}  // namespace
}  // namespace tessera
