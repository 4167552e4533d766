#include "base/held_bytes.h"

namespace tessera {
namespace {

size_t OfTensor(const Tensor& tensor) noexcept {
  size_t bytes = tensor.byte_size() + HeldBytes(tensor.shape());
  if (!tensor.is(ElementType::kString)) return bytes;
  for (const std::string& text : tensor.values<std::string>()) bytes += HeldBytes(text);
  return bytes;
}

}  // namespace

size_t HeldBytes(const TypeInfo& type) noexcept {
  size_t bytes = type.inner == nullptr ? 0 : sizeof(TypeInfo) + HeldBytes(*type.inner);
  if (type.shape) {
    bytes += type.shape->size() * sizeof(Dimension);
    for (const Dimension& dim : *type.shape) bytes += HeldBytes(dim.symbol);
  }
  return bytes;
}

size_t HeldBytes(const Value& value) noexcept {
  if (const Tensor* tensor = value.tensor_if(); tensor != nullptr) return OfTensor(*tensor);
  size_t bytes = 0;
  switch (value.kind()) {
    case ValueKind::kSequence:
      for (const Value& element : value.sequence().elements) bytes += sizeof(Value) + HeldBytes(element);
      break;
    case ValueKind::kMap:
      bytes = OfTensor(value.map().keys) + OfTensor(value.map().scalars);
      for (const Value& element : value.map().values) bytes += sizeof(Value) + HeldBytes(element);
      break;
    case ValueKind::kSparseTensor:
      bytes = OfTensor(value.sparse_tensor().values) + OfTensor(value.sparse_tensor().indices);
      break;
    default: break;
  }
  return bytes;
}

}  // namespace tessera
