#pragma once

// Which convolutions the CPU provider keeps in another layout than NCHW, and what that saves: lowering/layout decides it by
// regions of nodes. Sizes may be unknown here.

#include "kernels/conv/choose/problem.h"

namespace tessera::cpu {

/// The layout of a convolution of floats by itself: kNchw, kNchw8c, or kNchw8cFromPlanes. Where outputs do not fill whole
/// blocks, zero weights do.
ConvLayout ChooseFloatLayout(const ConvProblem& problem);

/// Neighbouring groups, of so many channels and outputs each, that fill whole blocks together; 0: too many.
int64_t GroupsInBlock(int64_t channels, int64_t outputs, int64_t groups);

/// Whether channels may be added up to whole blocks, which are computed for nothing.
bool MayAddChannels(int64_t channels);

/// Whether ConvTranspose with this window, which slides over its output, is computed in NCHW8c: as many taps as the stride,
/// or three to five at stride 2.
bool TransposesInNchw8c(const Window& window);

/// What the layout saves the convolution, in elements that are moved at no loss: those that it reads and writes, or as many
/// as pay for its own moves.
double Nchw8cGain(const ConvProblem& problem, ConvLayout layout);

/// A depthwise convolution that NCHW's kernel computes in NCHW8c, image by image.
bool ConvertsInKernel(const ConvProblem& problem);

/// An NCHW8c convolution reads its input through a padded copy: neither depthwise nor 3x3, which Winograd's transform
/// mostly takes, nor dilated.
bool ReadsPaddedCopy(const ConvProblem& problem);

/// Whether 8-bit images are better in NHWC. `large_pairs`: the share of adjacent weights that take two steps; 0 where the
/// processor has dot products of bytes.
bool SuitsNhwc(const ConvProblem& problem, double large_pairs);

/// What NHWC saves a convolution of bytes, in elements that are moved at no loss: those that it reads and writes, and what
/// NCHW takes more to gather them.
double NhwcGain(const ConvProblem& problem);

/// Elements that a region must compute in convolutions for each that changes its layout.
double ElementsPerMove();

}  // namespace tessera::cpu
