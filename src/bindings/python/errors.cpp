// One exception for each error code, under the names that programs catch.

#include <array>

#include "bindings/python/runtime.h"
#include "tessera/error.h"

namespace tessera::python {
namespace {

struct Kind {
  const char* name;   // of the class
  const char* label;  // in its text
};
constexpr std::array<Kind, 16> kKinds = {{{nullptr, "OK"},
                                          {"Fail", "FAIL"},
                                          {"InvalidArgument", "INVALID_ARGUMENT"},
                                          {"NoSuchFile", "NO_SUCHFILE"},
                                          {"NoModel", "NO_MODEL"},
                                          {"EngineError", "ENGINE_ERROR"},
                                          {"RuntimeException", "RUNTIME_EXCEPTION"},
                                          {"InvalidProtobuf", "INVALID_PROTOBUF"},
                                          {"ModelLoaded", "MODEL_LOADED"},
                                          {"NotImplemented", "NOT_IMPLEMENTED"},
                                          {"InvalidGraph", "INVALID_GRAPH"},
                                          {"EPFail", "EP_FAIL"},
                                          {"ModelLoadCanceled", "MODEL_LOAD_CANCELED"},
                                          {"ModelRequiresCompilation", "MODEL_REQUIRES_COMPILATION"},
                                          {"NotFound", "NOT_FOUND"},
                                          {"DeviceReset", "DEVICE_RESET"}}};

/// Classes by code; they live as long as the process.
std::array<PyObject*, kKinds.size()> classes;

size_t IndexOf(OrtErrorCode code) noexcept {
  const auto index = static_cast<size_t>(code);
  return index > 0 && index < kKinds.size() ? index : static_cast<size_t>(ORT_FAIL);
}

void Translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const StatusError& error) {
    PyErr_SetString(classes[IndexOf(error.code())], error.what());
  } catch (const Error& error) {
    const auto code = static_cast<OrtErrorCode>(error.code());
    PyErr_SetString(classes[IndexOf(code)], ErrorText(code, error.what()).c_str());
  }
}

}  // namespace

StatusError::StatusError(OrtErrorCode code, std::string text) : code_(code), text_(std::move(text)) {}

std::string ErrorText(OrtErrorCode code, std::string_view text) {
  std::string full = "[ONNXRuntimeError] : " + std::to_string(static_cast<int>(code)) + " : ";
  return full.append(kKinds[IndexOf(code)].label).append(" : ").append(text);
}

nb::object ErrorClass(OrtErrorCode code) { return nb::borrow(classes[IndexOf(code)]); }

void Check(OrtStatus* status) {
  if (status == nullptr) [[likely]]
    return;
  const OrtErrorCode code = Api().GetErrorCode(status);
  std::string text;
  try {
    text = ErrorText(code, Api().GetErrorMessage(status));
  } catch (...) {
    Api().ReleaseStatus(status);
    throw;
  }
  Api().ReleaseStatus(status);
  throw StatusError(code, std::move(text));
}

void CheckCall(OrtStatus* status) {
  try {
    Check(status);
  } catch (const StatusError& error) {
    throw std::runtime_error(error.what());
  }
}

void BindErrors(nb::module_& module) {
  for (size_t code = 1; code < kKinds.size(); ++code) {
    const std::string full = std::string("tessera.") + kKinds[code].name;
    PyObject* made = PyErr_NewException(full.c_str(), PyExc_Exception, nullptr);
    if (made == nullptr) nb::raise_python_error();
    classes[code] = made;
    module.attr(kKinds[code].name) = nb::borrow(made);
  }
  nb::register_exception_translator(Translate, nullptr);
}

}  // namespace tessera::python
