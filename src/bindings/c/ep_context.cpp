// What clients give for compiled parts that providers keep outside of the model.

#include "bindings/c/context_keys.h"
#include "bindings/c/entry.h"
#include "bindings/c/session_options.h"

struct OrtEpContextConfig {
  tessera::c_abi::Mark<OrtEpContextConfig> mark;
  tessera::c_abi::ContextFunctions functions;
};

namespace tessera::c_abi {

namespace {

std::filesystem::path CompiledBeside(const std::filesystem::path& model) {
  return model.parent_path() / (model.stem().string() + "_ctx.onnx");
}

}  // namespace

void TakeCompiledModel(const OrtSessionOptions& given, const std::filesystem::path& model, SessionOptions& core) {
  const auto entry = [&](std::string_view key) {
    const auto found = given.config.find(key);
    return found == given.config.end() ? std::string() : found->second;
  };
  core.made_of = &given;
  CompiledModelOptions& options = core.compiled_model;
  if (given.compiled_model) {
    options = *given.compiled_model;
    if (options.path.empty() && !model.empty()) options.path = CompiledBeside(model);
    return;
  }
  if (entry(kWriteCompiled) != "1") return;
  options.path = entry(kCompiledPath);
  if (options.path.empty()) {
    Require(!model.empty(), "a model from memory has no name to call its compiled form by: set {}", kCompiledPath);
    options.path = CompiledBeside(model);
  }
  options.weights_file = entry(kCompiledWeights);
  options.embed = entry(kEmbedCompiled) == "1";
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
    ContextFunctions& functions = Given(options, "the session options").context_functions;
    functions.read = read_func;
    functions.read_state = state;
  });
}

OrtStatusPtr SessionOptionsGetEpContextConfig(const OrtSessionOptions* options, OrtEpContextConfig** config) noexcept {
  return Guarded([&] {
    const OrtSessionOptions& given = Given(options, "the session options");
    Give(config, [&] { return new OrtEpContextConfig{{}, given.context_functions}; });
  });
}

void ReleaseEpContextConfig(OrtEpContextConfig* input) { Release(input); }

OrtStatusPtr EpContextConfigGetEpContextDataReadFunc(const OrtEpContextConfig* config, OrtReadNamedBufferFunc* read_func,
                                                     void** state) noexcept {
  return Guarded([&] {
    const ContextFunctions& given = Given(config, "the configuration").functions;
    Given(read_func, "the function") = given.read;
    Given(state, "the state") = given.read == nullptr ? nullptr : given.read_state;
  });
}

OrtStatusPtr EpContextConfigGetEpContextDataWriteFunc(const OrtEpContextConfig* config, OrtWriteNamedBufferFunc* write_func,
                                                      void** state) noexcept {
  return Guarded([&] {
    const ContextFunctions& given = Given(config, "the configuration").functions;
    Given(write_func, "the function") = given.write;
    Given(state, "the state") = given.write == nullptr ? nullptr : given.write_state;
  });
}

}  // namespace tessera::c_abi
