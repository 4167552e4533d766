#pragma once

// Values as Python objects.

#include <nanobind/nanobind.h>

#include <utility>
#include <vector>

#include "bindings/c/value.h"

namespace tessera::python {

namespace nb = nanobind;

/// A value that Python programs hold by name of OrtValue: a handle, whose copies share what is inside.
struct HeldValue {
  HeldValue() = default;
  explicit HeldValue(Value given) : value(std::move(given)) {}
  OrtValue value;
};

/// OrtValueVector: a class of its own, as programs share and fill it.
struct HeldValues {
  std::vector<HeldValue> all;
};

/// The value inside an OrtValue or SparseTensor; null for all other objects.
const Value* ValueIn(nb::handle object);

/// True for a tensor over an array of Python's that may only be read, as over bytes or a file that is mapped so.
bool IsReadOnly(const Tensor& tensor) noexcept;
/// For who is about to write to it: throws Error for such a tensor.
void RequireWritable(const Value& value);

/// Any tensor with __dlpack__, or a capsule of that protocol, where it lies. `is_bool`: its bytes are truth values.
Value FromDlpack(nb::handle object, bool is_bool);
/// A capsule that shares the tensor; of one that is read-only, which the protocol cannot say, it has a copy.
nb::object ToDlpack(const Tensor& tensor);
/// DLPack's type and number of the device whose memory it is.
std::pair<int, int> DlpackDevice(const Tensor& tensor);

/// A Python SparseTensor of a sparse value.
nb::object SparseObject(Value value);

}  // namespace tessera::python
