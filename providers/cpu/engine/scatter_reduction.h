#pragma once

// How ScatterElements and ScatterND combine an update with what is there.

#include <algorithm>
#include <complex>
#include <string>
#include <string_view>

#include "base/string_memory.h"
#include "cpu/engine/element.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/types.h"
#include "ops/movement/scatter.h"

namespace tessera::cpu {

/// Strings that are combined, not only moved, join and replace each other: no more than both inputs hold comes of it.
inline void ReserveTexts(const Tensor& data, const Tensor& updates, Tensor& output) {
  if (!data.is(ElementType::kString)) return;
  StringCharge charge(output, HostAllocator());
  charge.Add(TextBytes(data.values<std::string>()));
  charge.Add(TextBytes(updates.values<std::string>()));
}

template <class K>
std::unique_ptr<Kernel> MakeScatter(const KernelInfo& info) {
  const bool moves = ScatterReductionOf(info.node()) == ScatterReduction::kNone;
  return moves ? MakeMovement<K>(info) : OnBytes(info, std::make_unique<K>(info));
}

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

/// Integers wrap; NaN wins over any number; max and min order strings by bytes, complex numbers by real part first.
template <ScatterReduction kReduction, class T>
T Combine(const T& old, const T& update) {
  if constexpr (kReduction == ScatterReduction::kNone) {
    return update;
  } else if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return T(Combine<kReduction, float>(old, update));
  } else if constexpr (std::is_same_v<T, bool>) {
    return kReduction == ScatterReduction::kAdd || kReduction == ScatterReduction::kMax ? old || update : old && update;
  } else if constexpr (std::is_same_v<T, std::string>) {
    if constexpr (kReduction == ScatterReduction::kAdd) return old + update;
    if constexpr (kReduction == ScatterReduction::kMax) return std::max(old, update);
    if constexpr (kReduction == ScatterReduction::kMin) return std::min(old, update);
    return old;  // mul is refused before
  } else if constexpr (kReduction == ScatterReduction::kAdd || kReduction == ScatterReduction::kMul) {
    if constexpr (std::is_integral_v<T>) {
      const auto a = static_cast<uint64_t>(old), b = static_cast<uint64_t>(update);
      return static_cast<T>(kReduction == ScatterReduction::kAdd ? a + b : a * b);
    } else {
      return kReduction == ScatterReduction::kAdd ? old + update : old * update;
    }
  } else if constexpr (kIsComplex<T>) {
    const bool less = old.real() < update.real() || (old.real() == update.real() && old.imag() < update.imag());
    return less == (kReduction == ScatterReduction::kMax) ? update : old;
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (old != old) return old;
      if (update != update) return update;
    }
    return kReduction == ScatterReduction::kMax ? std::max(old, update) : std::min(old, update);
  }
}

using ScatterTypes = TypeList<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                              uint32_t, uint64_t, bool, std::string, std::complex<float>, std::complex<double>>;

/// Calls visitor.operator()<T, kReduction>() with what the element type and reduction ask for; without a reduction T is
/// an unsigned type of the element's size.
template <class Visitor>
void VisitScatter(ElementType type, ScatterReduction reduction, Visitor&& visitor) {
  if (reduction == ScatterReduction::kNone) {
    return VisitElement(KindOf(type), [&]<class T>() { visitor.template operator()<T, ScatterReduction::kNone>(); });
  }
  Require(type != ElementType::kString || reduction != ScatterReduction::kMul, "strings cannot be multiplied");
  VisitType(ScatterTypes{}, type, [&]<class T>() {
    switch (reduction) {
      case ScatterReduction::kAdd: return visitor.template operator()<T, ScatterReduction::kAdd>();
      case ScatterReduction::kMul: return visitor.template operator()<T, ScatterReduction::kMul>();
      case ScatterReduction::kMax: return visitor.template operator()<T, ScatterReduction::kMax>();
      default: return visitor.template operator()<T, ScatterReduction::kMin>();
    }
  });
}

}  // namespace tessera::cpu
