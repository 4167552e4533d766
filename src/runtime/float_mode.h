#pragma once

// How a thread computes floating point: rounding, denormals. Threads that work for another take over its mode.

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#endif

namespace tessera {

using FloatMode = unsigned;

#if defined(__x86_64__) || defined(__i386__)
/// Without the flags of past exceptions.
inline FloatMode CurrentFloatMode() noexcept { return _mm_getcsr() & 0xFFC0u; }
inline FloatMode WithoutDenormals(FloatMode mode) noexcept { return mode | 0x8040u; }  // flush to zero, denormals are zero
inline void SetFloatMode(FloatMode mode) noexcept { _mm_setcsr(mode); }
#else
inline FloatMode CurrentFloatMode() noexcept { return 0; }
inline FloatMode WithoutDenormals(FloatMode mode) noexcept { return mode; }
inline void SetFloatMode(FloatMode) noexcept {}
#endif

/// This thread computes in `mode` while it lives.
class FloatModeScope {
 public:
  explicit FloatModeScope(FloatMode mode) noexcept : before_(CurrentFloatMode()), changed_(mode != before_) {
    if (changed_) SetFloatMode(mode);
  }
  ~FloatModeScope() {
    if (changed_) SetFloatMode(before_);
  }
  FloatModeScope(const FloatModeScope&) = delete;
  FloatModeScope& operator=(const FloatModeScope&) = delete;

 private:
  const FloatMode before_;
  const bool changed_;
};

}  // namespace tessera
