#pragma once

#include <deque>
#include <string>
#include <vector>

#include "onnx/defs/schema.h"
#include "onnxruntime/onnxruntime_ep_c_api.h"

/// A type parameter of an operator.
struct OrtOpSchemaTypeConstraint {
  std::string name;                     // "T"
  std::vector<const char*> types;       // "tensor(float)"; the schema's own texts
  std::vector<size_t> inputs, outputs;  // that have this type
};

/// An operator as ONNX defines it. Schemas themselves live as long as the process.
struct OrtOpSchema {
  explicit OrtOpSchema(const onnx::OpSchema& its_schema);

  const onnx::OpSchema& schema;
  std::deque<OrtOpSchemaTypeConstraint> constraints;
};
