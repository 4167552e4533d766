#pragma once

// Copies and fills of any length: those of a few milliseconds look on the way whether the run that this thread works for is
// to end.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/cancellation.h"

namespace tessera {

/// Of a byte that is read or written for the first time: pieces are long enough for the C library's widest copies.
inline constexpr double kMovedByteNs = 0.1;

/// memcpy.
inline void CopyBytesCancellably(void* to, const void* from, size_t bytes) {
  InCancellablePieces(0, static_cast<int64_t>(bytes), kMovedByteNs, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                static_cast<size_t>(end - begin));
  });
}

/// memset to 0.
inline void ClearCancellably(void* to, size_t bytes) {
  InCancellablePieces(0, static_cast<int64_t>(bytes), kMovedByteNs, [&](int64_t begin, int64_t end) {
    std::memset(static_cast<std::byte*>(to) + begin, 0, static_cast<size_t>(end - begin));
  });
}

/// std::fill_n.
template <class T>
void FillCancellably(T* to, int64_t count, const T& value) {
  constexpr double kElementNs = std::is_trivially_copyable_v<T> ? kMovedByteNs * sizeof(T) : 25;
  InCancellablePieces(0, count, kElementNs, [&](int64_t begin, int64_t end) { std::fill(to + begin, to + end, value); });
}

/// std::copy_n between arrays that do not overlap.
template <class T>
void CopyCancellably(T* to, const T* from, int64_t count) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    CopyBytesCancellably(to, from, static_cast<size_t>(count) * sizeof(T));
  } else {
    constexpr double kElementNs = 25;
    InCancellablePieces(0, count, kElementNs,
                        [&](int64_t begin, int64_t end) { std::copy(from + begin, from + end, to + begin); });
  }
}

}  // namespace tessera
