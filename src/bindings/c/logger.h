#pragma once

// The log as kernels and providers of clients write to it.

#include <string>

#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/log.h"

struct OrtLogger {
  std::string id;
  tessera::LogLevel level = tessera::LogLevel::kWarning;
};
