// What clients give for compiled parts that providers keep outside of the model.

#include "bindings/c/allocator.h"
#include "bindings/c/entry.h"
#include "bindings/c/session_options.h"
#include "model/model.h"
#include "session/compiled_model.h"

struct OrtEpContextConfig {
  OrtReadNamedBufferFunc read = nullptr;
  void* read_state = nullptr;
};

namespace tessera::c_abi {

void TakeCompiledModel(const OrtSessionOptions& given, const std::filesystem::path& model, SessionOptions& core) {
  const auto entry = [&](std::string_view key) {
    const auto found = given.config.find(key);
    return found == given.config.end() ? std::string() : found->second;
  };
  if (entry("ep.context_enable") != "1") return;
  CompiledModelOptions& options = core.compiled_model;
  options.path = entry("ep.context_file_path");
  if (options.path.empty()) {
    Require(!model.empty(), "a model from memory has no name to call its compiled form by: set ep.context_file_path");
    options.path = model.parent_path() / (model.stem().string() + "_ctx.onnx");
  }
  options.weights_file = entry("ep.context_model_external_initializers_file_name");
  options.embed = entry("ep.context_embed_mode") == "1";
}

OrtStatusPtr SessionOptionsSetWeightlessSourceModelBuffer(OrtSessionOptions* options, const void* source_model_data,
                                                          size_t source_model_data_length) noexcept {
  return Guarded([&] {
    Require(source_model_data != nullptr || source_model_data_length == 0, "the model's {} bytes are null",
            source_model_data_length);
    Given(options, "the session options").source_model = {static_cast<const std::byte*>(source_model_data),
                                                          source_model_data_length};
  });
}

// Null and 0 where the client gave none.
OrtStatusPtr SessionOptionsGetWeightlessSourceModelBuffer(const OrtSessionOptions* options, const void** source_model_data,
                                                          size_t* source_model_data_length) noexcept {
  return Guarded([&] {
    const auto model = Given(options, "the session options").source_model;
    Given(source_model_data, "out") = model.data();
    Given(source_model_data_length, "the length") = model.size();
  });
}

OrtStatusPtr SessionOptionsSetEpContextDataReadFunc(OrtSessionOptions* options, OrtReadNamedBufferFunc read_func,
                                                    void* state) noexcept {
  return Guarded([&] {
    OrtSessionOptions& given = Given(options, "the session options");
    given.read_context = read_func;
    given.read_context_state = state;
  });
}

OrtStatusPtr SessionOptionsGetEpContextConfig(const OrtSessionOptions* options, OrtEpContextConfig** config) noexcept {
  return Guarded([&] {
    const OrtSessionOptions& given = Given(options, "the session options");
    Given(config, "out") = new OrtEpContextConfig{given.read_context, given.read_context_state};
  });
}

void ReleaseEpContextConfig(OrtEpContextConfig* input) { delete input; }

OrtStatusPtr EpContextConfigGetEpContextDataReadFunc(const OrtEpContextConfig* config, OrtReadNamedBufferFunc* read_func,
                                                     void** state) noexcept {
  return Guarded([&] {
    const OrtEpContextConfig& given = Given(config, "the configuration");
    Given(read_func, "the function") = given.read;
    Given(state, "the state") = given.read == nullptr ? nullptr : given.read_state;
  });
}

// Models are not compiled ahead through this table.
OrtStatusPtr EpContextConfigGetEpContextDataWriteFunc(const OrtEpContextConfig* config, OrtWriteNamedBufferFunc* write_func,
                                                      void** state) noexcept {
  return Guarded([&] {
    Given(config, "the configuration");
    Given(write_func, "the function") = nullptr;
    Given(state, "the state") = nullptr;
  });
}

namespace {

/// Null where the model says nothing for the provider.
char* CompatibilityIn(const ModelMetadata& metadata, const char* provider, OrtAllocator* allocator) {
  const auto info = metadata.custom.find(CompatibilityKey(&Given(provider, "the provider's name")));
  return info == metadata.custom.end() ? nullptr : CopyText(info->second, allocator);
}

}  // namespace

OrtStatusPtr GetCompatibilityInfoFromModel(const ORTCHAR_T* model_path, const char* ep_type, OrtAllocator* allocator,
                                           char** compatibility_info) noexcept {
  return Guarded([&] {
    Given(compatibility_info, "out") = nullptr;
    *compatibility_info =
        CompatibilityIn(ReadMetadata(std::filesystem::path(&Given(model_path, "the path"))), ep_type, allocator);
  });
}

OrtStatusPtr GetCompatibilityInfoFromModelBytes(const void* model_data, size_t model_data_length, const char* ep_type,
                                                OrtAllocator* allocator, char** compatibility_info) noexcept {
  return Guarded([&] {
    Given(compatibility_info, "out") = nullptr;
    const std::span bytes(&Given(static_cast<const std::byte*>(model_data), "the model"), model_data_length);
    *compatibility_info = CompatibilityIn(ReadMetadata(bytes), ep_type, allocator);
  });
}

}  // namespace tessera::c_abi
