#pragma once

#include <map>
#include <string>
#include <vector>

#include "bindings/c/handle.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/session.h"

struct OrtRunOptions {
  OrtRunOptions() { core.binding = this; }

  tessera::c_abi::Mark<OrtRunOptions> mark;
  tessera::RunOptions core;
  std::map<std::string, std::string, std::less<>> config;
  int log_severity = -1;  // the session's
  int log_verbosity = 0;
  std::vector<const OrtLoraAdapter*> adapters;  // the client keeps them
};

namespace tessera::c_abi {

/// Of a client's options, or those of no options.
const RunOptions& CoreOf(const OrtRunOptions* options);

}  // namespace tessera::c_abi
