#pragma once

#include "onnxruntime/onnxruntime_ep_c_api.h"

/// A type that a kernel takes: tensors of an element type. Each lives as long as the process.
struct OrtDataType {
  ONNXTensorElementDataType element;
};
