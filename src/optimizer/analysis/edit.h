#pragma once

// Edits that several rewrites make, and questions that they ask.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace tessera {

/// Removes a node and lets everyone who read its only output read `replacement` instead. A graph output keeps its name: who
/// computed the replacement computes it then. False, and nothing done, where that cannot be: the replacement is an input,
/// captured or an output itself.
bool BypassNode(Graph& graph, NodeIndex index, ValueIndex replacement);

/// Adds a node of ai.onnx, of the version that the model imports, that computes `output`.
Node& AddOperator(Graph& graph, std::string_view op_type, std::vector<ValueIndex> inputs, ValueIndex output,
                  NodeIndex before);

/// A constant of one axis: shapes, axes, indices.
ValueIndex AddIntegers(Graph& graph, std::span<const int64_t> values);

/// Removes a node whose only output nobody reads.
void RemoveUnread(Graph& graph, NodeIndex index);

/// Removes a node that computes constants, which take the place of its outputs.
void ReplaceByConstants(Graph& graph, NodeIndex index, std::span<const Tensor> constants);

/// The version of an operator of ai.onnx that the model's imports give; 0 where they have none.
int VersionOf(const Graph& graph, std::string_view op_type);

/// The node computes one value: its first output.
bool HasOneOutput(const Node& node) noexcept;

/// Operator `op_type` of ai.onnx.
bool IsOp(const Node& node, std::string_view op_type) noexcept;

/// Attention of ai.onnx, or of ai.tessera (see recognize_attention).
bool IsAttention(const Node& node) noexcept;

/// The node that computes a value, in the same graph, or null.
const Node* Producer(const Graph& graph, ValueIndex value) noexcept;
/// The same of input `i`.
const Node* Producer(const Graph& graph, const Node& node, size_t i) noexcept;

/// Nobody but the one node reads it, and it is no output.
bool HasOneReader(const Graph& graph, ValueIndex index) noexcept;

bool HasInput(const Node& node, size_t i) noexcept;
const Tensor* ConstantInput(const Graph& graph, const Node& node, size_t i) noexcept;
void SetAttribute(Node& node, std::string_view name, AttributeValue value);

/// All elements of an int64 or int32 constant, or nothing when it is another or has more than `most`.
std::optional<std::vector<int64_t>> Integers(const Tensor* tensor, size_t most = 64);
/// The axes of a Squeeze, an Unsqueeze or a reduction as they are given, in an input or in the attribute of older versions;
/// of Slice and Pad, in input 3. Nothing where none are, or not as a constant.
std::optional<std::vector<int64_t>> AxesOf(const Graph& graph, const Node& node, size_t input = 1);
/// The same: the pads of a Pad, and the target of a Reshape.
std::optional<std::vector<int64_t>> PadsOf(const Graph& graph, const Node& pad);
std::optional<std::vector<int64_t>> TargetOf(const Graph& graph, const Node& reshape);

using Permutation = std::vector<int64_t>;
/// Of a Transpose. Nothing where the rank is not known, or perm is none of that rank: that error is the kernel's.
std::optional<Permutation> PermutationOf(const Graph& graph, const Node& node);

const SymbolicShape* ShapeOf(const Graph& graph, ValueIndex index) noexcept;
/// Elements as far as they are known: where a dimension is open, one slice. The value must have a shape.
double KnownElements(const Graph& graph, ValueIndex index);
/// The shape when all of it is known.
std::optional<Shape> StaticShapeOf(const Graph& graph, ValueIndex index);
/// Both have the same known size, or the same name.
bool SameDimension(const Dimension& a, const Dimension& b) noexcept;
bool SameShape(const Graph& graph, ValueIndex a, ValueIndex b) noexcept;
ElementType ElementOf(const Graph& graph, ValueIndex index) noexcept;
/// A floating-point type of 16 bits.
constexpr bool IsHalf(ElementType type) noexcept { return type == ElementType::kFloat16 || type == ElementType::kBFloat16; }

}  // namespace tessera
