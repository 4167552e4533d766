#pragma once

// Rows of a tensor's type to the type it is computed in, and back. Long rows have cancellation points.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/cancellation.h"
#include "kernels/elementwise/convert.h"

namespace tessera::cpu {

/// float for the 16-bit floats, else the type itself.
template <class T>
using ComputeType = std::conditional_t<std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>, float, T>;

/// Nanoseconds of an element, where its memory is touched for the first time.
inline constexpr double kConvertNs = 0.4;

template <class T, class C>
void LoadRow(const T* in, C* out, int64_t count) {
  InCancellablePieces(0, count, kConvertNs, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<C, float> && !std::is_same_v<T, ComputeType<T>>) {
      ConvertToFloat(in + begin, out + begin, end - begin);
    } else {
      for (int64_t i = begin; i < end; ++i) out[i] = static_cast<C>(in[i]);
    }
  });
}

template <class C, class T>
void StoreRow(const C* in, T* out, int64_t count) {
  InCancellablePieces(0, count, kConvertNs, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<C, float> && !std::is_same_v<T, ComputeType<T>>) {
      ConvertFromFloat(in + begin, out + begin, end - begin);
    } else {
      for (int64_t i = begin; i < end; ++i) out[i] = static_cast<T>(in[i]);
    }
  });
}

}  // namespace tessera::cpu
