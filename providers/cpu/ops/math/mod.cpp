// Mod (10, 13, 28). Division is what it costs, so there is nothing to gain from vectors.

#include <cmath>
#include <type_traits>

#include "engine/elementwise.h"

namespace tessera::cpu {
namespace {

/// The remainder with the sign of the dividend.
struct FmodOf {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      if (b == T(0)) return T(0);
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return T(0);
      }
      return static_cast<T>(a % b);
    }
  }
};
/// The remainder with the sign of the divisor, as Python's %.
struct ModOf {
  template <class T>
  T operator()(T a, T b) const {
    T r = FmodOf{}(a, b);
    if constexpr (std::is_floating_point_v<T>) {
      if (r == T(0)) return std::copysign(T(0), b);
      if ((r < T(0)) != (b < T(0))) r += b;
    } else if constexpr (std::is_signed_v<T>) {
      if (r != T(0) && (r < T(0)) != (b < T(0))) r = static_cast<T>(r + b);
    }
    return r;
  }
};

template <class T, class F>
void Loop(const void* const* inputs, unsigned advancing, void* output, int64_t count, const void*) {
  const T* a = static_cast<const T*>(inputs[0]);
  const T* b = static_cast<const T*>(inputs[1]);
  T* y = static_cast<T*>(output);
  const int64_t a_step = advancing & 1;
  const int64_t b_step = advancing >> 1 & 1;
  for (int64_t i = 0; i < count; ++i) y[i] = F{}(a[i * a_step], b[i * b_step]);
}

class Mod final : public BinaryKernel {
 public:
  explicit Mod(const KernelInfo& info) : BinaryKernel(info, Body(info)) {
    Require(info.input_type(0) == info.input_type(1), "inputs are tensor({}) and tensor({}), expected one type",
            ElementTypeName(info.input_type(0)), ElementTypeName(info.input_type(1)));
  }

 private:
  static Elementwise Body(const KernelInfo& info) {
    const int64_t fmod = info.attribute<int64_t>("fmod", 0);
    Require(fmod == 0 || fmod == 1, "attribute 'fmod' is {}, expected 0 or 1", fmod);
    const SpanLoop loop = VisitType(NumberTypes{}, info.input_type(0), [&]<class T>() -> SpanLoop {
      return fmod == 1 ? Loop<ComputeType<T>, FmodOf> : Loop<ComputeType<T>, ModOf>;
    });
    return {loop, 5.0};
  }
};

}  // namespace

void RegisterMod(KernelRegistry& registry) {
  registry.Add(Op("Mod").Versions(10).Types(0, kNumbers).Types(1, kNumbers).InPlace(0, 0).InPlace(1, 0).Make<Mod>());
}

}  // namespace tessera::cpu
