// pad_channels: values between convolutions whose channels do not fill whole blocks get channels of zero weights, which the
// next convolutions ignore: the 230 of R(2+1)D become 232. Only where use_nchw8c follows, which asks for whole blocks.

#include <algorithm>

#include "base/load_limits.h"
#include "base/rounding.h"
#include "cpu/lowering/fuse/activation.h"
#include "cpu/lowering/layout/nchw8c_plan.h"
#include "cpu/lowering/lowering.h"
#include "graph/op_traits.h"
#include "kernels/conv/choose/layout.h"
#include "ops/nn/conv.h"
#include "optimizer/analysis/edit.h"

namespace tessera {
namespace {

constexpr size_t kMostValues = 64;  // that are looked at after a convolution

/// What is between a convolution and those that read it.
struct PaddedValues {
  std::vector<ValueIndex> values;
  std::vector<NodeIndex> readers;  // convolutions
};

class ChannelPadding final : public NodeRewrite {
 public:
  size_t Run(Graph& graph, RewriteContext& context) override {
    return ComputesInNchw8c(graph, context) ? NodeRewrite::Run(graph, context) : 0;
  }

 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    if (!IsPlainConv(graph, graph.node(index))) return false;
    const Node conv = graph.node(index);
    const Tensor* bias = ConstantInput(graph, conv, 2);
    const int64_t channels = ConstantInput(graph, conv, 1)->shape()[0], padded = RoundUp(channels, kChannelBlock);
    if (padded == channels || !cpu::MayAddChannels(channels) || !context.Lowers(graph.node(index))) return false;
    if (HasInput(conv, 2) && (bias == nullptr || !bias->is(ElementType::kFloat) || bias->num_elements() != channels))
      return false;
    PaddedValues between;
    if (!Follow(graph, conv.outputs[0], channels, between, context) || between.readers.empty()) return false;
    for (const ValueIndex value : between.values) (*graph.value(value).type.shape)[1].value = padded;
    const auto replace = [&](NodeIndex node, size_t i, size_t axis) {
      graph.SetInput(node, i,
                     graph.AddConstant("", PaddedAlong(*ConstantInput(graph, graph.node(node), i), axis, padded,
                                                       graph.limits().memory())));
    };
    replace(index, 1, 0);
    if (bias != nullptr) replace(index, 2, 0);
    for (const NodeIndex reader : between.readers) replace(reader, 1, 1);
    return true;
  }

 private:
  /// One group, constant weights of floats.
  static bool IsPlainConv(const Graph& graph, const Node& node) {
    if (!IsConv(node) || !HasOneOutput(node) || GroupOf(node) != 1) return false;
    const Tensor* weights = ConstantInput(graph, node, 1);
    return weights != nullptr && weights->is(ElementType::kFloat) && weights->shape().rank() >= 4 &&
           weights->num_elements() > 0;
  }

  /// Whether all who read the value process each channel by itself, or are convolutions.
  bool Follow(const Graph& graph, ValueIndex value, int64_t channels, PaddedValues& between, RewriteContext& context) {
    const GraphValue& held = graph.value(value);
    const SymbolicShape* shape = ShapeOf(graph, value);
    if (held.is_output || between.values.size() >= kMostValues) return false;
    if (shape == nullptr || shape->size() < 4 || (*shape)[1].value != channels) return false;
    between.values.push_back(value);
    return std::ranges::all_of(held.consumers, [&](NodeIndex index) {
      const Node& node = graph.node(index);
      if (!graph.ReadsOnce(index, value) || node.inputs[0] != value || !context.Lowers(graph.node(index))) return false;
      if (IsPlainConv(graph, node)) {
        between.readers.push_back(index);
        return ConstantInput(graph, node, 1)->shape()[1] == channels;
      }
      return IsPerChannel(node) && Follow(graph, node.outputs[0], channels, between, context);
    });
  }

  /// Its results for zeros are finite.
  static bool IsPerChannel(const Node& node) {
    return HasOneOutput(node) && (Has(node, OpTrait::kFiniteAtZero) || IsOp(node, "MaxPool") || IsOp(node, "AveragePool"));
  }
};

}  // namespace

std::unique_ptr<Rewrite> PadChannels() { return std::make_unique<ChannelPadding>(); }

}  // namespace tessera
