#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "bindings/c/handle.h"
#include "onnxruntime/onnxruntime_c_api.h"
#include "tessera/value.h"

struct OrtExternalInitializerInfo {
  tessera::c_abi::Mark<OrtExternalInitializerInfo> mark;
  std::string file;
  int64_t offset;
  size_t bytes;
};

namespace tessera::c_abi {

/// Where the initializer of a model lies beside the model's own file; null where it lies in it, or was copied into memory
/// when it was read.
std::unique_ptr<OrtExternalInitializerInfo> FindExternal(const Tensor& tensor, const std::filesystem::path& model);

}  // namespace tessera::c_abi
