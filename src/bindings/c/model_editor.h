#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "bindings/c/editor/made_model.h"

namespace tessera::c_abi {

/// A model that a program has built, as the loader takes it.
struct BuiltModel {
  std::shared_ptr<const std::string> bytes;  // a serialized ModelProto
  /// Weights that stay in the program's memory, by the names that the bytes have for their files.
  std::map<std::string, std::span<const std::byte>, std::less<>> files;
  std::shared_ptr<const void> owner;  // keeps bytes and weights while a session lives
};

/// Throws Error for what is no model: without graph, without an import of ONNX's operators, with a node that has no
/// operator or reads what nobody makes.
BuiltModel Build(const OrtModel& model);

}  // namespace tessera::c_abi
