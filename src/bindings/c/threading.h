#pragma once

#include <string>

#include "onnxruntime/onnxruntime_c_api.h"

/// Threads that sessions share: what an environment is made with.
struct OrtThreadingOptions {
  int intra_op_threads = 0;  // 0: one a core
  int inter_op_threads = 0;
  bool spin = true;
  bool denormal_as_zero = false;
  std::string affinity;
  OrtCustomCreateThreadFn create = nullptr;
  OrtCustomJoinThreadFn join = nullptr;
  void* creation_options = nullptr;
};
