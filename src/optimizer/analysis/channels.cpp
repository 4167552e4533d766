#include "optimizer/analysis/channels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/math/gemm.h"
#include "ops/nn/conv.h"
#include "optimizer/analysis/edit.h"

namespace tessera {

std::optional<Window> WindowBeforeImage(const WindowAttributes& attributes, std::span<const int64_t> kernel) {
  if (attributes.has_kernel() && !std::ranges::equal(attributes.kernel(), kernel)) return std::nullopt;
  try {
    Window window = attributes.Expand(Shape(kernel.size()).dims(), kernel);
    for (const Shape* sizes : {&window.kernel, &window.strides, &window.dilations, &window.begin, &window.end}) {
      if (std::ranges::any_of(*sizes, [](int64_t size) { return size > kMostOfWindow; })) return std::nullopt;
    }
    return window;
  } catch (const Error&) {  // the kernel says so
    return std::nullopt;
  }
}

std::optional<ConvOrGemm> ConvOrGemmOf(const Graph& graph, ValueIndex index) {
  const NodeIndex producer = graph.value(index).producer;
  if (producer == kNone || !HasOneReader(graph, index)) return std::nullopt;
  const Node& node = graph.node(producer);
  if (!node.domain.empty() || !HasInput(node, 1)) return std::nullopt;
  const auto weights = StaticShapeOf(graph, node.inputs[1]);
  if (!weights || weights->rank() < 2) return std::nullopt;
  const int64_t group = GroupOf(node);
  if (group <= 0) return std::nullopt;  // the kernel says so
  if (node.op_type == "Conv" && weights->rank() > 2) return ConvOrGemm{producer, (*weights)[0], weights->rank()};
  if (node.op_type == "ConvTranspose" && weights->rank() > 2 && group <= (*weights)[0]) {
    return ConvOrGemm{producer, (*weights)[1] * group, weights->rank()};  // at most the weights' elements
  }
  if (node.op_type == "Gemm" && node.since_version >= 7 && weights->rank() == 2) {
    return ConvOrGemm{producer, (*weights)[GemmAttributes(node).trans_b ? 0 : 1], 2};
  }
  return std::nullopt;
}

std::optional<Tensor> PerChannel(const Tensor& constant, const ConvOrGemm& layer) {
  const Shape& shape = constant.shape();
  if (shape.rank() > layer.rank || BitWidth(constant.type()) < 8 || constant.is(ElementType::kString)) return std::nullopt;
  const size_t offset = layer.rank - shape.rank();
  for (size_t i = 0; i < shape.rank(); ++i) {
    const bool fits = shape[i] == 1 || (i + offset == layer.channel_axis && shape[i] == layer.channels);
    if (!fits) return std::nullopt;
  }
  const Shape all{layer.channels};
  if (constant.num_elements() == layer.channels) return constant.Reshaped(all);
  Tensor spread(constant.type(), all);
  const size_t bytes = constant.byte_size();
  for (int64_t i = 0; i < layer.channels; ++i) {
    std::memcpy(static_cast<std::byte*>(spread.mutable_raw()) + static_cast<size_t>(i) * bytes, constant.unaligned_raw(),
                bytes);
  }
  return spread;
}

std::optional<std::vector<double>> ToDoubles(const Tensor& tensor) {
  if (tensor.is(ElementType::kFloat)) {
    const auto values = tensor.values<float>();
    return std::vector<double>(values.begin(), values.end());
  }
  if (tensor.is(ElementType::kDouble)) {
    const auto values = tensor.values<double>();
    return std::vector<double>(values.begin(), values.end());
  }
  return std::nullopt;
}

bool AllFinite(const Tensor& tensor) {
  const auto finite = [](const auto& values) {
    return std::all_of(values.begin(), values.end(), [](auto value) { return std::isfinite(value); });
  };
  return tensor.is(ElementType::kFloat) ? finite(tensor.values<float>())
                                        : tensor.is(ElementType::kDouble) && finite(tensor.values<double>());
}

Tensor FromDoubles(ElementType type, const Shape& shape, const std::vector<double>& values) {
  Tensor tensor(type, shape);
  if (type == ElementType::kFloat) {
    std::transform(values.begin(), values.end(), tensor.mutable_data<float>(),
                   [](double v) { return static_cast<float>(v); });
  } else {
    std::copy(values.begin(), values.end(), tensor.mutable_data<double>());
  }
  return tensor;
}

std::optional<std::vector<double>> BiasOf(const Graph& graph, const ConvOrGemm& layer, ElementType type) {
  const Node& node = graph.node(layer.node);
  if (!HasInput(node, 2)) return std::vector<double>(static_cast<size_t>(layer.channels), 0.0);
  const Tensor* bias = ConstantInput(graph, node, 2);
  if (bias == nullptr || !bias->is(type)) return std::nullopt;
  if (node.op_type != "Gemm") return bias->shape() == Shape{layer.channels} ? ToDoubles(*bias) : std::nullopt;
  const auto spread = PerChannel(*bias, layer);
  auto values = spread ? ToDoubles(*spread) : std::nullopt;
  if (!values) return std::nullopt;
  const double beta = GemmAttributes(node).beta;
  for (double& value : *values) value *= beta;
  return values;
}

void SetBias(Graph& graph, const ConvOrGemm& layer, Tensor bias) {
  const ValueIndex constant = graph.AddConstant("", std::move(bias));
  Node& node = graph.node(layer.node);
  if (node.op_type == "Gemm") SetAttribute(node, "beta", 1.0f);
  if (node.inputs.size() < 3) node.inputs.resize(3, kNone);
  graph.SetInput(layer.node, 2, constant);
}

}  // namespace tessera
