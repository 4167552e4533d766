#pragma once

// Estimated times of convolutions in NCHW that gather windows for a GEMM, and of those that read them where they lie: what
// moves elements counts as much as what multiplies them where outputs are few.

#include "kernels/conv/choose/choose.h"
#include "kernels/conv/choose/costs.h"

namespace tessera::cpu {

/// Of a convolution whose image is known and PhasePlanes fit.
double ImplicitGemmNs(const ConvProblem& problem, const ConvCosts& costs);

/// Of another algorithm, whose estimate beside others is `candidate`'s.
double WholeNs(const ConvProblem& problem, const ConvCandidate& candidate, const ConvCosts& costs);

}  // namespace tessera::cpu
