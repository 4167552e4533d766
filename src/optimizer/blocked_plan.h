#pragma once

// Which nodes of a graph compute on images in blocks of channels, [N, C/8, H, W, 8] or [N, C/8, D, H, W, 8].

#include <map>
#include <optional>
#include <set>

#include "graph/graph.h"
#include "optimizer/rewrite.h"

namespace tessera {

inline constexpr int64_t kChannelBlock = 8;
inline constexpr std::string_view kBlockedDomain = "ai.tessera", kBlockedConv = "BlockedConv",
                                  kBlockedConvTranspose = "BlockedConvTranspose";

enum class BlockedRole {
  kConv,       // BlockedConv; its input is blocked
  kFirstConv,  // BlockedConv that reads a plain image of few channels
  kTranspose,  // BlockedConvTranspose; its input is blocked
  kNormalize,  // BatchNormalization, as a depthwise convolution of one pixel
  kMap,        // the node itself, element by element
  kGroups,     // GroupNormalization, or InstanceNormalization as groups of one channel
  kScale,      // Mul with a factor for each channel of an image
  kShift,      // Add of a number to each channel of an image
  kConcat,     // the node itself, along axis 1
  kMove,       // the node itself, with one axis more; it may have several outputs
  kPool,       // BlockedMaxPool, BlockedAveragePool
  kAverage,    // BlockedGlobalAveragePool, whose output is plain
  kShape,      // BlockedShape, whose output is that of Shape
};

/// Operators that map elements of several inputs and broadcast.
bool IsElementwise(const Node& node);

/// Whether kernels for blocks are there, and the graph is not to be written as a model.
bool ComputesInBlocks(const Graph& graph, const RewriteContext& context);

struct BlockedPlan {
  std::map<NodeIndex, BlockedRole> roles;
};

/// With zeros behind a tensor of floats along an axis.
Tensor PaddedAlong(const Tensor& tensor, size_t axis, int64_t size, Allocator& memory);

/// Neighbouring groups of a convolution with `weights` [M, C/group, kernel...] that fill whole blocks together; 0: too
/// many.
int64_t GroupsInBlock(const Shape& weights, int64_t group);

/// An image's channels fill whole blocks, but for what a convolution in one group computes for others than these nodes:
/// outputs of zero weights fill its last block. Leaves out regions where the way into the layout and out of it would cost
/// what it saves, and nodes after which it would cost more than before them.
BlockedPlan PlanBlocks(const Graph& graph);

/// Whether the node's outputs are in blocks.
inline bool GivesBlocks(BlockedRole role) { return role != BlockedRole::kAverage && role != BlockedRole::kShape; }

/// Inputs of the node that are blocked where it has the role: others stay as they are.
bool ReadsBlocks(const Graph& graph, const Node& node, BlockedRole role, size_t input);

}  // namespace tessera
