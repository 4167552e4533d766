// recognize_group_normalization: channels in groups, normalized by an InstanceNormalization between two Reshapes, as
// PyTorch exports its GroupNorm, become GroupNormalization; the scale and the bias that follow go into it.

#include "ops/normalization/group_normalization.h"
#include "optimizer/analysis/added_nodes.h"
#include "optimizer/analysis/channels.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/scalar.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

constexpr int kGroupNormalizationVersion = 21;  // the first with a scale for each channel

class GroupRecognition final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    if (!IsOp(graph.node(index), "InstanceNormalization")) return false;
    const Node node = graph.node(index);
    if (!HasOneOutput(node) || node.inputs.size() != 3 || node.since_version < 6) return false;
    const Node *before = Producer(graph, node, 0), *after = OnlyReader(graph, node.outputs[0]);
    if (before == nullptr || !IsOp(*before, "Reshape") || !HasOneReader(graph, node.inputs[0])) return false;
    if (after == nullptr || !IsOp(*after, "Reshape") || after->inputs[0] != node.outputs[0]) return false;
    const ValueIndex x = before->inputs[0];
    const int64_t channels = Channels(graph, x), groups = Groups(graph, x, node.inputs[0]);
    if (groups <= 0 || channels % groups != 0 || !SameShape(graph, x, after->outputs[0])) return false;
    auto scale = ForChannels(graph, node, 1, groups, channels), bias = ForChannels(graph, node, 2, groups, channels);
    if (!scale || !bias) return false;
    std::vector<NodeIndex> gone = {before->index, index, after->index};
    if (const auto factors = Following(graph, "Mul", gone.back(), channels, gone)) {
      for (size_t c = 0; c < factors->size(); ++c) {
        (*scale)[c] *= (*factors)[c];
        (*bias)[c] *= (*factors)[c];
      }
    }
    if (const auto offsets = Following(graph, "Add", gone.back(), channels, gone)) {
      for (size_t c = 0; c < offsets->size(); ++c) (*bias)[c] += (*offsets)[c];
    }
    Node fused;
    fused.op_type = "GroupNormalization";
    fused.since_version = kGroupNormalizationVersion;
    fused.name = node.name;
    fused.inputs = {x, node.inputs[1], node.inputs[2]};
    fused.outputs = {graph.node(gone.back()).outputs[0]};
    SetAttribute(fused, "epsilon", GroupNormalizationAttributes(node).epsilon);
    SetAttribute(fused, "num_groups", groups);
    if (!MayAdd(graph, fused, context)) return false;
    fused.inputs[1] = graph.AddConstant("", FromDoubles(ElementType::kFloat, {channels}, *scale));
    fused.inputs[2] = graph.AddConstant("", FromDoubles(ElementType::kFloat, {channels}, *bias));
    for (const NodeIndex each : gone) graph.RemoveNode(each);
    graph.AddNode(std::move(fused), gone.back());
    return true;
  }

 private:
  /// Of a tensor of floats [N, C, ...]; 0 where they are not known.
  static int64_t Channels(const Graph& graph, ValueIndex x) {
    const SymbolicShape* shape = ShapeOf(graph, x);
    if (shape == nullptr || shape->size() < 3 || ElementOf(graph, x) != ElementType::kFloat) return 0;
    return (*shape)[1].known() ? (*shape)[1].value : 0;
  }

  /// The second dimension of `reshaped`, [N, groups, rest]; 0 where it is another.
  static int64_t Groups(const Graph& graph, ValueIndex x, ValueIndex reshaped) {
    const SymbolicShape *from = ShapeOf(graph, x), *to = ShapeOf(graph, reshaped);
    if (from == nullptr || to == nullptr || from->empty() || to->size() != 3) return 0;
    return SameDimension(from->front(), to->front()) && (*to)[1].known() ? (*to)[1].value : 0;
  }

  /// A constant with a number for each group, as one with a number for each channel.
  static std::optional<std::vector<double>> ForChannels(const Graph& graph, const Node& node, size_t input, int64_t groups,
                                                        int64_t channels) {
    const Tensor* constant = ConstantInput(graph, node, input);
    if (constant == nullptr || !constant->is(ElementType::kFloat) || constant->num_elements() != groups)
      return std::nullopt;
    const auto given = ToDoubles(*constant);
    if (!given) return std::nullopt;
    std::vector<double> each(static_cast<size_t>(channels));
    for (size_t c = 0; c < each.size(); ++c)
      each[c] = (*given)[c * static_cast<size_t>(groups) / static_cast<size_t>(channels)];
    return each;
  }

  /// The constant, a number for each channel, that the only reader of a node multiplies its result with or adds to it. That
  /// reader is then gone, too.
  static std::optional<std::vector<double>> Following(const Graph& graph, std::string_view op_type, NodeIndex last,
                                                      int64_t channels, std::vector<NodeIndex>& gone) {
    const ValueIndex value = graph.node(last).outputs[0];
    const Node* reader = OnlyReader(graph, value);
    if (reader == nullptr || !IsOp(*reader, op_type) || reader->inputs.size() != 2 || reader->since_version < 7)
      return std::nullopt;
    const Tensor* constant = ConstantInput(graph, *reader, reader->inputs[0] == value ? 1 : 0);
    if (constant == nullptr || !constant->is(ElementType::kFloat)) return std::nullopt;
    const auto each = PerChannel(*constant, {.channels = channels, .rank = ShapeOf(graph, value)->size()});
    if (!each) return std::nullopt;
    gone.push_back(reader->index);
    return ToDoubles(*each);
  }
};

}  // namespace

std::unique_ptr<Rewrite> RecognizeGroupNormalization() { return std::make_unique<GroupRecognition>(); }

}  // namespace tessera
