#pragma once

#include <memory>
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

}  // namespace tessera::c_abi

struct OrtSession {
  OrtSession(tessera::Session loaded, std::unique_ptr<tessera::c_abi::SessionLog> its_log);
  ~OrtSession();

  tessera::c_abi::Mark<OrtSession> mark;
  std::unique_ptr<tessera::c_abi::SessionLog> log;  // outlives what writes to it
  tessera::Session session;
  std::unique_ptr<tessera::c_abi::AssignedNodes> assigned;  // where the options ask for it
  std::unique_ptr<tessera::c_abi::AsyncRuns> async;         // ends first
};

struct OrtModelMetadata {
  tessera::c_abi::Mark<OrtModelMetadata> mark;
  const tessera::ModelMetadata metadata;
  const bool has_version;
};

namespace tessera::c_abi {

/// One run by names. `outputs`: null where the run allocates.
void RunByNames(OrtSession& session, const OrtRunOptions* options, const char* const* input_names,
                const OrtValue* const* inputs, size_t num_inputs, const char* const* output_names, size_t num_outputs,
                OrtValue** outputs);

}  // namespace tessera::c_abi
