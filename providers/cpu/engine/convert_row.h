#pragma once

// Rows of a tensor's type to the type it is computed in, and back.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "simd/convert.h"

namespace tessera::cpu {

/// float for the 16-bit floats, else the type itself.
template <class T>
using ComputeType = std::conditional_t<std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>, float, T>;

template <class T, class C>
void LoadRow(const T* in, C* out, int64_t count) {
  if constexpr (std::is_same_v<C, float> && !std::is_same_v<T, ComputeType<T>>) {
    ConvertToFloat(in, out, count);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<C>(in[i]);
  }
}

template <class C, class T>
void StoreRow(const C* in, T* out, int64_t count) {
  if constexpr (std::is_same_v<C, float> && !std::is_same_v<T, ComputeType<T>>) {
    ConvertFromFloat(in, out, count);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(in[i]);
  }
}

}  // namespace tessera::cpu
