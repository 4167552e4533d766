// Statuses: what a call that failed gives.

#include "bindings/c/status.h"

#include <cstdlib>
#include <cstring>
#include <exception>

#include "bindings/c/entry.h"

namespace tessera::c_abi {
namespace {

/// For where there is no memory for another.
OrtStatus& OutOfMemory() noexcept {
  static OrtStatus status{ORT_RUNTIME_EXCEPTION, "out of memory"};
  return status;
}

}  // namespace

OrtStatusPtr NewStatus(OrtErrorCode code, std::string_view text) noexcept {
  void* memory = std::malloc(sizeof(OrtStatus) + text.size() + 1);
  if (memory == nullptr) return &OutOfMemory();
  char* copy = static_cast<char*>(memory) + sizeof(OrtStatus);
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return new (memory) OrtStatus{code, copy};
}

OrtStatusPtr StatusOfException() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return NewStatus(static_cast<OrtErrorCode>(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return &OutOfMemory();
  } catch (const std::exception& error) {
    return NewStatus(ORT_RUNTIME_EXCEPTION, error.what());
  } catch (...) {
    return NewStatus(ORT_FAIL, "something that is no std::exception was thrown");
  }
}

void FailNull(std::string_view what) { Fail(ErrorCode::kInvalidArgument, "{} is null; give a pointer", what); }

void FailGone(std::string_view what) {
  Fail(ErrorCode::kInvalidArgument, "{} is none: the handle was released before, or is one of another type", what);
}

void ThrowIfFailed(OrtStatusPtr status) {
  if (status == nullptr) return;
  const Error error(static_cast<ErrorCode>(status->code), status->text);
  ReleaseStatus(status);
  throw error;
}

OrtStatusPtr CreateStatus(OrtErrorCode code, const char* msg) noexcept {
  return NewStatus(code, msg == nullptr ? "" : msg);
}

OrtErrorCode GetErrorCode(const OrtStatus* status) noexcept { return status == nullptr ? ORT_OK : status->code; }

const char* GetErrorMessage(const OrtStatus* status) noexcept { return status == nullptr ? "" : status->text; }

void ReleaseStatus(OrtStatus* input) {
  if (input != &OutOfMemory()) std::free(input);
}

}  // namespace tessera::c_abi
