// Models compiled ahead of time: what OrtCompileApi sets, and the load that writes them.

#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/c/allocator.h"
#include "bindings/c/context_keys.h"
#include "bindings/c/editor/made_model.h"
#include "bindings/c/entry.h"
#include "bindings/c/env.h"
#include "bindings/c/session.h"
#include "bindings/c/session_options.h"
#include "bindings/c/value.h"
#include "bindings/c/views/external_initializer.h"

namespace tessera::c_abi {
namespace {

/// The client's memory for bytes that are written: it has them when all has gone well.
struct ClientBuffer {
  OrtAllocator* allocator = nullptr;
  void** data = nullptr;
  size_t* bytes = nullptr;

  bool wanted() const { return allocator != nullptr; }
};

/// Who is asked where each weight lies.
struct WeightCallback {
  OrtGetInitializerLocationFunc function = nullptr;
  void* state = nullptr;
};

constexpr const char* kOptions = "the compilation's options";

}  // namespace
}  // namespace tessera::c_abi

struct OrtModelCompilationOptions {
  tessera::c_abi::Mark<OrtModelCompilationOptions> mark;
  OrtSessionOptions session;  // has a compiled model
  // Exactly one of these three is the model.
  std::filesystem::path input;
  std::span<const std::byte> input_bytes;
  const OrtModel* input_model = nullptr;
  tessera::c_abi::ClientBuffer output, weights;
  bool output_given = false;
  tessera::c_abi::WeightCallback place_weight;

  tessera::CompiledModelOptions& compiled() { return *session.compiled_model; }
};

namespace tessera::c_abi {
namespace {

using IfNothing = CompiledModelOptions::IfNothingCompiled;

std::filesystem::path PathIn(const char* text, std::string_view what) {
  const std::filesystem::path path = &Given(text, what);
  Require(!path.empty(), "{} is empty", what);
  return path;
}

void ForgetInput(OrtModelCompilationOptions& options) {
  options.input.clear();
  options.input_bytes = {};
  options.input_model = nullptr;
}

/// Where the model goes: what was said before no longer holds.
CompiledModelOptions& NewOutput(OrtModelCompilationOptions& options) {
  options.output = {};
  options.output_given = true;
  options.compiled().path.clear();
  options.compiled().write = nullptr;
  return options.compiled();
}

/// Where the weights go, likewise.
CompiledModelOptions& NewWeights(OrtModelCompilationOptions& options) {
  options.weights = {};
  options.place_weight = {};
  options.compiled().weights_file.clear();
  options.compiled().write_weights = nullptr;
  return options.compiled();
}

ClientBuffer BufferFor(OrtAllocator* allocator, void** data, size_t* bytes) {
  return {&Given(allocator, "the allocator"), &Given(data, "the buffer's pointer"), &Given(bytes, "the buffer's size")};
}

/// What a load writes into memory.
class Gathered {
 public:
  void Append(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }

  /// A copy for the client; it owns nothing before Keep.
  void CopyFor(const ClientBuffer& buffer) {
    if (!buffer.wanted() || bytes_.empty()) return;
    allocator_ = buffer.allocator;
    copy_ = allocator_->Alloc(allocator_, bytes_.size());
    if (copy_ == nullptr) Fail(ErrorCode::kFail, "the client's allocator gave no memory for {} bytes", bytes_.size());
    std::memcpy(copy_, bytes_.data(), bytes_.size());
  }
  void Keep(const ClientBuffer& buffer) noexcept {
    if (!buffer.wanted()) return;
    *buffer.data = std::exchange(copy_, nullptr);
    *buffer.bytes = bytes_.size();
  }

  Gathered() = default;
  Gathered(const Gathered&) = delete;
  Gathered& operator=(const Gathered&) = delete;
  ~Gathered() {
    if (copy_ != nullptr) allocator_->Free(allocator_, copy_);
  }

 private:
  std::vector<std::byte> bytes_;
  OrtAllocator* allocator_ = nullptr;
  void* copy_ = nullptr;
};

/// Asks the client where the weight lies; what it answers is ours to release.
std::optional<WeightPlace> AskForPlace(const WeightCallback& callback, const std::filesystem::path& model,
                                       const std::string& name, const Tensor& weight) {
  const OrtValue value(Tensor::ShareUnaligned(weight.type(), weight.shape(), weight.unaligned_raw(), nullptr));
  const std::unique_ptr<OrtExternalInitializerInfo> now = FindExternal(weight, model);
  OrtExternalInitializerInfo* answer = nullptr;
  ThrowIfFailed(callback.function(callback.state, name.c_str(), &value, now.get(), &answer));
  if (answer == nullptr) return std::nullopt;
  Require(answer != now.get(), "weight '{}': the place that was given is returned; make a new one of it", name);
  const std::unique_ptr<OrtExternalInitializerInfo, void (*)(OrtExternalInitializerInfo*)> owned(
      &Given(answer, "the weight's place"), ReleaseExternalInitializerInfo);
  return WeightPlace{owned->file, owned->offset, owned->bytes};
}

/// Weights lie beside the model: a folder that is the model's own is no part of their name.
std::string NameBeside(const std::string& weights, const std::filesystem::path& model) {
  const std::filesystem::path file(weights);
  std::error_code error;
  if (!file.has_parent_path() ||
      !equivalent(file.parent_path(), model.has_parent_path() ? model.parent_path() : ".", error))
    return weights;
  return file.filename().string();
}

void CheckInput(const OrtModelCompilationOptions& options) {
  const bool from_file = !options.input.empty();
  Require(from_file || !options.input_bytes.empty() || options.input_model != nullptr,
          "no model is given to compile: set a path, bytes or an OrtModel");
  Require(!from_file || exists(options.input), "the model to compile, {}, does not exist", options.input.string());
  if (!from_file && !options.output_given) {
    Fail(ErrorCode::kFail,
         "a model from memory has no name to call its compiled form by: set a path, buffer or function for the output");
  }
}

/// The load that writes; what it loads is of no use to the client.
void Load(const OrtEnv& env, const OrtModelCompilationOptions& options, const OrtSessionOptions& session) {
  OrtSession* made = nullptr;
  if (!options.input.empty()) {
    ThrowIfFailed(CreateSession(&env, options.input.c_str(), &session, &made));
  } else if (options.input_model != nullptr) {
    ThrowIfFailed(CreateSessionFromModel(&env, options.input_model, &session, &made));
  } else {
    ThrowIfFailed(CreateSessionFromArray(&env, options.input_bytes.data(), options.input_bytes.size(), &session, &made));
  }
  ReleaseSession(made);
}

void Compile(const OrtEnv& env, const OrtModelCompilationOptions& options) {
  CheckInput(options);
  OrtSessionOptions session = options.session;
  CompiledModelOptions& compiled = *session.compiled_model;
  const std::filesystem::path beside = compiled.path.empty() ? options.input : compiled.path;
  compiled.weights_file = NameBeside(compiled.weights_file, beside);
  Gathered model, weights;
  if (options.output.wanted()) compiled.write = [&](std::span<const std::byte> bytes) { model.Append(bytes); };
  if (options.weights.wanted()) compiled.write_weights = [&](std::span<const std::byte> bytes) { weights.Append(bytes); };
  if (options.place_weight.function != nullptr) {
    compiled.place_weight = [&](const std::string& name, const Tensor& weight) {
      return AskForPlace(options.place_weight, options.input, name, weight);
    };
  }
  Load(env, options, session);
  model.CopyFor(options.output);
  weights.CopyFor(options.weights);
  model.Keep(options.output);
  weights.Keep(options.weights);
}

OrtModelCompilationOptions& Options(OrtModelCompilationOptions* options) { return Given(options, kOptions); }

}  // namespace

// Providers that read the entries are told so by them.
OrtStatusPtr CreateModelCompilationOptionsFromSessionOptions(const OrtEnv* env, const OrtSessionOptions* session_options,
                                                             OrtModelCompilationOptions** out) noexcept {
  return Guarded([&] {
    Given(env, "the environment");
    const OrtSessionOptions& session = Given(session_options, "the session options");
    Give(out, [&] {
      auto options = std::make_unique<OrtModelCompilationOptions>();
      options->session = session;
      CompiledModelOptions compiled;
      compiled.overwrite = true;
      compiled.if_nothing = IfNothing::kWriteModel;
      const auto embed = session.config.find(kEmbedCompiled);
      compiled.embed = embed != session.config.end() && embed->second == "1";
      options->session.compiled_model = std::move(compiled);
      options->session.core.optimization_level = OptimizationLevel::kNone;
      options->session.core.error_on_failure = true;  // what a provider fails to compile is not to be missed
      options->session.config.insert_or_assign(kWriteCompiled, "1");
      options->session.config.insert_or_assign("session.disable_model_compile", "0");
      options->session.config.insert_or_assign("session.compile_only", "1");
      return options.release();
    });
  });
}

void ReleaseModelCompilationOptions(OrtModelCompilationOptions* input) { Release(input); }

OrtStatusPtr ModelCompilationOptions_SetInputModelPath(OrtModelCompilationOptions* model_compile_options,
                                                       const char* input_model_path) noexcept {
  return Guarded([&] {
    OrtModelCompilationOptions& options = Options(model_compile_options);
    std::filesystem::path path = PathIn(input_model_path, "the model's path");
    ForgetInput(options);
    options.input = std::move(path);
  });
}

OrtStatusPtr ModelCompilationOptions_SetInputModelFromBuffer(OrtModelCompilationOptions* model_compile_options,
                                                             const void* input_model_data,
                                                             size_t input_model_data_size) noexcept {
  return Guarded([&] {
    OrtModelCompilationOptions& options = Options(model_compile_options);
    Require(input_model_data != nullptr && input_model_data_size > 0, "the model is {} bytes at {}; give its bytes",
            input_model_data_size, input_model_data);
    ForgetInput(options);
    options.input_bytes = {static_cast<const std::byte*>(input_model_data), input_model_data_size};
  });
}

OrtStatusPtr ModelCompilationOptions_SetInputModel(OrtModelCompilationOptions* model_compile_options,
                                                   const OrtModel* model) noexcept {
  return Guarded([&] {
    OrtModelCompilationOptions& options = Options(model_compile_options);
    const OrtModel& given = Given(model, "the model");
    ForgetInput(options);
    options.input_model = &given;
  });
}

OrtStatusPtr ModelCompilationOptions_SetOutputModelPath(OrtModelCompilationOptions* model_compile_options,
                                                        const char* output_model_path) noexcept {
  return Guarded([&] {
    OrtModelCompilationOptions& options = Options(model_compile_options);
    std::filesystem::path path = PathIn(output_model_path, "the compiled model's path");
    options.session.config.insert_or_assign(kCompiledPath, path.string());
    NewOutput(options).path = std::move(path);
  });
}

OrtStatusPtr ModelCompilationOptions_SetOutputModelBuffer(OrtModelCompilationOptions* model_compile_options,
                                                          OrtAllocator* allocator, void** output_model_buffer_ptr,
                                                          size_t* output_model_buffer_size_ptr) noexcept {
  return Guarded([&] {
    OrtModelCompilationOptions& options = Options(model_compile_options);
    const ClientBuffer buffer = BufferFor(allocator, output_model_buffer_ptr, output_model_buffer_size_ptr);
    NewOutput(options);
    options.output = buffer;
  });
}

OrtStatusPtr ModelCompilationOptions_SetOutputModelWriteFunc(OrtModelCompilationOptions* model_compile_options,
                                                             OrtWriteBufferFunc write_func, void* state) noexcept {
  return Guarded([&] {
    OrtModelCompilationOptions& options = Options(model_compile_options);
    Require(write_func != nullptr, "the function that takes the model is null");
    NewOutput(options).write = [write_func, state](std::span<const std::byte> bytes) {
      ThrowIfFailed(write_func(state, bytes.data(), bytes.size()));
    };
  });
}

OrtStatusPtr ModelCompilationOptions_SetOutputModelExternalInitializersFile(
    OrtModelCompilationOptions* model_compile_options, const char* external_initializers_file_path,
    size_t external_initializers_size_threshold) noexcept {
  return Guarded([&] {
    OrtModelCompilationOptions& options = Options(model_compile_options);
    const std::filesystem::path path = PathIn(external_initializers_file_path, "the path of the weights' file");
    CompiledModelOptions& compiled = NewWeights(options);
    compiled.weights_file = path.string();
    compiled.least_weight = external_initializers_size_threshold;
  });
}

OrtStatusPtr ModelCompilationOptions_SetOutputModelExternalInitializersBuffer(
    OrtModelCompilationOptions* model_compile_options, const char* logical_file_name,
    size_t external_initializers_size_threshold, OrtAllocator* allocator, void** output_buffer_ptr,
    size_t* output_buffer_size_ptr) noexcept {
  return Guarded([&] {
    OrtModelCompilationOptions& options = Options(model_compile_options);
    const std::filesystem::path name = PathIn(logical_file_name, "the name of the weights' file");
    Require(name.is_relative(), "the weights' file is called '{}': give a relative path", name.string());
    const ClientBuffer buffer = BufferFor(allocator, output_buffer_ptr, output_buffer_size_ptr);
    CompiledModelOptions& compiled = NewWeights(options);
    options.weights = buffer;
    compiled.weights_file = name.string();
    compiled.least_weight = external_initializers_size_threshold;
  });
}

OrtStatusPtr ModelCompilationOptions_SetOutputModelExternalInitializersAlignment(
    OrtModelCompilationOptions* model_compile_options, size_t alignment, size_t minimum_size) noexcept {
  return Guarded([&] {
    OrtModelCompilationOptions& options = Options(model_compile_options);
    constexpr size_t kMost = std::numeric_limits<int64_t>::max();
    Require((alignment & (alignment - 1)) == 0, "weights are to be aligned to {} bytes: give a power of two, or 0",
            alignment);
    Require(alignment <= kMost && minimum_size <= kMost,
            "alignment {} of weights from {} bytes on is beyond a file's sizes", alignment, minimum_size);
    options.compiled().weight_alignment = std::max<size_t>(alignment, 1);
    options.compiled().least_aligned = minimum_size;
  });
}

OrtStatusPtr ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc(
    OrtModelCompilationOptions* model_compile_options, OrtGetInitializerLocationFunc get_initializer_location_func,
    void* state) noexcept {
  return Guarded([&] {
    OrtModelCompilationOptions& options = Options(model_compile_options);
    Require(get_initializer_location_func != nullptr, "the function that places weights is null");
    NewWeights(options);
    options.place_weight = {get_initializer_location_func, state};
  });
}

OrtStatusPtr ModelCompilationOptions_SetEpContextEmbedMode(OrtModelCompilationOptions* model_compile_options,
                                                           bool embed_ep_context_in_model) noexcept {
  return Guarded([&] {
    OrtModelCompilationOptions& options = Options(model_compile_options);
    options.session.config.insert_or_assign(kEmbedCompiled, embed_ep_context_in_model ? "1" : "0");
    options.compiled().embed = embed_ep_context_in_model;
  });
}

// Providers name what they store beside a model that has no file after this one.
OrtStatusPtr ModelCompilationOptions_SetEpContextBinaryInformation(OrtModelCompilationOptions* model_compile_options,
                                                                   const char* output_directory,
                                                                   const char* model_name) noexcept {
  return Guarded([&] {
    OrtModelCompilationOptions& options = Options(model_compile_options);
    const std::filesystem::path folder = PathIn(output_directory, "the output folder");
    const std::filesystem::path name = PathIn(model_name, "the model's name");
    Require(!folder.has_filename() || folder.has_extension(), "the output folder '{}' does not end in '/'",
            folder.string());
    options.session.config.insert_or_assign(kCompiledPath, (folder / name).string());
  });
}

// Null: what providers store lies in files again.
OrtStatusPtr ModelCompilationOptions_SetEpContextDataWriteFunc(OrtModelCompilationOptions* model_compile_options,
                                                               OrtWriteNamedBufferFunc write_func, void* state) noexcept {
  return Guarded([&] {
    OrtModelCompilationOptions& options = Options(model_compile_options);
    ContextFunctions& functions = options.session.context_functions;
    functions.write = write_func;
    functions.write_state = write_func == nullptr ? nullptr : state;
  });
}

OrtStatusPtr ModelCompilationOptions_SetFlags(OrtModelCompilationOptions* model_compile_options, uint32_t flags) noexcept {
  return Guarded([&] {
    CompiledModelOptions& compiled = Options(model_compile_options).compiled();
    compiled.overwrite = (flags & OrtCompileApiFlags_ERROR_IF_OUTPUT_FILE_EXISTS) == 0;
    const bool fail = (flags & OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED) != 0;
    compiled.if_nothing = fail ? IfNothing::kFail : IfNothing::kWriteModel;
  });
}

OrtStatusPtr ModelCompilationOptions_SetGraphOptimizationLevel(OrtModelCompilationOptions* model_compile_options,
                                                               GraphOptimizationLevel graph_optimization_level) noexcept {
  return SetSessionGraphOptimizationLevel(IsThere(model_compile_options) ? &model_compile_options->session : nullptr,
                                          graph_optimization_level);
}

OrtStatusPtr ModelCompilationOptions_SetWeightlessEnabled(OrtModelCompilationOptions* model_compile_options,
                                                          bool enabled) noexcept {
  return Guarded(
      [&] { Options(model_compile_options).session.config.insert_or_assign("ep.enable_weightless", enabled ? "1" : "0"); });
}

OrtStatusPtr CompileModel(const OrtEnv* env, const OrtModelCompilationOptions* model_options) noexcept {
  return Guarded([&] { Compile(Given(env, "the environment"), Given(model_options, kOptions)); });
}

}  // namespace tessera::c_abi
