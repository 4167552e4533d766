#pragma once

// The library behind the module: the table of the C ABI, the environment of the process, and errors as Python sees them.

#include <nanobind/nanobind.h>

#include <exception>
#include <string>

#include "onnxruntime/onnxruntime_c_api.h"

namespace tessera::python {

namespace nb = nanobind;

const OrtApi& Api();

/// The environment of all sessions, made with the settings of that moment when it is first asked for.
OrtEnv& Env();

/// What the C ABI answered, to become the Python exception of its code.
class StatusError : public std::exception {
 public:
  StatusError(OrtErrorCode code, std::string text);
  OrtErrorCode code() const noexcept { return code_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  OrtErrorCode code_;
  std::string text_;
};

/// Throws StatusError for all but null, and releases the status.
void Check(OrtStatus* status);

/// The same as a RuntimeError, which is what programs get from all but loads and runs.
void CheckCall(OrtStatus* status);

/// "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : text", as programs look for it.
std::string ErrorText(OrtErrorCode code, std::string_view text);

/// A new reference to the exception's class.
nb::object ErrorClass(OrtErrorCode code);

// Each adds its classes and functions to the module.
void BindErrors(nb::module_& module);
void BindEnvironment(nb::module_& module);
void BindDevices(nb::module_& module);
void BindValues(nb::module_& module);
void BindSparse(nb::module_& module);
void BindOptions(nb::module_& module);
void BindSessions(nb::module_& module);
void BindIoBinding(nb::module_& module);
void BindContexts(nb::module_& module);
void BindCompiler(nb::module_& module);
void BindArenas(nb::module_& module);
void BindCompatibility(nb::module_& module);

}  // namespace tessera::python
