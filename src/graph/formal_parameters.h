#pragma once

// The formal parameters of a schema, to which a node's inputs or outputs belong by their position.

#include <cstddef>
#include <vector>

#include "onnx/defs/schema.h"

namespace tessera {

using FormalParameter = onnx::OpSchema::FormalParameter;

/// Whether the last one stands for any number of values.
inline bool IsVariadic(const std::vector<FormalParameter>& formals) {
  return !formals.empty() && formals.back().GetOption() == onnx::OpSchema::Variadic;
}

/// The one that the i-th value belongs to; null where the operator has no such value.
inline const FormalParameter* FormalOf(const std::vector<FormalParameter>& formals, size_t i) {
  if (i < formals.size()) return &formals[i];
  return IsVariadic(formals) ? &formals.back() : nullptr;
}

}  // namespace tessera
