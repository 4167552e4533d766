#pragma once

// Element types as numpy and ml_dtypes have them.

#include <nanobind/nanobind.h>

#include "tessera/value.h"

namespace tessera::python {

/// By numpy's number of a type of its own; kUndefined for strings, objects and all others.
ElementType ElementTypeOfNumber(int number) noexcept;
/// The inverse; -1 where numpy has no such type.
int NumberOfElementType(ElementType type) noexcept;

/// By the name of the type's class, such as "ml_dtypes.bfloat16" or "bfloat16".
ElementType ElementTypeOfExtension(std::string_view name) noexcept;
/// ml_dtypes' dtype where that package is installed, else the unsigned integer of as many bits.
nanobind::object ExtensionDtype(ElementType type);

/// A tensor of 4- or 2-bit elements from one byte for each, as ml_dtypes has them, and the bytes of such a tensor.
Tensor PackedFrom(ElementType type, const Shape& shape, const uint8_t* bytes);
Tensor Unpacked(const Tensor& packed);

}  // namespace tessera::python
