#pragma once

#include <optional>

#include "cpu/fused_activation.h"
#include "graph/graph.h"

namespace tessera {

/// What a node does, as the epilogue of a matmul or of a convolution in NCHW8c applies it; of PRelu without its slopes.
std::optional<cpu::Activation<float>> ActivationOf(const Graph& graph, const Node& node);

/// The same where every epilogue can apply it.
std::optional<cpu::Activation<float>> ActivationInRegisters(const Graph& graph, const Node& node);

/// Conv of ai.onnx, or FusedConv of ai.tessera, which is the same with an activation.
bool IsConv(const Node& node);

}  // namespace tessera
