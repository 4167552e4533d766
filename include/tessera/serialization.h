#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tessera/value.h"

namespace tessera {

/// Reads a serialized onnx::TensorProto, SequenceProto, OptionalProto, MapProto or SparseTensorProto; `type` says which (a
/// graph input's or output's declared type). The format of the `.pb` files in ONNX test-data directories. Throws
/// Error(kInvalidProtobuf).
TESSERA_API Value ParseValue(std::span<const std::byte> bytes, const TypeInfo& type);

/// The name inside such a message; empty where it has none or is no such message. Reads no more than it must.
TESSERA_API std::string StoredName(std::span<const std::byte> bytes, const TypeInfo& type);

/// The inverse: the protobuf message that fits the value's kind, with `name` as its name; an OptionalProto for kNone values
/// and where `type` is an optional's.
TESSERA_API std::string SerializeValue(const Value& value, std::string_view name, const TypeInfo& type = {});

}  // namespace tessera
