#pragma once

#include "bindings/c/handle.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/thread_options.h"

namespace tessera::c_abi {

/// Functions of the client's that start threads and wait for their ends.
struct ThreadFunctions {
  OrtCustomCreateThreadFn create = nullptr;
  OrtCustomJoinThreadFn join = nullptr;
  void* options = nullptr;
};

/// What a pool starts threads with; null where the client has no function. Throws Error where it has one of the two only.
ThreadStarter StarterOf(const ThreadFunctions& functions);

}  // namespace tessera::c_abi

/// Threads that sessions share: what an environment is made with.
struct OrtThreadingOptions {
  tessera::c_abi::Mark<OrtThreadingOptions> mark;
  int intra_op_threads = 0;  // 0: one a core
  int inter_op_threads = 0;
  bool denormal_as_zero = false;
  tessera::ThreadOptions threads;
  tessera::c_abi::ThreadFunctions functions;
};
