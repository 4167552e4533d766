#include "cpu/lowering/layout/nchw8c_plan.h"

#include <algorithm>
#include <cstring>

#include "base/load_limits.h"
#include "base/rounding.h"
#include "cpu/lowering/fuse/activation.h"
#include "cpu/lowering/layout/nchw8c_movement.h"
#include "graph/op_traits.h"
#include "graph/private_names.h"
#include "kernels/conv/choose/layout.h"
#include "lowering/fused_kernels.h"
#include "ops/movement/concat.h"
#include "ops/nn/conv.h"
#include "ops/nn/conv_transpose.h"
#include "ops/nn/pool.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/normalization/group_normalization.h"
#include "ops/reduction/reduce.h"
#include "ops/valid_attributes.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/regions.h"

namespace tessera {
namespace {

using cpu::ConvLayout;
using cpu::ConvProblem;

bool IsOneOf(const Node& node, std::initializer_list<std::string_view> names) {
  return node.domain.empty() && std::find(names.begin(), names.end(), node.op_type) != names.end();
}

/// Channels of an image of floats with one to three spatial axes, [N, C, ...]; 0 when it is another or they are not known.
int64_t Channels(const Graph& graph, ValueIndex index) {
  const SymbolicShape* shape = ShapeOf(graph, index);
  if (shape == nullptr || shape->size() < 3 || shape->size() > 5 || ElementOf(graph, index) != ElementType::kFloat)
    return 0;
  return (*shape)[1].known() ? (*shape)[1].value : 0;
}

bool Divides(const Graph& graph, ValueIndex index) {
  const int64_t channels = Channels(graph, index);
  return channels > 0 && channels % kChannelBlock == 0;
}

bool IsOnePixel(const Graph& graph, ValueIndex index) {
  const SymbolicShape& shape = *ShapeOf(graph, index);
  return std::all_of(shape.begin() + 2, shape.end(), [](const Dimension& size) { return size.known() && size.value == 1; });
}

size_t RankOf(const Graph& graph, ValueIndex index) { return ShapeOf(graph, index)->size(); }

bool IsScalar(const Tensor* tensor, size_t rank) {
  return tensor != nullptr && tensor->num_elements() == 1 && tensor->shape().rank() <= rank;
}

/// [1, C, 1...], of this rank, or the same without the first axis.
bool IsPerChannel(const Tensor* tensor, int64_t channels, size_t rank) {
  if (tensor == nullptr || !tensor->is(ElementType::kFloat) || tensor->num_elements() != channels) return false;
  const Shape& shape = tensor->shape();
  return shape.rank() + 1 >= rank && shape.rank() <= rank && shape[shape.rank() + 1 - rank] == channels;
}

class Planner {
 public:
  Planner(const Graph& graph, const RewriteContext& context) : graph_(graph), context_(context) {}

  Nchw8cPlan Run() {
    for (const NodeIndex index : graph_.TopologicalOrder()) {
      graph_.limits().Check();
      const Node& node = graph_.node(index);
      const auto role = RoleOf(node);
      if (!role) continue;
      plan_.roles.emplace(index, *role);
      if (GivesNchw8c(*role))
        std::ranges::copy_if(node.outputs, std::inserter(nchw8c_, nchw8c_.end()),
                             [](ValueIndex output) { return output != kNone; });
    }
    LeaveBeforeGrowing();
    DropCostlyRegions();
    return std::move(plan_);
  }

 private:
  bool IsNchw8c(const Node& node, size_t i) const { return HasInput(node, i) && nchw8c_.contains(node.inputs[i]); }

  std::optional<Nchw8cRole> RoleOf(const Node& node) const {
    if (!HasInput(node, 0) || !context_.Lowers(node)) return std::nullopt;
    if (IsConv(node)) return HasOneOutput(node) ? ConvRole(node) : std::nullopt;
    const OpTraits traits = TraitsOf(node);
    const bool is_map = traits.Has(OpTrait::kUnary) && traits.Has(OpTrait::kReal) && HasOneOutput(node);
    if (is_map && IsNchw8c(node, 0) && Divides(graph_, node.outputs[0])) return Nchw8cRole::kMap;
    if (!node.domain.empty()) return std::nullopt;
    if (Moves(node)) return Nchw8cRole::kMove;
    if (!HasOneOutput(node)) return std::nullopt;
    if (node.op_type == "ConvTranspose") return TransposedRole(node);
    if (node.op_type == "Concat") return ConcatRole(node);
    if (IsElementwise(node)) return ElementwiseRole(node);
    if (node.op_type == "Shape" && IsNchw8c(node, 0)) return Nchw8cRole::kShape;
    if (!IsNchw8c(node, 0) || !Divides(graph_, node.inputs[0])) return std::nullopt;
    if (IsOneOf(node, {"GlobalAveragePool"}) || AveragesImage(node)) return Nchw8cRole::kAverage;
    if (!Divides(graph_, node.outputs[0])) return std::nullopt;
    if (HasSlopes(node)) return Nchw8cRole::kMap;
    if (node.op_type == "MaxPool") return Nchw8cRole::kPool;
    if (node.op_type == "AveragePool" && AveragesInNchw8c(node)) return Nchw8cRole::kPool;
    if (node.op_type == "BatchNormalization" && Normalizes(node)) return Nchw8cRole::kNormalize;
    if (FillsBlocksByGroups(node)) return Nchw8cRole::kGroups;
    return std::nullopt;
  }

  /// Nchw8cAveragePool counts padding, or windows that reach beyond it, not both.
  static bool AveragesInNchw8c(const Node& node) {
    const auto pool = ValidAttributes<PoolAttributes>(node);
    return pool && !(pool->count_include_pad && pool->window.ceil_mode());
  }

  std::optional<Nchw8cRole> ConvRole(const Node& node) const {
    const Tensor* weights = ConstantInput(graph_, node, 1);
    if (weights == nullptr || !weights->is(ElementType::kFloat)) return std::nullopt;
    const Shape& shape = weights->shape();
    const int64_t group = GroupOf(node);
    const int64_t channels = Channels(graph_, node.inputs[0]);
    if (channels == 0 || shape.rank() != RankOf(graph_, node.inputs[0])) return std::nullopt;
    if (group <= 0 || shape[0] <= 0 || shape[1] <= 0 || channels % group != 0 || channels / group != shape[1] ||
        shape[0] % group != 0)
      return std::nullopt;
    if (Channels(graph_, node.outputs[0]) != shape[0]) return std::nullopt;
    if (HasInput(node, 2) && ElementOf(graph_, node.inputs[2]) != ElementType::kFloat) return std::nullopt;
    if (!IsNchw8c(node, 0) && IsOnePixel(graph_, node.inputs[0])) return std::nullopt;
    const auto conv = Describe(node, shape);
    if (!conv || (!Divides(graph_, node.outputs[0]) && !MayPad(node, shape[0]))) return std::nullopt;
    switch (ChooseFloatLayout(*conv)) {
      case ConvLayout::kNchw8c: return Nchw8cRole::kConv;
      case ConvLayout::kNchw8cFromPlanes: return Nchw8cRole::kFirstConv;
      default: return std::nullopt;
    }
  }

  /// With its sizes as far as they are known.
  std::optional<ConvProblem> Describe(const Node& conv, const Shape& weights) const {
    if (conv.op_type == "ConvTranspose") return DescribeTransposed(conv, weights);
    return cpu::DescribeValidConv(conv, *ShapeOf(graph_, conv.inputs[0]), weights, ShapeOf(graph_, conv.outputs[0]));
  }

  std::optional<ConvProblem> DescribeTransposed(const Node& conv, const Shape& weights) const {
    constexpr int64_t kAnySize = int64_t{1} << 20;
    const auto attributes = ValidAttributes<ConvTransposeAttributes>(conv);
    const SymbolicShape &image = *ShapeOf(graph_, conv.inputs[0]), &result = *ShapeOf(graph_, conv.outputs[0]);
    if (!attributes || image.size() < 4) return std::nullopt;
    Shape sizes(image.size() - 2);
    for (size_t i = 0; i < sizes.rank(); ++i) {
      if (!image[i + 2].known() && attributes->output_shape.rank() > 0) return std::nullopt;  // pads follow from both
      sizes[i] = image[i + 2].known() ? image[i + 2].value : kAnySize;
    }
    ConvProblem problem{.transposed = true,
                        .batch = std::max<int64_t>(image[0].value, 0),
                        .channels = weights[0],
                        .outputs = weights[1],
                        .window = attributes->FitImage(sizes.dims(), weights.dims().subspan(2))};
    for (size_t i = 0; i < sizes.rank(); ++i) {
      problem.window.input[i] = std::max<int64_t>(image[i + 2].value, 0);
      problem.window.output[i] = std::max<int64_t>(result[i + 2].value, 0);
    }
    return problem.possible() ? std::optional(std::move(problem)) : std::nullopt;
  }

  std::optional<Nchw8cRole> TransposedRole(const Node& node) const {
    const Tensor* weights = ConstantInput(graph_, node, 1);
    const int64_t channels = Channels(graph_, node.inputs[0]);
    if (weights == nullptr || !weights->is(ElementType::kFloat) || channels == 0 || channels % kChannelBlock != 0)
      return std::nullopt;
    const Shape& shape = weights->shape();
    if (shape.rank() != RankOf(graph_, node.inputs[0]) || shape[0] != channels || GroupOf(node) != 1) return std::nullopt;
    if (weights->num_elements() == 0 || Channels(graph_, node.outputs[0]) != shape[1]) return std::nullopt;
    if (HasInput(node, 2) && ElementOf(graph_, node.inputs[2]) != ElementType::kFloat) return std::nullopt;
    if (!IsNchw8c(node, 0) && IsOnePixel(graph_, node.inputs[0])) return std::nullopt;
    if (!Divides(graph_, node.outputs[0]) && !MayPad(node, shape[1])) return std::nullopt;
    const auto conv = Describe(node, shape);
    return conv && ChooseFloatLayout(*conv) == ConvLayout::kNchw8c ? std::optional(Nchw8cRole::kTranspose) : std::nullopt;
  }

  /// Outputs of zero weights may fill the last block: the bias gets zeros, too.
  bool MayPad(const Node& node, int64_t outputs) const {
    const Tensor* bias = ConstantInput(graph_, node, 2);
    return !HasInput(node, 2) || (bias != nullptr && bias->shape() == Shape{outputs});
  }

  std::optional<Nchw8cRole> ConcatRole(const Node& node) const {
    const int64_t axis = ConcatAttributes(node).axis;
    bool any = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!HasInput(node, i) || !Divides(graph_, node.inputs[i])) return std::nullopt;
      any = any || IsNchw8c(node, i);
    }
    const int64_t from_end = 1 - static_cast<int64_t>(RankOf(graph_, node.inputs[0]));
    if (!any || (axis != 1 && axis != from_end) || !Divides(graph_, node.outputs[0])) return std::nullopt;
    return Nchw8cRole::kConcat;
  }

  /// Resize, Pad, Split and so on, whose parts are whole blocks.
  bool Moves(const Node& node) const {
    const auto divides = [&](ValueIndex output) { return output != kNone && Divides(graph_, output); };
    return IsNchw8c(node, 0) && Divides(graph_, node.inputs[0]) && std::ranges::all_of(node.outputs, divides) &&
           MovedInNchw8c(graph_, node, Channels(graph_, node.inputs[0]));
  }

  std::optional<Nchw8cRole> ElementwiseRole(const Node& node) const {
    const int64_t channels = Channels(graph_, node.outputs[0]);
    if (!Has(node, OpTrait::kBroadcasts) || !Divides(graph_, node.outputs[0])) return std::nullopt;
    const size_t rank = RankOf(graph_, node.outputs[0]);
    std::optional<ValueIndex> image, other;  // one that is in NCHW8c, and what is neither like it nor a constant for it
    const auto is_image = [&](size_t i) { return IsNchw8c(node, i) && Channels(graph_, node.inputs[i]) == channels; };
    for (size_t i = 0; i < node.inputs.size() && !image; ++i) {
      if (is_image(i) && !(IsOnePixel(graph_, node.inputs[i]) && !IsOnePixel(graph_, node.outputs[0])))
        image = node.inputs[i];
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!image || !HasInput(node, i)) return std::nullopt;
      const Tensor* constant = graph_.constant(node.inputs[i]);
      if (IsScalar(constant, rank) || IsPerChannel(constant, channels, rank)) continue;
      if (is_image(i) && SameShape(graph_, node.inputs[i], *image)) continue;
      if (other) return std::nullopt;
      other = node.inputs[i];
    }
    if (!image) return std::nullopt;
    if (!other) return Nchw8cRole::kMap;
    return node.inputs.size() == 2 ? RoleWith(node, *image, *other) : std::nullopt;
  }

  /// Of an Add or a Mul of an image in NCHW8c and of what is not.
  std::optional<Nchw8cRole> RoleWith(const Node& node, ValueIndex image, ValueIndex other) const {
    const bool adds = node.op_type == "Add";
    if ((!adds && node.op_type != "Mul") || graph_.constant(other) != nullptr) return std::nullopt;
    if (Channels(graph_, other) != Channels(graph_, image)) return std::nullopt;
    if (adds && SameShape(graph_, other, image)) return Nchw8cRole::kMap;
    if (!SameShape(graph_, image, node.outputs[0]) || IsOnePixel(graph_, image)) return std::nullopt;
    if (!IsOnePixel(graph_, other) || !SameBatch(other, image)) return std::nullopt;
    return adds ? Nchw8cRole::kShift : Nchw8cRole::kScale;
  }

  bool SameBatch(ValueIndex a, ValueIndex b) const {
    return SameDimension(ShapeOf(graph_, a)->front(), ShapeOf(graph_, b)->front());
  }

  bool AveragesImage(const Node& node) const {
    if (!IsOp(node, "ReduceMean") || !ReduceAttributes(node).keepdims) return false;
    auto axes = AxesOf(graph_, node);
    const auto rank = static_cast<int64_t>(RankOf(graph_, node.inputs[0]));
    if (!axes || static_cast<int64_t>(axes->size()) != rank - 2) return false;
    for (int64_t& axis : *axes) axis += axis < 0 ? rank : 0;
    std::sort(axes->begin(), axes->end());
    for (int64_t i = 2; i < rank; ++i) {
      if ((*axes)[static_cast<size_t>(i - 2)] != i) return false;
    }
    return true;
  }

  /// PRelu with one slope, or one for each channel.
  bool HasSlopes(const Node& node) const {
    const Tensor* slopes = node.op_type == "PRelu" && node.since_version >= 7 ? ConstantInput(graph_, node, 1) : nullptr;
    const size_t rank = RankOf(graph_, node.inputs[0]);
    return IsScalar(slopes, rank) || IsPerChannel(slopes, Channels(graph_, node.inputs[0]), rank);
  }

  /// The channels of a group fill blocks, or divide one.
  bool FillsBlocksByGroups(const Node& node) const {
    const bool instances = node.op_type == "InstanceNormalization" && node.since_version >= 6;
    if (!instances && (node.op_type != "GroupNormalization" || node.since_version < 21)) return false;
    for (const size_t i : {size_t{1}, size_t{2}}) {
      if (!HasInput(node, i) || ElementOf(graph_, node.inputs[i]) != ElementType::kFloat) return false;
    }
    const auto attributes = ValidAttributes<GroupNormalizationAttributes>(node);
    if (!attributes) return false;
    const int64_t channels = Channels(graph_, node.outputs[0]), groups = instances ? channels : attributes->num_groups;
    if (channels % groups != 0) return false;
    const int64_t each = channels / groups;
    return each % kChannelBlock == 0 || kChannelBlock % each == 0;
  }

  bool Normalizes(const Node& node) const {
    if (node.since_version < 9 || BatchNormalizationAttributes(node).training || node.inputs.size() != 5) return false;
    for (size_t i = 1; i < 5; ++i) {
      const Tensor* constant = ConstantInput(graph_, node, i);
      if (constant == nullptr || !constant->is(ElementType::kFloat) || constant->shape().rank() != 1) return false;
      if (constant->num_elements() != Channels(graph_, node.outputs[0])) return false;
    }
    return true;
  }

  /// What NCHW8c saves a convolution, in elements that are moved at no loss.
  double Gain(const Node& conv, Nchw8cRole role) const {
    const bool from_planes = role == Nchw8cRole::kFirstConv;
    return Nchw8cGain(*Describe(conv, ConstantInput(graph_, conv, 1)->shape()),
                      from_planes ? ConvLayout::kNchw8cFromPlanes : ConvLayout::kNchw8c);
  }

  /// A depthwise convolution alone: Conv brings an image into blocks one by one, and out of them while they are in the
  /// caches.
  bool MovesByItself(const Node& node, Nchw8cRole role) const {
    return role == Nchw8cRole::kConv && ConvertsInKernel(*Describe(node, ConstantInput(graph_, node, 1)->shape()));
  }

  /// Any of the node's NCHW8c values.
  static ValueIndex Nchw8cValueOf(const Node& node, Nchw8cRole role) {
    return GivesNchw8c(role) ? node.outputs[0] : node.inputs[0];
  }

  /// Nodes whose results nobody reads in NCHW8c compute on planes where the conversion to NCHW is no longer before them.
  /// Each may have been the only one that read another's.
  void LeaveBeforeGrowing() {
    const std::vector<NodeIndex> order = graph_.TopologicalOrder();
    for (auto index = order.rbegin(); index != order.rend(); ++index) {
      const auto role = plan_.roles.find(*index);
      if (role == plan_.roles.end()) continue;
      const Node& node = graph_.node(*index);
      const bool enters = role->second == Nchw8cRole::kMap && EntersBlocks(node);
      const bool grows =
          role->second == Nchw8cRole::kMove && Elements(node.outputs) >= KnownElements(graph_, node.inputs[0]);
      if ((!enters && !grows) ||
          std::ranges::any_of(node.outputs, [&](ValueIndex output) { return IsReadInNchw8c(output); }))
        continue;
      plan_.roles.erase(role);
      for (const ValueIndex output : node.outputs) nchw8c_.erase(output);
    }
  }

  double Elements(std::span<const ValueIndex> values) const {
    double sum = 0;
    for (const ValueIndex value : values) sum += KnownElements(graph_, value);
    return sum;
  }

  /// An image goes into blocks for this node.
  bool EntersBlocks(const Node& node) const {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (HasInput(node, i) && !IsNchw8c(node, i) && ReadsNchw8c(graph_, node, Nchw8cRole::kMap, i)) return true;
    }
    return false;
  }

  bool IsReadInNchw8c(ValueIndex value) const {
    return value != kNone && std::ranges::any_of(graph_.value(value).consumers,
                                                 [&](NodeIndex reader) { return ReadsInNchw8c(reader, value, false); });
  }

  /// Whether the node has a role in which some of its inputs, or all, that are `value` are NCHW8c.
  bool ReadsInNchw8c(NodeIndex reader, ValueIndex value, bool all) const {
    constexpr size_t kWide = 64;  // inputs: more are not looked through for each of them
    const auto role = plan_.roles.find(reader);
    if (role == plan_.roles.end()) return false;
    const Node& node = graph_.node(reader);
    if (node.inputs.size() > kWide) {
      const auto [read, first] = wide_reads_.try_emplace(reader);
      for (size_t i = 0; first && i < node.inputs.size(); ++i) {
        auto& [some, every] = read->second.try_emplace(node.inputs[i], false, true).first->second;
        const bool nchw8c = ReadsNchw8c(graph_, node, role->second, i);
        some |= nchw8c;
        every &= nchw8c;
      }
      const auto found = read->second.find(value);
      return found == read->second.end() ? all : all ? found->second.second : found->second.first;
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == value && ReadsNchw8c(graph_, node, role->second, i) != all) return !all;
    }
    return all;
  }

  void DropCostlyRegions() {
    for (const auto& [index, role] : plan_.roles) {
      const Node& node = graph_.node(index);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (IsNchw8c(node, i)) regions_.Join(node.inputs[i], Nchw8cValueOf(node, role));
      }
      for (size_t i = 1; i < node.outputs.size() && role == Nchw8cRole::kMove; ++i) {
        regions_.Join(node.outputs[i], node.outputs[0]);
      }
    }
    std::map<ValueIndex, double> gains;  // by region
    std::map<ValueIndex, size_t> sizes;
    std::set<std::pair<ValueIndex, ValueIndex>> entries;
    for (const auto& [index, role] : plan_.roles) {
      const Node& node = graph_.node(index);
      const ValueIndex region = regions_.Of(Nchw8cValueOf(node, role));
      ++sizes[region];
      if (role == Nchw8cRole::kConv || role == Nchw8cRole::kFirstConv || role == Nchw8cRole::kTranspose) {
        gains[region] += Gain(node, role);
      }
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (HasInput(node, i) && !IsNchw8c(node, i) && ReadsNchw8c(graph_, node, role, i))
          entries.emplace(region, node.inputs[i]);
      }
    }
    for (const auto& [region, value] : entries) gains[region] -= cpu::ElementsPerMove() * KnownElements(graph_, value);
    for (const ValueIndex value : nchw8c_) {
      if (LeavesBlocks(value)) gains[regions_.Of(value)] -= cpu::ElementsPerMove() * KnownElements(graph_, value);
    }
    std::erase_if(plan_.roles, [&](const auto& entry) {
      const Node& node = graph_.node(entry.first);
      const ValueIndex region = regions_.Of(Nchw8cValueOf(node, entry.second));
      return gains[region] <= 0 || (sizes[region] == 1 && MovesByItself(node, entry.second));
    });
  }

  /// Somebody reads the value as it was.
  bool LeavesBlocks(ValueIndex index) const {
    const GraphValue& value = graph_.value(index);
    return value.is_output ||
           std::ranges::any_of(value.consumers, [&](NodeIndex reader) { return !ReadsInNchw8c(reader, index, true); });
  }

  const Graph& graph_;
  const RewriteContext& context_;
  Nchw8cPlan plan_;
  std::set<ValueIndex> nchw8c_;
  Regions regions_;
  /// By node with many inputs: whether it reads a value in NCHW8c by some of them, and by all.
  mutable std::map<NodeIndex, std::map<ValueIndex, std::pair<bool, bool>>> wide_reads_;
};

}  // namespace

bool IsElementwise(const Node& node) { return IsOneOf(node, {"Add", "Sub", "Mul", "Div", "Sum", "Max", "Min", "Mean"}); }

bool ReadsNchw8c(const Graph& graph, const Node& node, Nchw8cRole role, size_t input) {
  switch (role) {
    case Nchw8cRole::kFirstConv: return false;
    case Nchw8cRole::kConcat: return true;
    case Nchw8cRole::kMap: return IsElementwise(node) ? graph.constant(node.inputs[input]) == nullptr : input == 0;
    case Nchw8cRole::kScale:
    case Nchw8cRole::kShift: return SameShape(graph, node.inputs[input], node.outputs[0]);
    default: return input == 0;
  }
}

Tensor PaddedAlong(const Tensor& tensor, size_t axis, int64_t size, Allocator& memory) {
  Shape shape = tensor.shape();
  const int64_t rows = shape.SizeOfRange(0, axis), inner = shape.SizeOfRange(axis + 1, shape.rank());
  const auto from_row = static_cast<size_t>(shape[axis] * inner), to_row = static_cast<size_t>(size * inner);
  shape[axis] = size;
  Tensor result(ElementType::kFloat, shape, memory);
  const float* from = tensor.unaligned_data<float>();
  float* to = result.mutable_data<float>();
  for (int64_t i = 0; i < rows; ++i, from += from_row, to += to_row) {
    std::memcpy(to, from, from_row * sizeof(float));
    std::fill(to + from_row, to + to_row, 0.0f);
  }
  return result;
}

bool ComputesInNchw8c(const Graph& graph, const RewriteContext& context) {
  Node conv;
  conv.domain = kTesseraDomain;
  conv.op_type = kNchw8cConv;
  conv.since_version = 1;
  return MayFuse(graph, conv, context);
}

Nchw8cPlan PlanBlocks(const Graph& graph, const RewriteContext& context) { return Planner(graph, context).Run(); }

}  // namespace tessera
