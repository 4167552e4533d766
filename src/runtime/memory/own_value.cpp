#include "runtime/memory/own_value.h"

#include <algorithm>

#include "base/check.h"

namespace tessera {
namespace {

bool OwnsAll(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kTensor: return value.tensor_if()->owner() != nullptr;
    case ValueKind::kSequence:
      return std::all_of(value.sequence().elements.begin() + static_cast<std::ptrdiff_t>(value.sequence().num_owned),
                         value.sequence().elements.end(), OwnsAll);
    case ValueKind::kMap:
      return value.map().keys.owner() != nullptr &&
             (!value.map().scalars.defined() || value.map().scalars.owner() != nullptr) &&
             std::all_of(value.map().values.begin(), value.map().values.end(), OwnsAll);
    case ValueKind::kSparseTensor:
      return value.sparse_tensor().values.owner() != nullptr && value.sparse_tensor().indices.owner() != nullptr;
    case ValueKind::kNone:
    case ValueKind::kOptional: return true;
  }
  return true;
}

void MakeOwned(Tensor& tensor, const SessionResources& resources) {
  if (tensor.owner() != nullptr) return;
  const int16_t memory = resources.FindMemory(tensor.memory());
  tensor = CloneInMemory(tensor, memory < 0 ? HostAllocator() : *resources.memories[static_cast<size_t>(memory)].allocator,
                         resources);
}

}  // namespace

Tensor CloneInMemory(const Tensor& tensor, Allocator& allocator, const SessionResources& resources) {
  Tensor copy(tensor.type(), tensor.shape(), allocator);
  resources.Copy(tensor, copy);
  return copy;
}

void MakeOwned(Value& value, const SessionResources& resources) {
  if (OwnsAll(value)) {
    if (Sequence* sequence = value.unshared_sequence()) sequence->num_owned = sequence->elements.size();
    return;
  }
  switch (value.kind()) {
    case ValueKind::kTensor: MakeOwned(value.tensor(), resources); return;
    case ValueKind::kSequence: {
      Sequence copy = value.sequence();
      for (Value& element : copy.elements) MakeOwned(element, resources);
      copy.num_owned = copy.elements.size();
      value = Value(std::move(copy));
      return;
    }
    case ValueKind::kMap: {
      Map copy = value.map();
      MakeOwned(copy.keys, resources);
      if (copy.scalars.defined()) MakeOwned(copy.scalars, resources);
      for (Value& element : copy.values) MakeOwned(element, resources);
      value = Value(std::move(copy));
      return;
    }
    case ValueKind::kSparseTensor: {
      SparseTensor copy = value.sparse_tensor();
      MakeOwned(copy.values, resources);
      MakeOwned(copy.indices, resources);
      value = Value(std::move(copy));
      return;
    }
    case ValueKind::kNone:
    case ValueKind::kOptional: return;
  }
}

void CopyToResult(const Tensor& result, Tensor& buffer, std::string_view output, const SessionResources& resources) {
  Require(result.type() == buffer.type() && result.shape() == buffer.shape(),
          "output '{}' is {} {}, but the buffer given for it is {} {}; give one that fits, or none", output,
          ElementTypeName(result.type()), result.shape(), ElementTypeName(buffer.type()), buffer.shape());
  resources.Copy(result, buffer);
}

}  // namespace tessera
