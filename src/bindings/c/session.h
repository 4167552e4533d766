#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/c/env.h"
#include "bindings/c/handle.h"
#include "bindings/c/key_values.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/session.h"

namespace tessera::c_abi {

class AsyncRuns;
struct AssignedNodes;
struct UnfinishedSession;

[[noreturn]] void FailUnfinished();

}  // namespace tessera::c_abi

struct OrtSession {
  OrtSession();
  ~OrtSession();
  OrtSession(const OrtSession&) = delete;
  OrtSession& operator=(const OrtSession&) = delete;

  /// Throws Error while the model is edited.
  tessera::Session& loaded() {
    if (!session) [[unlikely]]
      tessera::c_abi::FailUnfinished();
    return *session;
  }
  const tessera::Session& loaded() const { return const_cast<OrtSession*>(this)->loaded(); }

  tessera::c_abi::Mark<OrtSession> mark;
  std::unique_ptr<tessera::c_abi::SessionLog> log;  // outlives what writes to it
  std::shared_ptr<const void> weights;              // that stay in the program's memory
  /// Until FinalizeModelEditorSession, in the session's place.
  std::unique_ptr<tessera::c_abi::UnfinishedSession> unfinished;
  std::optional<tessera::Session> session;
  std::unique_ptr<tessera::c_abi::AssignedNodes> assigned;  // where the options ask for it
  std::unique_ptr<tessera::c_abi::AsyncRuns> async;         // ends first
};

struct OrtModelMetadata {
  tessera::c_abi::Mark<OrtModelMetadata> mark;
  const tessera::ModelMetadata metadata;
  const bool has_version;
};

namespace tessera::c_abi {

using LoadSession = std::function<Session(const SessionOptions&, const Environment&)>;
/// Fills in the session, with the client's options, or those that are the default. `model`: its file, if it has one. Throws
/// Error, which leaves the session as it was.
void Load(OrtSession& session, const OrtEnv* env, const OrtSessionOptions* options, const std::filesystem::path& model,
          const LoadSession& load);

/// One run by names. `outputs`: null where the run allocates.
void RunByNames(OrtSession& session, const OrtRunOptions* options, const char* const* input_names,
                const OrtValue* const* inputs, size_t num_inputs, const char* const* output_names, size_t num_outputs,
                OrtValue** outputs);

}  // namespace tessera::c_abi
