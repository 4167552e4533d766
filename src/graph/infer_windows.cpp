#include "graph/infer_windows.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "onnx/defs/shape_inference.h"
#include "ops/nn/window.h"
#include "tessera/error.h"

namespace tessera {
namespace {

/// The sizes behind batch and channels; nothing where one is not known.
std::optional<Shape> SpatialSizes(const onnx::TypeProto* type) {
  if (type == nullptr || !type->has_tensor_type() || !type->tensor_type().has_shape()) return std::nullopt;
  Shape sizes;
  const auto& shape = type->tensor_type().shape();
  for (int i = 2; i < shape.dim_size(); ++i) {
    if (!shape.dim(i).has_dim_value()) return std::nullopt;
    sizes.Append(shape.dim(i).dim_value());
  }
  return sizes;
}

/// Nothing where sizes are not known or attributes do not fit, which kernels tell of.
std::optional<Shape> FittedOutput(const Node& node, const onnx::InferenceContext& context) {
  const std::optional<Shape> input = SpatialSizes(context.getInputType(0));
  if (!input) return std::nullopt;
  try {
    const WindowAttributes attributes(node);
    const size_t weights = node.op_type == "QLinearConv" ? 3 : 1;
    std::optional<Shape> kernel;
    if (attributes.has_kernel()) {
      kernel = attributes.kernel();
    } else if (context.getNumInputs() > weights) {
      kernel = SpatialSizes(context.getInputType(weights));
    }
    if (!kernel) return std::nullopt;
    return attributes.Fit(input->dims(), kernel->dims()).output;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

bool SlidesWindows(const Node& node) {
  constexpr std::array<std::string_view, 6> kOperators = {"AveragePool", "Conv",    "ConvInteger",
                                                          "LpPool",      "MaxPool", "QLinearConv"};
  return node.domain.empty() && std::ranges::find(kOperators, node.op_type) != kOperators.end();
}

void CorrectWindows(const Node& node, onnx::InferenceContext& context) {
  const std::optional<Shape> output = FittedOutput(node, context);
  if (!output) return;
  for (size_t i = 0; i < context.getNumOutputs(); ++i) {
    onnx::TypeProto* type = context.getOutputType(i);
    if (type == nullptr || !type->has_tensor_type() || !type->tensor_type().has_shape()) continue;
    auto& shape = *type->mutable_tensor_type()->mutable_shape();
    if (static_cast<size_t>(shape.dim_size()) != output->rank() + 2) continue;
    for (size_t axis = 0; axis < output->rank(); ++axis) {
      if ((*output)[axis] == 0) shape.mutable_dim(static_cast<int>(axis) + 2)->set_dim_value(0);
    }
  }
}

}  // namespace tessera
