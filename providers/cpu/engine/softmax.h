#pragma once

#include "ops/axis.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// softmax or its logarithm along the view's axis; y may be x. T: float, double, Float16, BFloat16.
template <class T>
void SoftmaxAlong(KernelContext& context, const AxisView& view, const T* x, T* y, bool log);

}  // namespace tessera::cpu
