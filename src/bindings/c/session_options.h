#pragma once

// How a session is made, as clients say it.

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings/c/env.h"
#include "bindings/c/threading.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/session.h"

namespace tessera::c_abi {

/// The client's, which read and write what providers of libraries store outside of models.
struct ContextFunctions {
  OrtReadNamedBufferFunc read = nullptr;
  void* read_state = nullptr;
  OrtWriteNamedBufferFunc write = nullptr;
  void* write_state = nullptr;
};

}  // namespace tessera::c_abi

struct OrtSessionOptions {
  tessera::c_abi::Mark<OrtSessionOptions> mark;
  /// Set by it: whether loads with these options end.
  std::shared_ptr<std::atomic<bool>> cancel = std::make_shared<std::atomic<bool>>(false);
  tessera::SessionOptions core;
  /// All that was said, known or not.
  std::map<std::string, std::string, std::less<>> config;
  /// Weights by name, in place of the model's: those that the client has for any model, and those that this one lacks.
  std::map<std::string, tessera::Tensor, std::less<>> initializers, external_initializers;
  /// Files of external data that lie in memory, by the names that the model has for them.
  std::map<std::string, std::pair<const char*, size_t>, std::less<>> files;
  tessera::c_abi::LogTarget log;
  int log_severity = -1;  // the environment's
  int intra_op_threads = 0, inter_op_threads = 0;
  bool per_session_threads = true;
  tessera::c_abi::ThreadFunctions thread_functions;
  bool chooses_devices = false;  // by the policy or the delegate, where no provider is appended
  OrtExecutionProviderDevicePolicy policy = OrtExecutionProviderDevicePolicy_DEFAULT;
  EpSelectionDelegate delegate = nullptr;
  void* delegate_state = nullptr;
  /// Operators of the client's, whose domains it keeps, and the libraries of those that the options load.
  std::vector<OrtCustomOpDomain*> custom_op_domains;
  std::vector<std::shared_ptr<const void>> custom_op_libraries;
  /// For providers of libraries: the model that holds the weights of one without.
  std::span<const std::byte> source_model;
  tessera::c_abi::ContextFunctions context_functions;
  /// What the options of a compilation say, in place of the entries "ep.context_*".
  std::optional<tessera::CompiledModelOptions> compiled_model;
  /// Keeps the bytes of a model in memory as long as the session, which then does not copy them. The C ABI has no way to
  /// say so.
  std::shared_ptr<const void> model_owner;
  /// What variants of model packages are chosen for: the provider that was appended first, with the devices of a library's.
  std::string first_provider;
  std::vector<const OrtEpDevice*> first_devices;
};

namespace tessera::c_abi {

struct LogLine {
  LogLevel level;
  std::string text;
};

/// What Tessera is to make of the options in this environment. Throws Error for what no session can be made with; `notes`
/// are for the log, of what has no effect.
SessionOptions OptionsFor(const OrtSessionOptions& given, OrtEnv& env, std::vector<LogLine>& notes);

/// The model to write of what providers compile of `model`, a file or, where it came as bytes, empty; and what they are
/// shown of the client's options.
void TakeCompiledModel(const OrtSessionOptions& given, const std::filesystem::path& model, SessionOptions& core);

/// The client's weights.
void TakeInitializers(const OrtSessionOptions& given, SessionOptions& core);

/// The client's operators, as one more provider.
void TakeCustomOps(const OrtSessionOptions& given, SessionOptions& core);

/// Appends the providers that the client's policy or delegate chooses, where it gave one and no provider.
void ChooseDevices(OrtSessionOptions& options, const OrtEnv& env);

/// Where external data of a model from memory lies; empty where the client does not say.
std::filesystem::path ExternalFolder(const OrtSessionOptions* options);

/// Takes an entry that stands for an option of its own ("session.intra_op_num_threads"); false where it is none.
bool TakeMirror(OrtSessionOptions& options, std::string_view key, std::string_view value);
/// The entries that stand for options, for who reads them there.
void FillMirrors(OrtSessionOptions& options);

}  // namespace tessera::c_abi
