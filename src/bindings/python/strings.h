#pragma once

// Text between Python, the C ABI and tensors of strings.

#include <nanobind/nanobind.h>

#include <string>

#include "tessera/error.h"

namespace tessera::python {

namespace nb = nanobind;

/// Texts for the C ABI end at the first character 0; throws Error for one that has another.
inline const char* CharactersOf(const std::string& text) {
  if (text.find('\0') != std::string::npos)
    throw Error(ErrorCode::kInvalidArgument, "'" + text + "' has a character 0, which no name, option or path has");
  return text.c_str();
}

/// The bytes of a bytes object.
inline std::string BytesOf(PyObject* object) {
  return {PyBytes_AS_STRING(object), static_cast<size_t>(PyBytes_GET_SIZE(object))};
}

/// Of a str its UTF-8, of any other object that of what str() says.
inline std::string TextOf(PyObject* object) {
  const nb::object text =
      object != nullptr && PyUnicode_Check(object) ? nb::borrow(object) : nb::steal(PyObject_Str(object));
  if (!text.is_valid()) nb::raise_python_error();
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes == nullptr) nb::raise_python_error();
  return {bytes, static_cast<size_t>(size)};
}

/// Bytes that are no UTF-8 become surrogates, as file names do: nothing is lost, and they can be fed again by encoding so.
inline nb::object PyText(const std::string& text) {
  PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (made == nullptr) nb::raise_python_error();
  return nb::steal(made);
}

}  // namespace tessera::python
