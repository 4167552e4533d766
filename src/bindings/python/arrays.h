#pragma once

// Values as numpy arrays, and what Python programs feed as values.

#include <nanobind/nanobind.h>

#include "tessera/value.h"

namespace tessera::python {

namespace nb = nanobind;

/// The value that `object` stands for where a value of `declared` type is wanted (kNone: whatever it is). Arrays that lie
/// as tensors do are looked at in place: `keep` must live as long as the value. Throws Python's errors and Error.
Value Borrow(nb::handle object, const TypeInfo& declared, nb::object& keep);

/// The same with everything kept alive by the value itself.
Value Take(nb::handle object, const TypeInfo& declared);

/// A tensor over the bytes of an array, which stands for elements of `type` (bfloat16 as uint16), and keeps it alive.
Tensor TensorOver(nb::object array, ElementType type);

/// Arrays over the value's own memory; lists, dicts and None for sequences, maps and empty optionals.
nb::object ToPython(Value value);

/// numpy's dtype, or a class such as numpy.float32, as an element type; numbers are taken as TensorProto's.
ElementType ElementTypeFrom(nb::handle dtype);

}  // namespace tessera::python
