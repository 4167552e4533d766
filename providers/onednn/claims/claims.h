#pragma once

// The cost rule: which of the nodes that can be lowered oneDNN computes faster than the CPU provider.
//
// Float32, numbers of 16 bits and quantized values are left to the CPU provider, which is as fast with them or faster
// (docs/model_benchmarks.md). So is everything where operands are to be rounded to bfloat16 on a processor that multiplies
// it no faster than float32.
//
// On other processors operands that are to be rounded are claimed, with two exceptions where there are no tiles (AMX).
// Matmuls are left if the CPU provider has products of bfloat16 itself, unless the session has several threads and
// convolutions, which stay here: two providers that take turns wait for each other's threads. And all is left if Winograd's
// transform, which oneDNN has in float32 alone, would save more than rounding does (TransformsAreFaster).

#include <string>
#include <vector>

#include "tessera/provider/graph.h"

namespace tessera::onednn {

enum class Claims {
  kFaster,         // what oneDNN computes faster than the CPU provider on this processor
  kFasterRounded,  // the same where operands are rounded to bfloat16
  kRounded,        // where operands are rounded, all matmuls, too
  kAll,            // all that can be lowered
};

/// Why the CPU provider is to have a node that can be lowered; empty when oneDNN is.
std::string WhyLeave(const GraphViewer& graph, const Node& node, Claims claims);

/// By node: the parts of spelt-out attention that are left to the CPU provider, which computes it as one, with all its
/// parts or none. `claimed`: what can be claimed.
std::vector<bool> LeftAttention(const GraphViewer& graph, const std::vector<bool>& claimed, Claims claims);

/// Whether the convolutions, those among `claimed` and those of floats that another provider has rewritten for itself, are
/// faster in float32, transformed, than in bfloat16.
bool TransformsAreFaster(const GraphViewer& graph, const std::vector<bool>& claimed);

bool IsMatMul(const Node& node);

/// Whether a region with this node in it is worth compiling.
bool IsAnchor(const GraphViewer& graph, const Node& node, Claims claims);

}  // namespace tessera::onednn
