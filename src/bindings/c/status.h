#pragma once

#include "onnxruntime/onnxruntime_c_api.h"

/// One block of memory, with the text behind it.
struct OrtStatus {
  OrtErrorCode code;
  const char* text;
};
