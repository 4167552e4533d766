// OrtCompileApi with a library whose provider compiles ahead of time (compiling_provider.cpp).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "client.h"
#include "temporary_folder.h"
#include "unary_model.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;
using testing::UnaryModel;

constexpr const char* kProvider = "CompilingExecutionProvider";

/// What a provider stores outside of models, in the program's memory.
struct Store {
  std::map<std::string, std::string> data;

  static OrtStatus* Write(void* state, const char* name, const void* buffer, size_t bytes) {
    static_cast<Store*>(state)->data[name].assign(static_cast<const char*>(buffer), bytes);
    return nullptr;
  }
  static OrtStatus* Read(void* state, const char* name, OrtAllocator* allocator, void** buffer, size_t* bytes) {
    const std::string& held = static_cast<Store*>(state)->data.at(name);
    *bytes = held.size();
    *buffer = allocator->Alloc(allocator, held.size());
    std::memcpy(*buffer, held.data(), held.size());
    return nullptr;
  }
};

class CompileApi : public testing::ClientTest {
 protected:
  CompileApi() : ClientTest("compiling", COMPILING_PROVIDER) {}

  /// With the provider, which may be given an option of its own.
  OrtSessionOptions* NewOptions(const char* key = nullptr) const {
    OrtSessionOptions* options = nullptr;
    Ok(api_.CreateSessionOptions(&options));
    Append(options, kProvider, key);
    return options;
  }
  OrtModelCompilationOptions* NewCompilation(const UnaryModel& model, const char* key = nullptr) const {
    OrtSessionOptions* session = NewOptions(key);
    OrtModelCompilationOptions* options = nullptr;
    Ok(compiling_.CreateModelCompilationOptionsFromSessionOptions(env_, session, &options));
    api_.ReleaseSessionOptions(session);
    Ok(compiling_.ModelCompilationOptions_SetInputModelFromBuffer(options, model.bytes().data(), model.bytes().size()));
    return options;
  }
  OrtStatus* Run(const std::string& model, const OrtSessionOptions* options, float* y) const {
    OrtSession* session = nullptr;
    if (OrtStatus* status = api_.CreateSessionFromArray(env_, model.data(), model.size(), options, &session)) return status;
    float x[] = {1, -2, 3};
    const int64_t three = 3;
    OrtMemoryInfo* info = nullptr;
    Ok(api_.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &info));
    OrtValue *input = nullptr, *output = nullptr;
    Ok(api_.CreateTensorWithDataAsOrtValue(info, x, sizeof x, &three, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input));
    Ok(api_.CreateTensorWithDataAsOrtValue(info, y, sizeof x, &three, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &output));
    const char *in = "x", *out = "y";
    const OrtValue* given = input;
    Ok(api_.Run(session, nullptr, &in, &given, 1, &out, 1, &output));
    api_.ReleaseValue(input);
    api_.ReleaseValue(output);
    api_.ReleaseMemoryInfo(info);
    api_.ReleaseSession(session);
    return nullptr;
  }
  /// Compiles into the bytes of a model, and releases the options.
  std::string Compiled(OrtModelCompilationOptions* options) const {
    std::string model;
    const OrtWriteBufferFunc append = [](void* state, const void* buffer, size_t bytes) -> OrtStatus* {
      static_cast<std::string*>(state)->append(static_cast<const char*>(buffer), bytes);
      return nullptr;
    };
    Ok(compiling_.ModelCompilationOptions_SetOutputModelWriteFunc(options, append, &model));
    Ok(compiling_.CompileModel(env_, options));
    compiling_.ReleaseModelCompilationOptions(options);
    return model;
  }

  const OrtCompileApi& compiling_ = *api_.GetCompileApi();
  TemporaryFolder folder_;
  // -|-x| and |x|; compilations read the bytes where they are.
  const UnaryModel mixed_ = {{{"Neg", "x", "a"}, {"Abs", "a", "b"}, {"Neg", "b", "y"}}, {"y"}};
  const UnaryModel of_others_ = {{{"Abs", "x", "y"}}, {"y"}};
};

TEST_F(CompileApi, PutsResultsIntoTheModel) {
  OrtModelCompilationOptions* options = NewCompilation(mixed_);
  Ok(compiling_.ModelCompilationOptions_SetEpContextEmbedMode(options, true));
  const std::string model = Compiled(options);
  EXPECT_THAT(model, HasSubstr("EPContext"));
  OrtSessionOptions* session = NewOptions();
  Ok(api_.AddSessionConfigEntry(session, "session.disable_model_compile", "1"));
  float y[3] = {};
  Ok(Run(model, session, y));
  EXPECT_EQ(y[1], -2.0F);
  api_.ReleaseSessionOptions(session);
}

TEST_F(CompileApi, LetsTheProgramKeepResults) {
  Store store;
  OrtModelCompilationOptions* options = NewCompilation(mixed_);
  Ok(compiling_.ModelCompilationOptions_SetEpContextDataWriteFunc(options, Store::Write, &store));
  const std::string model = Compiled(options);
  EXPECT_EQ(store.data.size(), 2u);
  EXPECT_TRUE(store.data.contains("y.bin"));
  OrtSessionOptions* session = NewOptions();
  Ok(api_.SessionOptionsSetEpContextDataReadFunc(session, Store::Read, &store));
  float y[3] = {};
  Ok(Run(model, session, y));
  EXPECT_EQ(y[2], -3.0F);
  store.data["y.bin"] = "1";  // what is read is what runs
  Ok(Run(model, session, y));
  EXPECT_EQ(y[2], 3.0F);
  api_.ReleaseSessionOptions(session);
}

TEST_F(CompileApi, RefusesProvidersThatKeepResultsThemselves) {
  Store store;
  OrtModelCompilationOptions* options = NewCompilation(mixed_, "files_only");
  Ok(compiling_.ModelCompilationOptions_SetEpContextDataWriteFunc(options, Store::Write, &store));
  Ok(compiling_.ModelCompilationOptions_SetOutputModelPath(options, (folder_.path() / "m.onnx").c_str()));
  EXPECT_THAT(ErrorOf(compiling_.CompileModel(env_, options)),
              HasSubstr("the program is to keep what CompilingExecutionProvider compiles"));
  compiling_.ReleaseModelCompilationOptions(options);
  options = NewCompilation(mixed_);
  Ok(compiling_.ModelCompilationOptions_SetEpContextDataWriteFunc(options, Store::Write, &store));
  const std::string model = Compiled(options);
  OrtSessionOptions* session = NewOptions("files_only");
  Ok(api_.SessionOptionsSetEpContextDataReadFunc(session, Store::Read, &store));
  float y[3] = {};
  EXPECT_THAT(ErrorOf(Run(model, session, y)), HasSubstr("it holds what CompilingExecutionProvider compiled"));
  api_.ReleaseSessionOptions(session);
}

TEST_F(CompileApi, NamesFilesOfResultsAfterTheModel) {
  OrtModelCompilationOptions* options = NewCompilation(mixed_);
  Ok(compiling_.ModelCompilationOptions_SetEpContextBinaryInformation(options, (folder_.path().string() + "/").c_str(),
                                                                      "named.onnx"));
  Compiled(options);
  EXPECT_TRUE(exists(folder_.path() / "named_y.bin"));
  EXPECT_FALSE(exists(folder_.path() / "named.onnx"));
}

TEST_F(CompileApi, WritesWhatNobodyCompilesUnlessThatIsAnError) {
  EXPECT_THAT(Compiled(NewCompilation(of_others_)), HasSubstr("Abs"));
  OrtModelCompilationOptions* options = NewCompilation(of_others_);
  Ok(compiling_.ModelCompilationOptions_SetFlags(options, OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED));
  Ok(compiling_.ModelCompilationOptions_SetOutputModelPath(options, (folder_.path() / "m.onnx").c_str()));
  EXPECT_THAT(ErrorOf(compiling_.CompileModel(env_, options)), HasSubstr("name one that does"));
  EXPECT_FALSE(exists(folder_.path() / "m.onnx"));
  compiling_.ReleaseModelCompilationOptions(options);
}

}  // namespace
}  // namespace tessera
