#pragma once

// The activations that kernels apply to their results while they store them.

#include <cstdint>

namespace tessera::cpu {

enum class ActivationKind : uint8_t {
  kNone,
  kRelu,
  kClip,
  kLeakyRelu,
  kHardSigmoid,
  kHardSwish,
  // Of kernels in NCHW8c alone.
  kPRelu,
  kSigmoid,
  kSilu,
};

/// Whether every kernel with an epilogue applies it. The others take more registers than a GEMM's tile leaves, or know
/// channels as only the layout does; kernels in NCHW8c apply them to what they have stored.
constexpr bool AppliesInRegisters(ActivationKind kind) { return kind <= ActivationKind::kHardSwish; }

/// Whether all that it does is to bound numbers.
constexpr bool Clamps(ActivationKind kind) { return kind == ActivationKind::kRelu || kind == ActivationKind::kClip; }

template <class T>
struct Activation {
  ActivationKind kind = ActivationKind::kNone;
  T alpha = 0;  // kClip: lower bound; kLeakyRelu, kHardSigmoid: slope
  T beta = 0;   // kClip: upper bound; kHardSigmoid: offset

  explicit operator bool() const { return kind != ActivationKind::kNone; }
};

}  // namespace tessera::cpu
