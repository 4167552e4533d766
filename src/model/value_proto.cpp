#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "model/proto.h"
#include "onnx/onnx-data.pb.h"
#include "tessera/serialization.h"

namespace tessera {
namespace {

Value FromSequence(const onnx::SequenceProto& proto, const TypeInfo& type);
Value FromOptional(const onnx::OptionalProto& proto, const TypeInfo& type);
Value FromMap(const onnx::MapProto& proto, const TypeInfo& type);

const TypeInfo& InnerOf(const TypeInfo& type) {
  static const TypeInfo none;
  return type.inner ? *type.inner : none;
}

Value FromSequence(const onnx::SequenceProto& proto, const TypeInfo& type) {
  Sequence sequence;
  sequence.element_type = InnerOf(type);
  const auto& inner = InnerOf(type);
  switch (proto.elem_type()) {
    case onnx::SequenceProto::TENSOR:
      for (const auto& tensor : proto.tensor_values()) sequence.elements.emplace_back(FromProto(tensor));
      break;
    case onnx::SequenceProto::SPARSE_TENSOR:
      for (const auto& tensor : proto.sparse_tensor_values()) sequence.elements.emplace_back(FromProto(tensor));
      break;
    case onnx::SequenceProto::SEQUENCE:
      for (const auto& element : proto.sequence_values()) sequence.elements.push_back(FromSequence(element, inner));
      break;
    case onnx::SequenceProto::MAP:
      for (const auto& element : proto.map_values()) sequence.elements.push_back(FromMap(element, inner));
      break;
    case onnx::SequenceProto::OPTIONAL:
      for (const auto& element : proto.optional_values()) sequence.elements.push_back(FromOptional(element, inner));
      break;
    default: break;  // an empty sequence need not say what it would hold
  }
  if (sequence.element_type.kind == ValueKind::kNone && !sequence.elements.empty()) {
    sequence.element_type = sequence.elements.front().type();
    sequence.element_type.shape.reset();
  }
  return sequence;
}

/// None where the value is missing, whatever kind is said to be in it: onnx's helper writes the kind of empty ones, too.
Value FromOptional(const onnx::OptionalProto& proto, const TypeInfo& type) {
  switch (proto.elem_type()) {
    case onnx::OptionalProto::TENSOR: return proto.has_tensor_value() ? Value(FromProto(proto.tensor_value())) : Value();
    case onnx::OptionalProto::SPARSE_TENSOR:
      return proto.has_sparse_tensor_value() ? Value(FromProto(proto.sparse_tensor_value())) : Value();
    case onnx::OptionalProto::SEQUENCE:
      return proto.has_sequence_value() ? FromSequence(proto.sequence_value(), InnerOf(type)) : Value();
    case onnx::OptionalProto::MAP: return proto.has_map_value() ? FromMap(proto.map_value(), InnerOf(type)) : Value();
    case onnx::OptionalProto::OPTIONAL:
      return proto.has_optional_value() ? FromOptional(proto.optional_value(), InnerOf(type)) : Value();
    default: return {};
  }
}

template <class T, class Field>
Tensor Keys(const Field& field) {
  std::vector<T> keys(field.begin(), field.end());
  return Tensor::Of<T>(Shape{static_cast<int64_t>(keys.size())}, std::span<const T>(keys));
}

Value FromMap(const onnx::MapProto& proto, const TypeInfo& type) {
  Map map;
  switch (static_cast<ElementType>(proto.key_type())) {
    case ElementType::kString: map.keys = Keys<std::string>(proto.string_keys()); break;
    case ElementType::kInt64: map.keys = Keys<int64_t>(proto.keys()); break;
    case ElementType::kInt32: map.keys = Keys<int32_t>(proto.keys()); break;
    default:
      Fail(ErrorCode::kNotImplemented, "maps with keys of type {} are not supported",
           ElementTypeName(static_cast<ElementType>(proto.key_type())));
  }
  map.values = FromSequence(proto.values(), {ValueKind::kSequence, {}, {}, type.inner}).sequence().elements;
  map.value_type = InnerOf(type);
  Require(static_cast<int64_t>(map.values.size()) == map.keys.num_elements(), "a map has {} keys and {} values",
          map.keys.num_elements(), map.values.size());
  return map;
}

onnx::SequenceProto ToProto(const Sequence& sequence);

onnx::MapProto ToProto(const Map& map) {
  onnx::MapProto proto;
  proto.set_key_type(static_cast<int32_t>(map.keys.type()));
  for (int64_t i = 0; i < map.keys.num_elements(); ++i) {
    if (map.keys.is(ElementType::kString)) {
      proto.add_string_keys(map.keys.data<std::string>()[i]);
    } else {
      proto.add_keys(map.keys.is(ElementType::kInt32) ? map.keys.data<int32_t>()[i] : map.keys.data<int64_t>()[i]);
    }
  }
  Sequence values{map.value_type, {}};
  for (size_t i = 0; i < map.size(); ++i) values.elements.push_back(map.at(i));
  *proto.mutable_values() = ToProto(values);
  return proto;
}

/// What a sequence or an optional says of its elements: both messages number the kinds alike.
int32_t ElementKind(ValueKind kind) {
  switch (kind) {
    case ValueKind::kSparseTensor: return onnx::SequenceProto::SPARSE_TENSOR;
    case ValueKind::kSequence: return onnx::SequenceProto::SEQUENCE;
    case ValueKind::kMap: return onnx::SequenceProto::MAP;
    case ValueKind::kOptional: return onnx::SequenceProto::OPTIONAL;
    default: return onnx::SequenceProto::TENSOR;
  }
}

onnx::OptionalProto ToOptional(const Value& value, const TypeInfo& type) {
  onnx::OptionalProto proto;
  const ValueKind declared = InnerOf(type).kind;
  if (!value.is_none() || declared != ValueKind::kNone)
    proto.set_elem_type(ElementKind(value.is_none() ? declared : value.kind()));
  switch (value.kind()) {
    case ValueKind::kTensor: *proto.mutable_tensor_value() = ToProto(value.tensor(), ""); break;
    case ValueKind::kSparseTensor: *proto.mutable_sparse_tensor_value() = ToProto(value.sparse_tensor()); break;
    case ValueKind::kSequence: *proto.mutable_sequence_value() = ToProto(value.sequence()); break;
    case ValueKind::kMap: *proto.mutable_map_value() = ToProto(value.map()); break;
    default: break;
  }
  return proto;
}

onnx::SequenceProto ToProto(const Sequence& sequence) {
  onnx::SequenceProto proto;
  proto.set_elem_type(ElementKind(sequence.element_type.kind));
  for (const Value& element : sequence.elements) {
    if (sequence.element_type.kind == ValueKind::kOptional) {
      *proto.add_optional_values() = ToOptional(element, sequence.element_type);
      continue;
    }
    switch (element.kind()) {
      case ValueKind::kTensor: *proto.add_tensor_values() = ToProto(element.tensor(), ""); break;
      case ValueKind::kSparseTensor: *proto.add_sparse_tensor_values() = ToProto(element.sparse_tensor()); break;
      case ValueKind::kSequence: *proto.add_sequence_values() = ToProto(element.sequence()); break;
      case ValueKind::kMap: *proto.add_map_values() = ToProto(element.map()); break;
      default: proto.add_optional_values();
    }
  }
  return proto;
}

template <class Message>
std::string Named(Message message, std::string_view name) {
  message.set_name(std::string(name));
  return message.SerializeAsString();
}

}  // namespace

onnx::SparseTensorProto ToProto(const SparseTensor& sparse) {
  onnx::SparseTensorProto proto;
  *proto.mutable_values() = ToProto(sparse.values, "");
  *proto.mutable_indices() = ToProto(sparse.indices, "");
  for (int64_t dim : sparse.dense_shape) proto.add_dims(dim);
  return proto;
}

Value ParseValue(std::span<const std::byte> bytes, const TypeInfo& type) {
  switch (type.kind) {
    case ValueKind::kSequence: return FromSequence(ParseMessage<onnx::SequenceProto>(bytes, "the sequence"), type);
    case ValueKind::kOptional: return FromOptional(ParseMessage<onnx::OptionalProto>(bytes, "the optional"), type);
    case ValueKind::kMap: return FromMap(ParseMessage<onnx::MapProto>(bytes, "the map"), type);
    case ValueKind::kSparseTensor: return FromProto(ParseMessage<onnx::SparseTensorProto>(bytes, "the sparse tensor"));
    case ValueKind::kTensor:
    case ValueKind::kNone: break;
  }
  return FromProto(ParseMessage<onnx::TensorProto>(bytes, "the tensor"));
}

std::string StoredName(std::span<const std::byte> bytes, const TypeInfo& type) {
  namespace io = google::protobuf::io;
  using Wire = google::protobuf::internal::WireFormatLite;
  if (type.kind == ValueKind::kSparseTensor) {
    onnx::SparseTensorProto sparse;
    const bool parsed = sparse.ParseFromArray(
        bytes.data(), static_cast<int>(std::min<size_t>(bytes.size(), std::numeric_limits<int>::max())));
    return parsed ? sparse.values().name() : std::string();
  }
  const bool is_tensor = type.kind == ValueKind::kTensor || type.kind == ValueKind::kNone;
  constexpr int kOfTensor = onnx::TensorProto::kNameFieldNumber, kOfOthers = onnx::SequenceProto::kNameFieldNumber;
  static_assert(kOfOthers == int{onnx::OptionalProto::kNameFieldNumber} &&
                kOfOthers == int{onnx::MapProto::kNameFieldNumber});
  const int field = is_tensor ? kOfTensor : kOfOthers;
  io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                              static_cast<int>(std::min<size_t>(bytes.size(), std::numeric_limits<int>::max())));
  std::string name;
  while (const uint32_t tag = stream.ReadTag()) {
    const bool is_name =
        Wire::GetTagFieldNumber(tag) == field && Wire::GetTagWireType(tag) == Wire::WIRETYPE_LENGTH_DELIMITED;
    uint32_t size = 0;
    if (is_name ? !stream.ReadVarint32(&size) || !stream.ReadString(&name, static_cast<int>(size))
                : !Wire::SkipField(&stream, tag))
      return {};
  }
  return name;
}

std::string SerializeValue(const Value& value, std::string_view name, const TypeInfo& type) {
  if (type.kind == ValueKind::kOptional || value.is_none()) return Named(ToOptional(value, type), name);
  switch (value.kind()) {
    case ValueKind::kTensor: return ToProto(value.tensor(), name).SerializeAsString();
    case ValueKind::kSequence: return Named(ToProto(value.sequence()), name);
    case ValueKind::kMap: return Named(ToProto(value.map()), name);
    case ValueKind::kSparseTensor: return ToProto(value.sparse_tensor()).SerializeAsString();
    default: return {};
  }
}

}  // namespace tessera
