#pragma once

// MatMuls of floats that become MatMulNBits.

#include "optimizer/analysis/nbits_weights.h"
#include "optimizer/rewrite.h"

namespace tessera {

/// com.microsoft's MatMulNBits.
bool IsMatMulNBits(const Node& node);

/// Whether a MatMul or Gemm may become MatMulNBits where its rhs has the values of a constant: nothing in it but
/// the matmul and a constant for each column, types that both have, and a kernel.
bool MayBecomeNBits(const Graph& graph, const Node& matmul, ElementType type, const RewriteContext& context);

/// Constants of a graph: quantized values, scales and, or kNone, zero points.
struct NBitsConstants {
  ValueIndex values, scales, zeros;
};
NBitsConstants AddNBitsConstants(Graph& graph, const NBitsMatrix& matrix);

/// Replaces such a node by MatMulNBits; returns the new node.
NodeIndex ReplaceByNBits(Graph& graph, NodeIndex matmul, const NBitsMatrix& matrix, const NBitsConstants& constants);

/// Lets a MatMulNBits quantize what its weights meet to 8 bits (accuracy_level 4), and has the placement report say so.
/// False where it may already, and where its kernel would not: with groups, or weights of 2 bits.
bool AllowInt8(Node& node);

/// Makes an Add of a constant for each column, the only reader of a MatMulNBits, its bias. False where there is none.
bool FoldNBitsBias(Graph& graph, NodeIndex index);

}  // namespace tessera
