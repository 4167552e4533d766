#pragma once

// Convolutions and GEMMs with constant weights, and constants that hold one number for each of their channels.

#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "ops/nn/window.h"

namespace tessera {

/// Most of an attribute's numbers and of a side of an image or a kernel, so that products do not overflow.
constexpr int64_t kMostOfWindow = 1 << 20;

/// What the attributes say of a window with this kernel before its image is known; nothing where they do not fit it or have
/// absurd numbers.
std::optional<Window> WindowBeforeImage(const WindowAttributes& attributes, std::span<const int64_t> kernel);

/// A Conv, ConvTranspose or Gemm, or a matmul that a caller found itself, whose output has `channels` channels.
struct ConvOrGemm {
  NodeIndex node = kNone;
  int64_t channels = 0;
  size_t rank = 0;          // of the output
  size_t channel_axis = 1;  // of the output
};

/// The Conv, ConvTranspose or Gemm that computes `index`, where nobody but one node reads it.
std::optional<ConvOrGemm> ConvOrGemmOf(const Graph& graph, ValueIndex index);

/// A constant that is added to (multiplied with) such a node's output without broadcasting it, as one number for each
/// channel. The elements may be of any type of whole bytes.
std::optional<Tensor> PerChannel(const Tensor& constant, const ConvOrGemm& layer);

/// Float and double only.
std::optional<std::vector<double>> ToDoubles(const Tensor& tensor);
/// False where it has an infinity or what is no number, or is of another type. Constants that are folded into each other
/// must not overflow where one after the other would not.
bool AllFinite(const Tensor& tensor);
Tensor FromDoubles(ElementType type, const Shape& shape, const std::vector<double>& values);

/// The bias of a Conv or ConvTranspose, or C of a Gemm, with beta in it: one number for each channel; zeros without one.
/// Nothing when it is not constant, or another shape or type.
std::optional<std::vector<double>> BiasOf(const Graph& graph, const ConvOrGemm& layer, ElementType type);

/// Gives the node this bias.
void SetBias(Graph& graph, const ConvOrGemm& layer, Tensor bias);

}  // namespace tessera
