#pragma once

// How a thread computes floating point: rounding, traps, denormals. What the library computes does not depend on the
// caller's settings, and they are his again when a call returns. Threads that work for another take over its mode.

#include <cfenv>

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#endif

namespace tessera {

using FloatMode = unsigned;

#if defined(__x86_64__) || defined(__i386__)
/// To nearest, no traps, denormals are numbers.
inline constexpr FloatMode kPlainFloatMode = 0x1F80u;
/// Without the flags of past exceptions.
inline FloatMode CurrentFloatMode() noexcept { return _mm_getcsr() & 0xFFC0u; }
inline FloatMode WithoutDenormals(FloatMode mode) noexcept { return mode | 0x8040u; }  // flush to zero, denormals are zero
inline void SetFloatMode(FloatMode mode) noexcept { _mm_setcsr(mode); }
#else
inline constexpr FloatMode kPlainFloatMode = 0;
inline FloatMode CurrentFloatMode() noexcept { return 0; }
inline FloatMode WithoutDenormals(FloatMode mode) noexcept { return mode; }
inline void SetFloatMode(FloatMode) noexcept {}
#endif

/// This thread of the library's computes in `mode` while it lives.
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

/// The caller's thread computes in `mode` while it lives, and as he set it before and after: control words and the flags of
/// exceptions, of the x87 unit (long double, and libraries that compute in it), too.
class CallersFloatMode {
 public:
  explicit CallersFloatMode(FloatMode mode = kPlainFloatMode) noexcept {
#if defined(__x86_64__) || defined(__i386__)
    vector_before_ = _mm_getcsr();
    if ((vector_before_ & 0xFFC0u) != mode) _mm_setcsr(mode);
    x87_is_plain_ = X87Control() == kPlainX87 && (X87Status() & kX87Exceptions) == 0;
    if (!x87_is_plain_) {
      std::fegetenv(&x87_before_);
      SetPlainX87();
    }
#else
    static_cast<void>(mode);
    std::fegetenv(&x87_before_);
    std::fesetenv(FE_DFL_ENV);
#endif
  }
  ~CallersFloatMode() {
#if defined(__x86_64__) || defined(__i386__)
    if (!x87_is_plain_) {
      std::fesetenv(&x87_before_);
    } else if ((X87Status() & kX87Exceptions) != 0) {
      asm volatile("fnclex");
    }
    if (_mm_getcsr() != vector_before_) _mm_setcsr(vector_before_);
#else
    std::fesetenv(&x87_before_);
#endif
  }
  CallersFloatMode(const CallersFloatMode&) = delete;
  CallersFloatMode& operator=(const CallersFloatMode&) = delete;

 private:
#if defined(__x86_64__) || defined(__i386__)
  static constexpr unsigned short kPlainX87 = 0x037F, kX87Exceptions = 0x3F;
  static unsigned short X87Control() noexcept {
    unsigned short word;
    asm volatile("fnstcw %0" : "=m"(word));
    return word;
  }
  static unsigned short X87Status() noexcept {
    unsigned short word;
    asm volatile("fnstsw %0" : "=a"(word));
    return word;
  }
  static void SetPlainX87() noexcept {
    const unsigned short word = kPlainX87;
    asm volatile("fnclex\n\tfldcw %0" : : "m"(word));
  }

  unsigned vector_before_ = 0;
  bool x87_is_plain_ = true;
#endif
  std::fenv_t x87_before_;
};

}  // namespace tessera
