#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "tessera/export.h"

namespace tessera {

/// Values equal OrtErrorCode, so that the C ABI passes them through.
enum class ErrorCode : int {
  kOk = 0,
  kFail = 1,
  kInvalidArgument = 2,
  kNoSuchFile = 3,
  kNoModel = 4,
  kEngineError = 5,
  kRuntimeException = 6,
  kInvalidProtobuf = 7,
  kModelLoaded = 8,
  kNotImplemented = 9,
  kInvalidGraph = 10,
  kEpFail = 11,
  kModelLoadCanceled = 12,
  kModelRequiresCompilation = 13,  // by a provider, which the session must not ask for it
};

/// The one error of the runtime. `what()` names the node (once known), what was seen and what was expected.
class TESSERA_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message);

  ErrorCode code() const noexcept { return code_; }

  /// The same error with "<where>: " put before its message; the executor adds the node, the loader the file.
  Error At(std::string_view where) const;

 private:
  ErrorCode code_;
};

}  // namespace tessera
