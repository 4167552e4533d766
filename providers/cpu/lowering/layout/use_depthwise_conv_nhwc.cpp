// use_depthwise_conv_nhwc: a depthwise convolution between tokens (pixels in NHWC) computes on
// them in place, where it is left to the CPU provider, which has the operator (ai.tessera). After the passes that fuse
// what follows into convolutions.

#include "cpu/lowering/lowering.h"
#include "graph/private_names.h"
#include "kernels/conv/depthwise/depthwise_nhwc.h"
#include "lowering/fused_kernels.h"
#include "ops/nn/conv.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/tokens.h"

namespace tessera {
namespace {

class DepthwiseConvNhwcTokens final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    if (!IsOp(graph.node(index), "Conv") || VersionOf(graph, "Reshape") < 5) return false;
    const Node conv = graph.node(index);
    if (!IsDepthwise(graph, conv)) return false;
    const ValueIndex pixels = PixelsBefore(graph, conv);
    const Node* end = TokensBehind(graph, conv);
    if (pixels == kNone || end == nullptr || !context.Lowers(graph.node(index))) return false;
    const SymbolicShape from = Nhwc(graph, conv.inputs[0]), to = Nhwc(graph, conv.outputs[0]);
    Node fused = conv;
    fused.domain = kTesseraDomain;
    fused.op_type = "DepthwiseConvNhwc";
    fused.since_version = 1;
    if (!MayFuse(graph, fused, context)) return false;
    const NodeIndex last = end->index;
    const ValueIndex planes = end->inputs[0];
    const SymbolicShape tokens = *ShapeOf(graph, end->outputs[0]);
    fused.inputs[0] = Shaped(graph, pixels, from, conv);
    fused.outputs = {graph.AddValue("", TypeInfo::OfTensor(ElementType::kFloat, to))};
    const ValueIndex image = fused.outputs[0];
    graph.AddNode(std::move(fused), index);
    if (!BypassNode(graph, last, Shaped(graph, image, tokens, conv))) return false;
    RemoveChain(graph, planes, pixels);
    return true;
  }

 private:
  static bool IsDepthwise(const Graph& graph, const Node& conv) {
    const Tensor* weights = ConstantInput(graph, conv, 1);
    if (!HasOneOutput(conv) || weights == nullptr || !weights->is(ElementType::kFloat) || weights->shape().rank() != 4)
      return false;
    const int64_t channels = weights->shape()[0];
    if (weights->shape()[1] != 1 || channels < cpu::kDepthwisePixelChannels || GroupOf(conv) != channels) return false;
    const auto known = [&](ValueIndex image) {
      const SymbolicShape* shape = ShapeOf(graph, image);
      return shape != nullptr && shape->size() == 4 && (*shape)[1].known() && (*shape)[2].known() && (*shape)[3].known();
    };
    return known(conv.inputs[0]) && known(conv.outputs[0]) && (*ShapeOf(graph, conv.inputs[0]))[1].value == channels;
  }

  static SymbolicShape Nhwc(const Graph& graph, ValueIndex image) {
    const SymbolicShape& shape = *ShapeOf(graph, image);
    return {shape[0], shape[2], shape[3], shape[1]};
  }

  /// What computes `value` from `source` and has no reader any more: dead nodes are removed before the last passes run.
  static void RemoveChain(Graph& graph, ValueIndex value, ValueIndex source) {
    while (value != source) {
      const NodeIndex producer = graph.value(value).producer;
      value = graph.node(producer).inputs[0];
      RemoveUnread(graph, producer);
    }
  }

  /// The same elements in this shape, of the same batch.
  static ValueIndex Shaped(Graph& graph, ValueIndex value, const SymbolicShape& shape, const Node& conv) {
    if (ShapeOf(graph, value)->size() == shape.size()) return value;
    std::vector<int64_t> sizes = {0};
    for (size_t i = 1; i < shape.size(); ++i) sizes.push_back(shape[i].value);
    const ValueIndex target = AddIntegers(graph, sizes);
    const ValueIndex result = graph.AddValue("", TypeInfo::OfTensor(ElementType::kFloat, shape));
    AddOperator(graph, "Reshape", {value, target}, result, conv.index).name = conv.name;
    return result;
  }
};

}  // namespace

std::unique_ptr<Rewrite> UseDepthwiseConvNhwc() { return std::make_unique<DepthwiseConvNhwcTokens>(); }

}  // namespace tessera
