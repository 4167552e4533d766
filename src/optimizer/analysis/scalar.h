#pragma once

// Binary operators with a constant of one element.

#include <optional>
#include <string_view>

#include "graph/graph.h"

namespace tessera {

/// The only element of a float, double, float16 or bfloat16 constant.
std::optional<double> ScalarOf(const Tensor* tensor);

/// What input `i` of a binary operator is, where it is a constant of one element that does not broadcast the other input.
std::optional<double> NumberBeside(const Graph& graph, const Node& node, size_t i);

/// For `op_type` of something and a constant of this value that does not broadcast it (the right operand of Div, Sub and
/// Pow): that something. Values are compared as float16 would hold them.
std::optional<ValueIndex> OperandBeside(const Graph& graph, const Node& node, std::string_view op_type, double value);

/// The input of a binary operator that is not `input`; `input` when both are, kNone when it is none.
ValueIndex OtherInput(const Node& node, ValueIndex input);

/// The only node that reads a value, which is no output; null where it has others.
const Node* OnlyReader(const Graph& graph, ValueIndex index);

}  // namespace tessera
