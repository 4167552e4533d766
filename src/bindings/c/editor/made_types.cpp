// Types that clients make.

#include "bindings/c/editor/made_types.h"

#include <optional>
#include <utility>

#include "bindings/c/entry.h"
#include "bindings/c/views/value_info.h"

namespace tessera::c_abi {
namespace {

ElementType ElementOrNone(ONNXTensorElementDataType type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED ? ElementType::kUndefined : ElementOf(type);
}

/// A dimension that has a size needs no name.
SymbolicShape SymbolicShapeOf(const OrtTensorTypeAndShapeInfo& info) {
  SymbolicShape shape(info.dims.rank());
  for (size_t i = 0; i < shape.size(); ++i) {
    shape[i].value = info.dims[i];
    if (info.dims[i] < 0 && !info.symbols.empty()) shape[i].symbol = info.symbols[i];
  }
  return shape;
}

OrtTypeInfo* MadeTensorType(ONNXType kind, const OrtTensorTypeAndShapeInfo* tensor) {
  auto info = std::make_unique<OrtTypeInfo>();
  info->kind = kind;
  info->tensor = Given(tensor, "the tensor info");
  return info.release();
}

/// What reads types goes down by calls.
void CheckDepth(const TypeInfo& type) {
  constexpr int kDeepest = 64;
  int depth = 0;
  for (const TypeInfo* inner = &type; inner != nullptr; inner = inner->inner.get()) ++depth;
  Require(depth <= kDeepest, "the type holds {} types in each other, more than {}", depth, kDeepest);
}

OrtTypeInfo* MadeTypeAround(ONNXType kind, const OrtTypeInfo* inner) {
  auto info = std::make_unique<OrtTypeInfo>();
  info->kind = kind;
  info->inner = TypeOf(Given(inner, "the type"));
  CheckDepth(info->inner);
  return info.release();
}

}  // namespace

TypeInfo TypeOf(const OrtTypeInfo& info) {
  const auto around = [&](ValueKind kind, ElementType key = ElementType::kUndefined) {
    return TypeInfo{kind, key, std::nullopt, std::make_shared<const TypeInfo>(info.inner)};
  };
  switch (info.kind) {
    case ONNX_TYPE_SEQUENCE: return around(ValueKind::kSequence);
    case ONNX_TYPE_OPTIONAL: return around(ValueKind::kOptional);
    case ONNX_TYPE_MAP: return around(ValueKind::kMap, ElementOrNone(info.key));
    case ONNX_TYPE_TENSOR:
    case ONNX_TYPE_SPARSETENSOR: {
      TypeInfo type = TypeInfo::OfTensor(ElementOrNone(info.tensor.element));
      if (info.kind == ONNX_TYPE_SPARSETENSOR) type.kind = ValueKind::kSparseTensor;
      if (info.tensor.has_shape) type.shape = SymbolicShapeOf(info.tensor);
      return type;
    }
    default: Fail(ErrorCode::kInvalidArgument, "there is no type of values of kind {}", static_cast<int>(info.kind));
  }
}

OrtStatusPtr CreateTensorTypeInfo(const OrtTensorTypeAndShapeInfo* tensor_info, OrtTypeInfo** type_info) noexcept {
  return Making(type_info, [&] { return MadeTensorType(ONNX_TYPE_TENSOR, tensor_info); });
}

OrtStatusPtr CreateSparseTensorTypeInfo(const OrtTensorTypeAndShapeInfo* tensor_info, OrtTypeInfo** type_info) noexcept {
  return Making(type_info, [&] { return MadeTensorType(ONNX_TYPE_SPARSETENSOR, tensor_info); });
}

OrtStatusPtr CreateMapTypeInfo(ONNXTensorElementDataType map_key_type, const OrtTypeInfo* map_value_type,
                               OrtTypeInfo** type_info) noexcept {
  return Making(type_info, [&] {
    (void)ElementOrNone(map_key_type);
    OrtTypeInfo* made = MadeTypeAround(ONNX_TYPE_MAP, map_value_type);
    made->key = map_key_type;
    return made;
  });
}

OrtStatusPtr CreateSequenceTypeInfo(const OrtTypeInfo* sequence_type, OrtTypeInfo** type_info) noexcept {
  return Making(type_info, [&] { return MadeTypeAround(ONNX_TYPE_SEQUENCE, sequence_type); });
}

OrtStatusPtr CreateOptionalTypeInfo(const OrtTypeInfo* contained_type, OrtTypeInfo** type_info) noexcept {
  return Making(type_info, [&] { return MadeTypeAround(ONNX_TYPE_OPTIONAL, contained_type); });
}

OrtStatusPtr CreateValueInfo(const char* name, const OrtTypeInfo* type_info, OrtValueInfo** value_info) noexcept {
  return Making(value_info, [&] {
    std::string given = &Given(name, "the name");
    Require(!given.empty(), "the value has no name");
    return new OrtValueInfo(std::move(given), InfoOf(TypeOf(Given(type_info, "the type"))));
  });
}

}  // namespace tessera::c_abi
