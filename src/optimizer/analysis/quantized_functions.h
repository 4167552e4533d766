#pragma once

// Elementwise operators on quantized values of 8 bits: where all that they read is one tensor, a table of 256 results says
// what they compute.

#include <span>

#include "graph/graph.h"

namespace tessera {

/// Nodes that are followed from a quantized value back to the one that it is made of.
inline constexpr size_t kMostNodesOfFunction = 64;

/// Of the inputs of one of com.microsoft's elementwise operators, those that are quantized; none for other operators.
std::span<const size_t> QuantizedInputs(const Node& node);

/// Each result is a real function of the numbers at its place.
bool IsRealFunction(const Graph& graph, const Node& node);

/// Whether both of these quantized values, and so what an elementwise operator makes of them, are functions of the elements
/// of one quantized tensor, each by itself, whoever computes them.
bool AreFunctionsOfOne(const Graph& graph, ValueIndex a, ValueIndex b);

}  // namespace tessera
