#pragma once

// Operators of clients', by domain.

#include <string>
#include <vector>

#include "bindings/c/handle.h"
#include "onnxruntime/onnxruntime_c_api.h"

/// The client keeps it, and the operators, as long as sessions use them.
struct OrtCustomOpDomain {
  tessera::c_abi::Mark<OrtCustomOpDomain> mark;
  std::string name;
  std::vector<const OrtCustomOp*> operators;
};
