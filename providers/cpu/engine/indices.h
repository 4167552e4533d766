#pragma once

// Indices that come from inputs.

#include <cstdint>

#include "base/check.h"
#include "ops/integer_list.h"
#include "tessera/value.h"

namespace tessera::cpu {

[[noreturn]] inline void ThrowIndexOutside(int64_t index, int64_t size) {
  Fail(ErrorCode::kInvalidArgument, "index {} is outside [{}, {}]", index, -size, size - 1);
}

/// `index` in [-size, size) counted from the front; throws Error otherwise.
inline int64_t NormalizeIndex(int64_t index, int64_t size) {
  const int64_t result = index < 0 ? index + size : index;
  if (static_cast<uint64_t>(result) >= static_cast<uint64_t>(size)) [[unlikely]]
    ThrowIndexOutside(index, size);
  return result;
}

/// Calls visitor(const Index* indices) with the tensor's elements as int32_t or int64_t.
template <class Visitor>
void VisitIndices(const Tensor& tensor, Visitor&& visitor) {
  if (tensor.is(ElementType::kInt64)) return visitor(tensor.data<int64_t>());
  if (tensor.is(ElementType::kInt32)) return visitor(tensor.data<int32_t>());
  Fail(ErrorCode::kInvalidArgument, "indices are {}, expected int32 or int64", ElementTypeName(tensor.type()));
}

inline std::byte* Bytes(Tensor& tensor) { return static_cast<std::byte*>(tensor.mutable_raw()); }
inline const std::byte* Bytes(const Tensor& tensor) { return static_cast<const std::byte*>(tensor.raw()); }

}  // namespace tessera::cpu
