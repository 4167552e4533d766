#include "base/check.h"
#include "model/proto.h"

namespace tessera {
namespace {

constexpr int kDeepestType = 64;

ElementType ToElementType(int32_t type) {
  Require(type >= 0 && type < kElementTypeCount, "element type {} is not known to this build", type);
  return static_cast<ElementType>(type);
}

template <class TensorType>
TypeInfo FromTensorType(ValueKind kind, const TensorType& proto) {
  TypeInfo info;
  info.kind = kind;
  info.element = ToElementType(proto.elem_type());
  if (proto.has_shape()) {
    info.shape.emplace();
    for (const auto& dim : proto.shape().dim()) {
      Dimension& converted = info.shape->emplace_back();
      if (dim.has_dim_value() && dim.dim_value() >= 0) converted.value = dim.dim_value();
      if (dim.has_dim_param()) converted.symbol = dim.dim_param();
    }
  }
  return info;
}

TypeInfo Convert(const onnx::TypeProto& proto, int depth) {
  Require(depth < kDeepestType, "a type is nested more than {} deep", kDeepestType);
  TypeInfo info;
  const auto inner = [&](const onnx::TypeProto& element) {
    return std::make_shared<const TypeInfo>(Convert(element, depth + 1));
  };
  switch (proto.value_case()) {
    case onnx::TypeProto::kTensorType: return FromTensorType(ValueKind::kTensor, proto.tensor_type());
    case onnx::TypeProto::kSparseTensorType: return FromTensorType(ValueKind::kSparseTensor, proto.sparse_tensor_type());
    case onnx::TypeProto::kSequenceType:
      info.kind = ValueKind::kSequence;
      info.inner = inner(proto.sequence_type().elem_type());
      break;
    case onnx::TypeProto::kOptionalType:
      info.kind = ValueKind::kOptional;
      info.inner = inner(proto.optional_type().elem_type());
      break;
    case onnx::TypeProto::kMapType:
      info.kind = ValueKind::kMap;
      info.element = ToElementType(proto.map_type().key_type());
      info.inner = inner(proto.map_type().value_type());
      break;
    default: break;
  }
  return info;
}

template <class TensorType>
void FillTensorType(const TypeInfo& type, TensorType& proto) {
  proto.set_elem_type(static_cast<int32_t>(type.element));
  if (!type.shape) return;
  auto* shape = proto.mutable_shape();
  for (const Dimension& dim : *type.shape) {
    auto* added = shape->add_dim();
    if (dim.known()) {
      added->set_dim_value(dim.value);
    } else if (!dim.symbol.empty()) {
      added->set_dim_param(dim.symbol);
    }
  }
}

}  // namespace

TypeInfo FromProto(const onnx::TypeProto& proto) { return Convert(proto, 0); }

onnx::TypeProto ToProto(const TypeInfo& type) {
  onnx::TypeProto proto;
  switch (type.kind) {
    case ValueKind::kTensor: FillTensorType(type, *proto.mutable_tensor_type()); break;
    case ValueKind::kSparseTensor: FillTensorType(type, *proto.mutable_sparse_tensor_type()); break;
    case ValueKind::kSequence: *proto.mutable_sequence_type()->mutable_elem_type() = ToProto(*type.inner); break;
    case ValueKind::kOptional: *proto.mutable_optional_type()->mutable_elem_type() = ToProto(*type.inner); break;
    case ValueKind::kMap:
      proto.mutable_map_type()->set_key_type(static_cast<int32_t>(type.element));
      *proto.mutable_map_type()->mutable_value_type() = ToProto(*type.inner);
      break;
    case ValueKind::kNone: break;
  }
  return proto;
}

}  // namespace tessera
