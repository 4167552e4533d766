#pragma once

// The passes, in the order in which each round runs them.

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
std::unique_ptr<Rewrite> WidenHalves();
std::unique_ptr<Rewrite> SinkDequantize();
std::unique_ptr<Rewrite> QuantizeParts();
std::unique_ptr<Rewrite> TabulateQuantized();
std::unique_ptr<Rewrite> FuseQuantized();
std::unique_ptr<Rewrite> FuseIntegerProducts();
std::unique_ptr<Rewrite> FoldShapes();
std::unique_ptr<Rewrite> FoldConstants();
std::unique_ptr<Rewrite> FoldMatrices();  // in fold_constants.cpp
std::unique_ptr<Rewrite> InlineBranches();
std::unique_ptr<Rewrite> EliminateIdentities();
std::unique_ptr<Rewrite> EinsumToProducts();
std::unique_ptr<Rewrite> PatchesToProducts();
std::unique_ptr<Rewrite> ConvolveTokens();  // in depthwise_tokens.cpp
std::unique_ptr<Rewrite> RecognizeGelu();
std::unique_ptr<Rewrite> RecognizeHardSwish();
std::unique_ptr<Rewrite> RecognizeNormalization();
std::unique_ptr<Rewrite> RecognizeGroups();
std::unique_ptr<Rewrite> RecognizeRotary();
std::unique_ptr<Rewrite> SinkReshapes();
std::unique_ptr<Rewrite> UndoReshapes();
std::unique_ptr<Rewrite> PickBeforeTransposes();
std::unique_ptr<Rewrite> MergeSlices();
std::unique_ptr<Rewrite> GatherSlices();
std::unique_ptr<Rewrite> RecognizeGrids();  // in scatter_grids.cpp
std::unique_ptr<Rewrite> RecognizeAttention();
std::unique_ptr<Rewrite> ShareHeads();
std::unique_ptr<Rewrite> RecognizeNBits();
std::unique_ptr<Rewrite> MergeCasts();
std::unique_ptr<Rewrite> MergeActivations();
std::unique_ptr<Rewrite> FuseReshapes();
std::unique_ptr<Rewrite> SinkTransposes();
std::unique_ptr<Rewrite> FuseTransposes();
std::unique_ptr<Rewrite> FoldPads();
std::unique_ptr<Rewrite> NameSizes();
std::unique_ptr<Rewrite> ConvolveTransposed();
std::unique_ptr<Rewrite> CropKernels();
std::unique_ptr<Rewrite> FoldScales();
std::unique_ptr<Rewrite> FoldBiases();
std::unique_ptr<Rewrite> FuseActivations();
std::unique_ptr<Rewrite> MergeConstants();
std::unique_ptr<Rewrite> MergeEqualNodes();
std::unique_ptr<Rewrite> EliminateDeadNodes();
std::unique_ptr<Rewrite> QuantizeProducts();
std::unique_ptr<Rewrite> PutChannelsLast();
std::unique_ptr<Rewrite> PadChannels();
std::unique_ptr<Rewrite> BlockChannels();
std::unique_ptr<Rewrite> RecognizeSwish();
std::unique_ptr<Rewrite> AttendInPlace();
std::unique_ptr<Rewrite> SplitSkips();
std::unique_ptr<Rewrite> FuseSums();
std::unique_ptr<Rewrite> TurnFactors();

}  // namespace tessera
