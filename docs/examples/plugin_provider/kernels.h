#pragma once

// Operators with kernels of our own, on float32.

#include <vector>

#include "api.h"

namespace teaching {

struct Operator {
  const char* type;
  int first_version, last_version;  // of the definitions that the kernel follows
  float (*unary)(float);            // one of the two
  float (*binary)(float, float);
};

const std::vector<Operator>& Operators();

/// What CreateKernel needs to know beside the node: the runtime keeps a pointer for us, and hands it back.
struct KernelSource {
  Api api;
  const Operator& entry;
};

/// Called for each node that was claimed with AddSingleNode. `source` is a KernelSource.
OrtStatus* ORT_API_CALL CreateKernel(void* source, const OrtKernelInfo* info, OrtKernelImpl** kernel);

}  // namespace teaching
