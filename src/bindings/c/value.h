#pragma once

#include <memory>
#include <utility>

#include "bindings/c/recycled.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/value.h"

/// A value and nothing more, so that values of a session are handed out by their address.
struct OrtValue : tessera::Value, tessera::c_abi::Recycled<OrtValue> {
  OrtValue() = default;
  explicit OrtValue(tessera::Tensor&& tensor) : tessera::Value(std::move(tensor)) {}
  explicit OrtValue(tessera::Value value) : tessera::Value(std::move(value)) {}
};

namespace tessera::c_abi {

/// Throws Error where it is another kind of value.
const Tensor& TensorIn(const OrtValue* value);
Tensor& TensorIn(OrtValue* value);
/// A tensor of strings.
std::span<const std::string> StringsIn(const OrtValue* value);
std::span<std::string> StringsIn(OrtValue* value);

}  // namespace tessera::c_abi
