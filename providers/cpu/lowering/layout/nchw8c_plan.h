#pragma once

// Which nodes of a graph compute in NCHW8c, [N, C/8, H, W, 8] or [N, C/8, D, H, W, 8].

#include <map>
#include <optional>
#include <set>

#include "graph/graph.h"
#include "kernels/conv/nchw8c/nchw8c.h"
#include "optimizer/rewrite.h"

namespace tessera {

using cpu::kChannelBlock;
inline constexpr std::string_view kNchw8cConv = "Nchw8cConv", kNchw8cConvTranspose = "Nchw8cConvTranspose";

enum class Nchw8cRole {
  kConv,       // Nchw8cConv; its input is NCHW8c
  kFirstConv,  // Nchw8cConv that reads a plain image of few channels
  kTranspose,  // Nchw8cConvTranspose; its input is NCHW8c
  kNormalize,  // BatchNormalization, as a depthwise convolution of one pixel
  kMap,        // the node itself, element by element
  kGroups,     // GroupNormalization, or InstanceNormalization as groups of one channel
  kScale,      // Mul with a number for each channel of an image
  kShift,      // Add of a number to each channel of an image
  kConcat,     // the node itself, along axis 1
  kMove,       // the node itself, with one axis more; it may have several outputs
  kPool,       // Nchw8cMaxPool, Nchw8cAveragePool
  kAverage,    // Nchw8cGlobalAveragePool, whose output is plain
  kShape,      // Nchw8cShape, whose output is that of Shape
};

/// Operators that map elements of several inputs and broadcast.
bool IsElementwise(const Node& node);

/// Whether kernels for blocks are there.
bool ComputesInNchw8c(const Graph& graph, const RewriteContext& context);

struct Nchw8cPlan {
  std::map<NodeIndex, Nchw8cRole> roles;
};

/// With zeros behind a tensor of floats along an axis.
Tensor PaddedAlong(const Tensor& tensor, size_t axis, int64_t size, Allocator& memory);

/// An image's channels fill whole blocks, but for what a convolution in one group computes for others than these nodes:
/// outputs of zero weights fill its last block. Leaves out regions where the way into the layout and out of it would cost
/// what it saves, and nodes after which it would cost more than before them.
Nchw8cPlan PlanBlocks(const Graph& graph, const RewriteContext& context);

/// Whether the node's outputs are in NCHW8c.
inline bool GivesNchw8c(Nchw8cRole role) { return role != Nchw8cRole::kAverage && role != Nchw8cRole::kShape; }

/// Inputs of the node that are NCHW8c where it has the role: others stay as they are.
bool ReadsNchw8c(const Graph& graph, const Node& node, Nchw8cRole role, size_t input);

}  // namespace tessera
