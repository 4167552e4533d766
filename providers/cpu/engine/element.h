#pragma once

// Data movement does not care what an element means, only how large it is: one instantiation per size, and one for strings.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/cancellable_memory.h"
#include "base/check.h"
#include "tessera/element_type.h"

namespace tessera::cpu {

struct Bits128 {
  uint64_t low;
  uint64_t high;
  bool operator==(const Bits128&) const = default;
};

struct ElementKind {
  int64_t bytes = 0;
  bool is_string = false;
};

/// Throws Error for packed types: kernels see those as bytes, see on_bytes.h.
inline ElementKind KindOf(ElementType type) {
  const int bits = BitWidth(type);
  if (bits < 8) Fail(ErrorCode::kNotImplemented, "element type {} is not supported here", ElementTypeName(type));
  return {bits / 8, type == ElementType::kString};
}

/// Calls visitor.operator()<T>() with the unsigned type of that size (Bits128 for 16 bytes), or std::string.
template <class Visitor>
decltype(auto) VisitElement(ElementKind kind, Visitor&& visitor) {
  if (kind.is_string) return visitor.template operator()<std::string>();
  switch (kind.bytes) {
    case 1: return visitor.template operator()<uint8_t>();
    case 2: return visitor.template operator()<uint16_t>();
    case 4: return visitor.template operator()<uint32_t>();
    case 8: return visitor.template operator()<uint64_t>();
    default: return visitor.template operator()<Bits128>();
  }
}

/// Copies `count` contiguous elements that do not overlap. Many of them have cancellation points between.
inline void CopyElements(std::byte* dst, const std::byte* src, int64_t count, ElementKind kind) {
  if (count <= 0) return;
  if (kind.is_string) {
    CopyCancellably(reinterpret_cast<std::string*>(dst), reinterpret_cast<const std::string*>(src), count);
  } else {
    CopyBytesCancellably(dst, src, static_cast<size_t>(count * kind.bytes));
  }
}

/// Copies `bytes` (any, small ones fast) that do not overlap.
inline void CopyBytes(std::byte* dst, const std::byte* src, size_t bytes) {
  const auto twice = [&]<class T>(T) {  // two words that may overlap in the middle
    T first, last;
    std::memcpy(&first, src, sizeof(T));
    std::memcpy(&last, src + bytes - sizeof(T), sizeof(T));
    std::memcpy(dst, &first, sizeof(T));
    std::memcpy(dst + bytes - sizeof(T), &last, sizeof(T));
  };
  if (bytes > 32) {
    std::memcpy(dst, src, bytes);
  } else if (bytes > 16) {
    twice(Bits128{});
  } else if (bytes >= 8) {
    twice(uint64_t{});
  } else if (bytes >= 4) {
    twice(uint32_t{});
  } else if (bytes >= 2) {
    twice(uint16_t{});
  } else if (bytes == 1) {
    *dst = *src;
  }
}

/// Writes the element at `value` `count` times, with cancellation points where that takes long.
inline void FillElements(std::byte* dst, const void* value, int64_t count, ElementKind kind) {
  if (count <= 0) return;
  VisitElement(kind, [&]<class T>() { FillCancellably(reinterpret_cast<T*>(dst), count, *static_cast<const T*>(value)); });
}

/// Nanoseconds that copying one element costs, for ParallelFor.
inline double CopyCost(ElementKind kind) { return kind.is_string ? 25.0 : 0.08 * static_cast<double>(kind.bytes); }

}  // namespace tessera::cpu
