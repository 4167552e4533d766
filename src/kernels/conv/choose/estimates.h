#pragma once

// Estimated times of a convolution's algorithms, on one core.

#include "kernels/conv/choose/costs.h"
#include "kernels/conv/choose/problem.h"
#include "kernels/conv/winograd/axis.h"

namespace tessera::cpu {

/// The multiply-adds that all algorithms without a transform do.
double MultiplyNs(const ConvProblem& problem, const ConvCosts& costs);

/// Winograd's F(4x4, 3x3) in NCHW and in oneDNN's layout, and F(4, 3) along one axis.
double WinogradNs(const ConvProblem& problem, const ConvCosts& costs);

/// What an output pixel of a group reads at each position of the last two axes: the channels of the window's slices.
int64_t SliceDepth(const ConvProblem& problem);

/// In NCHW8c, over a window of kSpatialAxes: direct, where so large a share of the taps is inside the image, and by a form;
/// `window`: the problem's, upright.
double Nchw8cDirectNs(const ConvProblem& problem, double share, const ConvCosts& costs);
double Nchw8cWinogradNs(const ConvProblem& problem, const Window& window, WinogradForm form, const ConvCosts& costs);

}  // namespace tessera::cpu
