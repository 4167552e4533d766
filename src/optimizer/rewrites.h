#pragma once

// The portable passes, in the order in which each round runs them: what they make any provider may be asked for.

#include <memory>
#include <span>
#include <string_view>

#include "optimizer/rewrite.h"
#include "tessera/session.h"

namespace tessera {

struct RewriteEntry {
  std::string_view name;
  OptimizationLevel level;  // the lowest that runs it
  std::unique_ptr<Rewrite> (*make)();
  bool last = false;  // runs once, after all others: these do not know what it makes
};

std::span<const RewriteEntry> Rewrites();

// Each in the file of its name.
std::unique_ptr<Rewrite> SinkDequantize();
std::unique_ptr<Rewrite> HoistQuantizeOverConcat();
std::unique_ptr<Rewrite> EliminateRequantizations();
std::unique_ptr<Rewrite> FuseQuantized();
std::unique_ptr<Rewrite> FuseIntegerMatMul();
std::unique_ptr<Rewrite> FoldShapes();
std::unique_ptr<Rewrite> FoldConstants();
std::unique_ptr<Rewrite> InlineBranches();
std::unique_ptr<Rewrite> EliminateIdentities();
std::unique_ptr<Rewrite> EinsumToMatMul();
std::unique_ptr<Rewrite> PatchConvToMatMul();
std::unique_ptr<Rewrite> RecognizeGelu();
std::unique_ptr<Rewrite> RecognizeHardSwish();
std::unique_ptr<Rewrite> RecognizeNormalization();
std::unique_ptr<Rewrite> RecognizeGroupNormalization();
std::unique_ptr<Rewrite> RecognizeRotaryEmbedding();
std::unique_ptr<Rewrite> SinkReshapes();
std::unique_ptr<Rewrite> FoldReshapePairs();
std::unique_ptr<Rewrite> HoistGatherOverTranspose();
std::unique_ptr<Rewrite> MergeSlices();
std::unique_ptr<Rewrite> ConcatOfSlicesToGather();
std::unique_ptr<Rewrite> RecognizeAttention();
std::unique_ptr<Rewrite> FoldRepeatedKvHeads();
std::unique_ptr<Rewrite> RecognizeMatMulNBits();
std::unique_ptr<Rewrite> MergeCasts();
std::unique_ptr<Rewrite> MergeActivations();
std::unique_ptr<Rewrite> FuseReshapes();
std::unique_ptr<Rewrite> SinkTransposes();
std::unique_ptr<Rewrite> FuseTransposes();
std::unique_ptr<Rewrite> FoldPads();
std::unique_ptr<Rewrite> DeriveSymbolicDims();
std::unique_ptr<Rewrite> ConvTransposeToConv();
std::unique_ptr<Rewrite> TrimConvKernels();
std::unique_ptr<Rewrite> FoldScales();
std::unique_ptr<Rewrite> FoldBiases();
std::unique_ptr<Rewrite> DeduplicateConstants();
std::unique_ptr<Rewrite> EliminateCommonSubexpressions();
std::unique_ptr<Rewrite> EliminateDeadNodes();
std::unique_ptr<Rewrite> DynamicQuantizeMatMul();

}  // namespace tessera
