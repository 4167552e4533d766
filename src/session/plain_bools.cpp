#include "session/plain_bools.h"

#include "base/bools.h"

namespace tessera {
namespace {

std::optional<Tensor> WithPlainBools(const Tensor& tensor, Allocator& allocator) {
  if (!tensor.is(ElementType::kBool) || !tensor.memory().host_accessible) return std::nullopt;
  const std::span bytes(static_cast<const std::byte*>(tensor.raw()), tensor.byte_size());
  if (ArePlainBools(bytes)) return std::nullopt;
  Tensor plain(ElementType::kBool, tensor.shape(), allocator);
  CopyAsPlainBools(bytes, static_cast<std::byte*>(plain.mutable_raw()));
  return plain;
}

/// The same for the elements of a sequence or a map.
std::optional<std::vector<Value>> WithPlainBools(const std::vector<Value>& elements, Allocator& allocator) {
  std::optional<std::vector<Value>> plain;
  for (size_t i = 0; i < elements.size(); ++i) {
    auto element = WithPlainBools(elements[i], allocator);
    if (!element) continue;
    if (!plain) plain = elements;
    (*plain)[i] = *std::move(element);
  }
  return plain;
}

}  // namespace

std::optional<Value> WithPlainBools(const Value& value, Allocator& allocator) {
  switch (value.kind()) {
    case ValueKind::kTensor: return WithPlainBools(value.tensor(), allocator);
    case ValueKind::kSparseTensor: {
      auto values = WithPlainBools(value.sparse_tensor().values, allocator);
      if (!values) return std::nullopt;
      return SparseTensor{*std::move(values), value.sparse_tensor().indices, value.sparse_tensor().dense_shape};
    }
    case ValueKind::kSequence: {
      auto elements = WithPlainBools(value.sequence().elements, allocator);
      if (!elements) return std::nullopt;
      return Sequence{value.sequence().element_type, *std::move(elements)};
    }
    case ValueKind::kMap: {
      Map map = value.map();
      auto values = WithPlainBools(map.values, allocator);
      auto scalars = WithPlainBools(map.scalars, allocator);
      if (!values && !scalars) return std::nullopt;
      if (values) map.values = *std::move(values);
      if (scalars) map.scalars = *std::move(scalars);
      return map;
    }
    default: return std::nullopt;
  }
}

}  // namespace tessera
