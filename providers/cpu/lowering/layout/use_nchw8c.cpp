// use_nchw8c: convolutions, and what is between them, compute on images in NCHW8c, where a pixel's block
// is one vector; a residual and the activation after a convolution become its epilogue. Only where all of it is left
// to the CPU provider, which has the operators (ai.tessera), and after all other passes, which do not know them. Where a
// convolution's outputs do not fill the last block, as those of detectors' heads, zeros do, which stay behind on the way
// out of the layout.

#include <algorithm>
#include <array>
#include <cmath>

#include "base/load_limits.h"
#include "base/rounding.h"
#include "cpu/lowering/fuse/activation.h"
#include "cpu/lowering/layout/nchw8c_movement.h"
#include "cpu/lowering/layout/nchw8c_plan.h"
#include "cpu/lowering/lowering.h"
#include "graph/private_names.h"
#include "kernels/conv/choose/layout.h"
#include "ops/nn/conv.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/normalization/group_normalization.h"
#include "optimizer/analysis/bounds.h"
#include "optimizer/analysis/edit.h"

namespace tessera {
namespace {

class GraphBlocking {
 public:
  GraphBlocking(Graph& graph, Nchw8cPlan plan) : graph_(graph), plan_(std::move(plan)) {}

  size_t Run() {
    const std::vector<NodeIndex> order = graph_.TopologicalOrder();
    for (const NodeIndex index : order) {
      graph_.limits().Check();
      const auto role = plan_.roles.find(index);
      if (role != plan_.roles.end() && graph_.has_node(index)) Replace(index, role->second);
    }
    for (const auto& [plain, nchw8c] : made_) {
      const GraphValue& value = graph_.value(plain);
      if (value.consumers.empty() && !value.is_output) continue;
      Node node = Make("FromNchw8c", {nchw8c});
      SetAttribute(node, "channels", (*ShapeOf(graph_, plain))[1].value);
      node.outputs = {plain};
      graph_.AddNode(std::move(node), graph_.value(nchw8c).producer);
    }
    for (const auto& [plain, nchw8c] : entered_) EnterWhilePadding(plain, nchw8c);
    return plan_.roles.size();
  }

 private:
  /// Where only a convolution reads an image in NCHW8c and copies it once more, to pad it, the two copies become one.
  void EnterWhilePadding(ValueIndex plain, ValueIndex nchw8c) {
    if (!HasOneReader(graph_, nchw8c)) return;
    Node conv = graph_.node(graph_.value(nchw8c).consumers[0]);
    if (conv.op_type != kNchw8cConv || conv.domain != kTesseraDomain || conv.inputs[0] != nchw8c) return;
    const auto problem = cpu::DescribeValidConv(conv, *ShapeOf(graph_, plain), ConstantInput(graph_, conv, 1)->shape());
    if (!problem || !ReadsPaddedCopy(*problem)) return;
    const NodeIndex entry = graph_.value(nchw8c).producer, before = conv.index;
    conv.inputs[0] = plain;
    conv.index = kNone;
    SetAttribute(conv, "from_nchw", int64_t{1});
    graph_.RemoveNode(before);
    graph_.RemoveNode(entry);
    graph_.AddNode(std::move(conv), before);
  }

  static Node Make(std::string_view op_type, std::vector<ValueIndex> inputs) {
    Node node;
    node.domain = kTesseraDomain;
    node.op_type = op_type;
    node.since_version = 1;
    node.inputs = std::move(inputs);
    return node;
  }

  /// A value for `plain` in NCHW8c.
  ValueIndex Twin(ValueIndex plain) {
    SymbolicShape shape = *ShapeOf(graph_, plain);
    shape[1].value = CeilDiv(shape[1].value, kChannelBlock);
    shape.push_back({kChannelBlock});
    return graph_.AddValue(FreshName(plain), TypeInfo::OfTensor(ElementType::kFloat, shape));
  }

  std::string FreshName(ValueIndex plain) const {
    const std::string name = graph_.value(plain).name + "/nchw8c";
    return graph_.value(plain).name.empty() || graph_.FindValue(name) != kNone ? "" : name;
  }

  /// `plain` in NCHW8c, by a conversion where nobody computes it so.
  ValueIndex Nchw8c(ValueIndex plain, NodeIndex before) {
    if (const auto found = made_.find(plain); found != made_.end()) return found->second;
    if (const auto found = entered_.find(plain); found != entered_.end()) return found->second;
    // Out of the layout and back into it, where an earlier lowering ended.
    const Node* leaving = Producer(graph_, plain);
    if (leaving != nullptr && leaving->domain == kTesseraDomain && leaving->op_type == "FromNchw8c")
      return leaving->inputs[0];
    Node node = Make("ToNchw8c", {plain});
    const ValueIndex twin = Twin(plain);
    node.outputs = {twin};
    graph_.AddNode(std::move(node), before);
    entered_.emplace(plain, twin);
    return twin;
  }

  void Replace(NodeIndex index, Nchw8cRole role) {
    const Node old = graph_.node(index);
    if (role == Nchw8cRole::kMap && (FuseAdd(old) || FuseActivation(old))) return;
    Node node = role == Nchw8cRole::kMap || role == Nchw8cRole::kConcat ? old : Counterpart(old, role);
    node.name = old.name;
    const bool takes_own = role == Nchw8cRole::kScale || role == Nchw8cRole::kShift || role == Nchw8cRole::kShape;
    for (size_t i = 0; i < node.inputs.size() && !takes_own; ++i) {
      if (HasInput(old, i) && ReadsNchw8c(graph_, old, role, i)) node.inputs[i] = Nchw8c(old.inputs[i], old.index);
    }
    if (role == Nchw8cRole::kMap) ReshapeConstants(node);
    if (role == Nchw8cRole::kConcat) SetAttribute(node, "axis", int64_t{1});
    if (role == Nchw8cRole::kConv && HasSameImage(old.inputs[0], old.outputs[0]))
      same_image_.emplace(old.outputs[0], old.inputs[0]);
    Put(old, std::move(node), GivesNchw8c(role));
  }

  /// The NCHW8c node replaces `old`.
  void Put(const Node& old, Node node, bool gives_blocks) {
    graph_.RemoveNode(old.index);
    node.outputs = old.outputs;
    node.index = kNone;
    std::erase(node.outputs, kNone);
    for (ValueIndex& output : node.outputs) {
      if (gives_blocks) output = made_.emplace(output, Twin(output)).first->second;
    }
    graph_.AddNode(std::move(node), old.index);
  }

  /// The operator of ai.tessera for a node, which reads the same but for the layout.
  Node Counterpart(const Node& old, Nchw8cRole role) {
    Node node = old;
    node.domain = kTesseraDomain;
    node.since_version = 1;
    switch (role) {
      case Nchw8cRole::kNormalize: return Normalization(old);
      case Nchw8cRole::kScale:
      case Nchw8cRole::kShift:
        if (!SameShape(graph_, old.inputs[0], old.outputs[0])) std::swap(node.inputs[0], node.inputs[1]);
        node.inputs[0] = Nchw8c(node.inputs[0], old.index);
        return Make(role == Nchw8cRole::kScale ? "Nchw8cScale" : "Nchw8cShift", std::move(node.inputs));
      case Nchw8cRole::kMove: return Movement(old);
      case Nchw8cRole::kShape:
        node.inputs[0] = Nchw8c(Earlier(old.inputs[0]), old.index);
        SetAttribute(node, "channels", (*ShapeOf(graph_, old.inputs[0]))[1].value);
        break;
      case Nchw8cRole::kGroups: {
        const int64_t channels = (*ShapeOf(graph_, old.inputs[0]))[1].value;
        Node groups = Make("Nchw8cGroupNormalization", old.inputs);
        const GroupNormalizationAttributes attributes(old);
        SetAttribute(groups, "epsilon", attributes.epsilon);
        SetAttribute(groups, "num_groups", attributes.instances ? channels : attributes.num_groups);
        return groups;
      }
      case Nchw8cRole::kAverage: return Make("Nchw8cGlobalAveragePool", {old.inputs[0]});
      case Nchw8cRole::kFirstConv: SetAttribute(node, "plain_input", int64_t{1}); break;
      case Nchw8cRole::kConv:
        JoinGroups(node);
        FillLastBlock(node, 0);
        break;
      case Nchw8cRole::kTranspose: FillLastBlock(node, 1); break;
      default: break;
    }
    node.op_type = IsConv(old) ? std::string(kNchw8cConv) : "Nchw8c" + old.op_type;
    return node;
  }

  Node Movement(const Node& old) {
    Nchw8cMovement moved = *MovedInNchw8c(graph_, old, (*ShapeOf(graph_, old.inputs[0]))[1].value);
    for (auto& [input, constant] : moved.constants) moved.node.inputs[input] = graph_.AddConstant("", std::move(constant));
    if (moved.sizes) moved.node.inputs[*moved.sizes] = Nchw8cSizes(old.inputs[*moved.sizes], old);
    return std::move(moved.node);
  }

  /// [N, C, spatial...] to [N, C/8, spatial..., 8].
  ValueIndex Nchw8cSizes(ValueIndex sizes, const Node& reader) {
    const auto rank = static_cast<int64_t>(ShapeOf(graph_, reader.inputs[0])->size());
    std::vector<int64_t> divisors(static_cast<size_t>(rank), 1);
    divisors[1] = kChannelBlock;
    const auto value = [&](int64_t size) {
      return graph_.AddValue("", TypeInfo::OfTensor(ElementType::kInt64, SymbolicShape{{size}}));
    };
    const ValueIndex counts = value(rank), all = value(rank + 1);
    AddOperator(graph_, "Div", {sizes, AddIntegers(graph_, divisors)}, counts, reader.index);
    Node& joined =
        AddOperator(graph_, "Concat", {counts, AddIntegers(graph_, std::array{kChannelBlock})}, all, reader.index);
    SetAttribute(joined, "axis", int64_t{0});
    return all;
  }

  /// As many images of the same height, width and so on.
  bool HasSameImage(ValueIndex a, ValueIndex b) const {
    const SymbolicShape &of_a = *ShapeOf(graph_, a), &of_b = *ShapeOf(graph_, b);
    for (size_t i = 0; i < of_a.size(); ++i) {
      if (i != 1 && !SameDimension(of_a[i], of_b[i])) return false;
    }
    return of_a.size() == of_b.size();
  }

  /// What convolutions computed the image of: who asks for its shape would keep its convolution from taking in what
  /// follows.
  ValueIndex Earlier(ValueIndex image) const {
    const auto found = same_image_.find(image);
    return found == same_image_.end() || !made_.contains(found->second) ? image : Earlier(found->second);
  }

  /// Groups of less than a block become one, whose weights between them are zeros.
  void JoinGroups(Node& conv) {
    const Tensor weights = *ConstantInput(graph_, conv, 1);
    const Shape& shape = weights.shape();
    const int64_t group = GroupOf(conv), outputs = shape[0] / group, row = shape.SizeOfRange(1, shape.rank());
    const int64_t joined = shape[1] == 1 && outputs == 1 ? 1 : cpu::GroupsInBlock(shape[1], outputs, group);
    if (joined <= 1) return;
    Shape wide_shape = shape;
    wide_shape[1] *= joined;
    Tensor wide(ElementType::kFloat, wide_shape, graph_.limits().memory());
    float* to = wide.mutable_data<float>();
    std::fill_n(to, wide.num_elements(), 0.0f);
    for (int64_t m = 0; m < shape[0]; ++m, to += row * joined) {
      std::copy_n(weights.data<float>() + m * row, row, to + m / outputs % joined * row);
    }
    conv.inputs[1] = graph_.AddConstant("", std::move(wide));
    SetAttribute(conv, "group", group / joined);
  }

  /// Outputs of zero weights, along this axis of the weights, which FromNchw8c leaves out.
  void FillLastBlock(Node& conv, size_t axis) {
    const int64_t outputs = ConstantInput(graph_, conv, 1)->shape()[axis], whole = RoundUp(outputs, kChannelBlock);
    for (const size_t i : {size_t{1}, size_t{2}}) {
      if (whole == outputs || !HasInput(conv, i)) continue;
      conv.inputs[i] = graph_.AddConstant(
          "", PaddedAlong(*ConstantInput(graph_, conv, i), i == 1 ? axis : 0, whole, graph_.limits().memory()));
    }
  }

  /// (x - mean) / sqrt(var + epsilon) * scale + bias as a convolution of each channel by itself.
  Node Normalization(const Node& old) {
    const auto epsilon = static_cast<double>(BatchNormalizationAttributes(old).epsilon);
    const auto numbers = [&](size_t i) { return ConstantInput(graph_, old, i)->values<float>(); };
    const auto scale = numbers(1), bias = numbers(2), mean = numbers(3), variance = numbers(4);
    const auto channels = static_cast<int64_t>(scale.size());
    Shape one_pixel(ShapeOf(graph_, old.inputs[0])->size(), 1);
    one_pixel[0] = channels;
    Tensor scales(ElementType::kFloat, one_pixel), offsets(ElementType::kFloat, Shape{channels});
    for (size_t i = 0; i < scale.size(); ++i) {
      const double scale_of_channel = scale[i] / std::sqrt(variance[i] + epsilon);
      scales.mutable_data<float>()[i] = static_cast<float>(scale_of_channel);
      offsets.mutable_data<float>()[i] = static_cast<float>(bias[i] - mean[i] * scale_of_channel);
    }
    const ValueIndex weights = graph_.AddConstant("", std::move(scales)), sums = graph_.AddConstant("", std::move(offsets));
    Node node = Make(kNchw8cConv, {old.inputs[0], weights, sums});
    SetAttribute(node, "group", channels);
    return node;
  }

  /// [1, C, 1...] to [1, C/8, 1..., 8].
  void ReshapeConstants(Node& node) {
    const size_t rank = ShapeOf(graph_, node.outputs[0])->size();
    for (ValueIndex& input : node.inputs) {
      const Tensor* constant = input == kNone ? nullptr : graph_.constant(input);
      if (constant == nullptr || constant->num_elements() <= 1) continue;
      Shape nchw8c(rank + 1, 1);
      nchw8c[1] = constant->num_elements() / kChannelBlock;
      nchw8c[rank] = kChannelBlock;
      input = graph_.AddConstant("", constant->Reshaped(nchw8c));
    }
  }

  /// The convolution that computes `plain` in NCHW8c, when only `readers` read it and no activation is fused yet.
  const Node* FreeConv(ValueIndex plain, std::initializer_list<NodeIndex> readers) const {
    const auto found = made_.find(plain);
    if (found == made_.end()) return nullptr;
    const GraphValue& value = graph_.value(plain);
    const bool alone = value.consumers.size() == readers.size() &&
                       std::is_permutation(value.consumers.begin(), value.consumers.end(), readers.begin(), readers.end());
    if (value.is_output || !alone || !graph_.value(found->second).consumers.empty()) return nullptr;
    const Node& node = graph_.node(graph_.value(found->second).producer);
    const bool is_conv =
        (node.op_type == kNchw8cConv || node.op_type == kNchw8cConvTranspose) && node.domain == kTesseraDomain;
    return is_conv && !cpu::HasActivation(node) ? &node : nullptr;
  }

  /// The convolution that computes `plain` takes over what `old` computes.
  void ReplaceWith(const Node& old, ValueIndex plain, Node conv) {
    made_.erase(plain);
    graph_.RemoveNode(conv.index);
    Put(old, std::move(conv), true);
  }

  bool FuseAdd(const Node& old) {
    if (!IsOp(old, "Add") && !(IsOp(old, "Sum") && old.inputs.size() == 2)) return false;
    if (old.inputs[0] == old.inputs[1] || !SameShape(graph_, old.inputs[0], old.inputs[1])) return false;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const ValueIndex other = old.inputs[1 - i];
      if (graph_.constant(other) != nullptr) continue;
      const Node* found = FreeConv(old.inputs[i], {old.index});
      if (found == nullptr || HasInput(*found, 3)) continue;
      Node conv = *found;
      conv.inputs.resize(4, kNone);
      conv.inputs[3] = Nchw8c(other, old.index);
      ReplaceWith(old, old.inputs[i], std::move(conv));
      return true;
    }
    return false;
  }

  bool FuseActivation(const Node& old) {
    const Node* found = FreeConv(old.inputs[0], {old.index});
    const auto activation = ActivationOf(graph_, old);
    if (found != nullptr && activation) {
      Node conv = *found;
      cpu::SetActivation(conv, *activation);
      if (activation->kind == cpu::ActivationKind::kPRelu) SetSlopes(conv, *ConstantInput(graph_, old, 1));
      ReplaceWith(old, old.inputs[0], std::move(conv));
      return true;
    }
    return FuseSilu(old);
  }

  /// PRelu's, one for each channel.
  void SetSlopes(Node& conv, const Tensor& slopes) {
    Tensor each(ElementType::kFloat, Shape{(*ShapeOf(graph_, conv.outputs[0]))[1].value * kChannelBlock});
    for (int64_t i = 0; i < each.num_elements(); ++i)
      each.mutable_data<float>()[i] = slopes.data<float>()[slopes.num_elements() == 1 ? 0 : i];
    conv.inputs.resize(5, kNone);
    conv.inputs[4] = graph_.AddConstant("", std::move(each));
  }

  /// x * Sigmoid(x), where nobody else reads a convolution's x.
  bool FuseSilu(const Node& sigmoid) {
    const ValueIndex x = sigmoid.inputs[0], gate = sigmoid.outputs[0];
    if (!IsOp(sigmoid, "Sigmoid") || !HasOneReader(graph_, gate)) return false;
    const Node mul = graph_.node(graph_.value(gate).consumers[0]);
    const auto role = plan_.roles.find(mul.index);
    if (role == plan_.roles.end() || role->second != Nchw8cRole::kMap || !IsOp(mul, "Mul")) return false;
    if (mul.inputs[0] != x && mul.inputs[1] != x) return false;
    const Node* found = FreeConv(x, {sigmoid.index, mul.index});
    if (found == nullptr) return false;
    Node conv = *found;
    cpu::SetActivation(conv, {cpu::ActivationKind::kSilu});
    graph_.RemoveNode(sigmoid.index);
    ReplaceWith(mul, x, std::move(conv));
    return true;
  }

  Graph& graph_;
  Nchw8cPlan plan_;
  std::map<ValueIndex, ValueIndex> made_;        // computed in NCHW8c
  std::map<ValueIndex, ValueIndex> entered_;     // brought into blocks
  std::map<ValueIndex, ValueIndex> same_image_;  // of a convolution's output, the input that is as large
};

class ChannelBlocking final : public Rewrite {
 public:
  size_t Run(Graph& graph, RewriteContext& context) override {
    if (!ComputesInNchw8c(graph, context)) return 0;
    Nchw8cPlan plan = PlanBlocks(graph, context);
    return plan.roles.empty() ? 0 : GraphBlocking(graph, std::move(plan)).Run();
  }
};

}  // namespace

std::unique_ptr<Rewrite> UseNchw8c() { return std::make_unique<ChannelBlocking>(); }

}  // namespace tessera
