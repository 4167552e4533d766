#pragma once

// The two ways to run a plan of resampling that is neither empty nor the identity.

#include "ops/image/resample_plan.h"

namespace tessera::cpu {

void ResampleNearest(KernelContext& context, const ResamplePlan& plan, const Tensor& input, Tensor& output);
void ResampleWeighted(KernelContext& context, const ResamplePlan& plan, const Tensor& input, Tensor& output);

}  // namespace tessera::cpu
