// conv_transpose_to_conv: a ConvTranspose of stride 1 is a convolution whose taps stand in the opposite order, and
// convolutions have more ways to be computed. Not where most of what its windows read would be padding, as where one pixel
// becomes an image, nor for few outputs.

#include <algorithm>
#include <cstring>

#include "base/load_limits.h"
#include "ops/nn/conv_transpose.h"
#include "ops/valid_attributes.h"
#include "optimizer/analysis/channels.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

constexpr int64_t kFewestOutputs = 8;  // fewer cost less than the inputs that their windows read

/// Pads of the convolution, before and after; nothing where the node is none.
std::optional<std::vector<int64_t>> PadsOf(const ConvTransposeAttributes& attributes, const SymbolicShape& image,
                                           const Shape& weights) {
  constexpr double kMostOutputs = 1.5;  // for each input: an output costs what an input did
  const size_t count = weights.rank() - 2;
  if (attributes.window.pads_to_same() || attributes.output_shape.rank() > 0) return std::nullopt;
  const auto window = WindowBeforeImage(attributes.window, weights.dims().subspan(2));
  const Shape extra = attributes.output_padding.rank() > 0 ? attributes.output_padding : Shape(count);
  if (!window || extra.rank() != count) return std::nullopt;
  std::vector<int64_t> pads(2 * count);
  double outputs = 1;
  for (size_t i = 0; i < count; ++i) {
    const int64_t reach = window->extent(i) - 1;
    if (window->strides[i] != 1 || extra[i] > kMostOfWindow) return std::nullopt;
    pads[i] = reach - window->begin[i];
    pads[count + i] = reach - window->end[i] + extra[i];
    if (pads[i] < 0 || pads[count + i] < 0) return std::nullopt;
    const int64_t more = pads[i] + pads[count + i] - reach;
    if (more > 0 && !image[i + 2].known()) return std::nullopt;
    if (!image[i + 2].known()) continue;
    const int64_t size = image[i + 2].value;
    outputs *= static_cast<double>(size + more) / static_cast<double>(std::max<int64_t>(size, 1));
  }
  return outputs <= kMostOutputs ? std::optional(std::move(pads)) : std::nullopt;
}

/// [C, M/group, taps] to [M, C/group, taps in the opposite order].
template <class T>
Tensor Flipped(const Tensor& weights, int64_t group, Allocator& memory) {
  Shape shape = weights.shape();
  const int64_t channels = shape[0] / group, outputs = shape[1], taps = shape.SizeOfRange(2, shape.rank());
  shape[0] = outputs * group;
  shape[1] = channels;
  Tensor flipped(weights.type(), shape, memory);
  const T* from = weights.data<T>();
  T* to = flipped.mutable_data<T>();
  for (int64_t m = 0; m < outputs * group; ++m) {
    for (int64_t c = 0; c < channels; ++c, to += taps) {
      const T* filter = from + ((m / outputs * channels + c) * outputs + m % outputs) * taps;
      std::reverse_copy(filter, filter + taps, to);
    }
  }
  return flipped;
}

class TransposedConvolving final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    const Node node = graph.node(index);
    if (!IsOp(node, "ConvTranspose") || !HasInput(node, 0)) return false;
    const Tensor* constant = ConstantInput(graph, node, 1);
    const SymbolicShape* image = ShapeOf(graph, node.inputs[0]);
    const auto attributes = ValidAttributes<ConvTransposeAttributes>(node);
    if (!attributes) return false;
    const int64_t group = attributes->group;
    if (constant == nullptr || image == nullptr || image->size() < 3 || constant->shape().rank() != image->size())
      return false;
    if (group == 1 && constant->shape()[1] < kFewestOutputs) return false;
    if (constant->num_elements() == 0 || constant->shape()[0] % group != 0 || VersionOf(graph, "Conv") == 0) return false;
    auto pads = PadsOf(*attributes, *image, constant->shape());
    // Padding times infinity would be NaN.
    if (!pads || !AllFinite(*constant)) return false;
    Allocator& memory = graph.limits().memory();
    const Tensor flipped = constant->is(ElementType::kFloat) ? Flipped<float>(*constant, group, memory)
                                                             : Flipped<double>(*constant, group, memory);
    Node conv = node;
    conv.op_type = "Conv";
    conv.since_version = VersionOf(graph, "Conv");
    conv.index = kNone;
    std::erase_if(conv.attributes,
                  [](const auto& attribute) { return attribute.name == "output_padding" || attribute.name == "auto_pad"; });
    SetAttribute(conv, "pads", std::move(*pads));
    graph.RemoveNode(index);
    conv.inputs[1] = graph.AddConstant("", flipped);
    graph.AddNode(std::move(conv), index);
    return true;
  }
};

}  // namespace

std::unique_ptr<Rewrite> ConvTransposeToConv() { return std::make_unique<TransposedConvolving>(); }

}  // namespace tessera
