#pragma once

#include "cpu/engine/elementwise.h"

namespace tessera::cpu {

enum class Arithmetic { kAdd, kSub, kMul, kDiv, kMax, kMin };

/// The loop of `op` for T = ComputeTypeOf(type), both inputs and the output of type T.
SpanLoop ArithmeticLoop(Arithmetic op, ElementType type);
/// Time of one element.
double ArithmeticCost(Arithmetic op, ElementType type);

}  // namespace tessera::cpu
