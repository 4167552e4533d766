#pragma once

#include <deque>

#include "bindings/c/ep/kernel_def.h"
#include "onnxruntime/onnxruntime_ep_c_api.h"

/// The kernels of a plugin's provider, in the order in which it added them.
struct OrtKernelRegistry {
  struct Kernel {
    OrtKernelDef def;
    OrtKernelCreateFunc create;
    void* state;  // for `create`
  };

  std::deque<Kernel> kernels;
};
