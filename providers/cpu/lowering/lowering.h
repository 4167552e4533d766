#pragma once

// The passes that rewrite what the CPU provider was assigned into its own operators and layouts.

#include <memory>
#include <span>

#include "optimizer/rewrites.h"

namespace tessera {

/// In order; those before the `last` ones leave work to the portable passes, which run again where they changed something.
std::span<const RewriteEntry> CpuLowering();

// Each in the file of its name.
std::unique_ptr<Rewrite> UpcastFp16();
std::unique_ptr<Rewrite> RecognizeScatterGrid();
std::unique_ptr<Rewrite> FuseActivations();
std::unique_ptr<Rewrite> UseNhwc();
std::unique_ptr<Rewrite> UseDepthwiseConvNhwc();
std::unique_ptr<Rewrite> PadChannels();
std::unique_ptr<Rewrite> UseNchw8c();
std::unique_ptr<Rewrite> RecognizeSwish();
std::unique_ptr<Rewrite> FoldQkvLayoutIntoAttention();
std::unique_ptr<Rewrite> DecomposeSkipLayerNormalization();
std::unique_ptr<Rewrite> FuseLinear();
std::unique_ptr<Rewrite> FoldMatrices();
std::unique_ptr<Rewrite> FoldTransposeIntoMatMul();

}  // namespace tessera
