#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tessera/element_type.h"
#include "tessera/shape.h"

namespace tessera {

enum class ValueKind : int8_t { kNone = 0, kTensor = 1, kSequence = 2, kMap = 3, kSparseTensor = 4, kOptional = 5 };

/// The static type of a value in a graph (onnx::TypeProto).
struct TypeInfo {
  ValueKind kind = ValueKind::kNone;
  /// Element type of a tensor or sparse tensor; key type of a map.
  ElementType element = ElementType::kUndefined;
  /// Shape of a tensor or sparse tensor; empty when not even the rank is known.
  std::optional<SymbolicShape> shape;
  /// Element of a sequence or optional, value of a map.
  std::shared_ptr<const TypeInfo> inner;

  static TypeInfo OfTensor(ElementType element, std::optional<SymbolicShape> shape = std::nullopt) {
    return TypeInfo{ValueKind::kTensor, element, std::move(shape), nullptr};
  }
  bool is_tensor() const noexcept { return kind == ValueKind::kTensor; }
  /// ONNX's notation: "tensor(float)", "seq(map(int64,tensor(float)))".
  TESSERA_API std::string ToString() const;
};

}  // namespace tessera
