#include "optimizer/analysis/permuted_node.h"

#include <algorithm>
#include <numeric>

#include "graph/op_traits.h"
#include "ops/movement/concat.h"
#include "ops/movement/slice.h"
#include "ops/movement/split.h"
#include "ops/normalization/softmax.h"
#include "ops/quantization/quantize_linear.h"
#include "ops/reduction/arg_max.h"
#include "ops/reduction/reduce.h"
#include "ops/valid_attributes.h"

namespace tessera {
namespace {

/// Rewrites one node. Each operator's function is false where the node cannot be permuted.
class Permuting {
 public:
  Permuting(const Graph& graph, const Node& node, const Permutation& perm)
      : graph_(graph), node_(node), perm_(perm), result_{.node = node, .data = {0}, .integers = {}} {}

  std::optional<PermutedNode> Run() {
    if (!HasInput(node_, 0) || !OfOperator()) return std::nullopt;
    for (const size_t i : result_.data) {
      const bool broadcasts = graph_.constant(node_.inputs[i]) != nullptr && Has(node_, OpTrait::kBroadcasts);
      if (!broadcasts && !HasRank(node_.inputs[i])) return std::nullopt;
    }
    const auto has_rank = [&](ValueIndex output) { return output == kNone || HasRank(output); };
    if (result_.outputs_follow && !std::all_of(node_.outputs.begin(), node_.outputs.end(), has_rank)) return std::nullopt;
    return std::move(result_);
  }

 private:
  bool OfOperator() {
    const std::string& op = node_.op_type;
    const OpTraits traits = TraitsOf(graph_, node_);
    if (traits.Has(OpTrait::kUnary)) return true;
    if (!node_.domain.empty()) return false;
    if (traits.Has(OpTrait::kBroadcasts)) return Broadcast();
    if (op == "Concat") {
      result_.data.resize(node_.inputs.size());
      std::iota(result_.data.begin(), result_.data.end(), 0);
      return Axis(ConcatAttributes(node_).axis);
    }
    if (op == "Split") {
      const auto attributes = ValidAttributes<SplitAttributes>(node_);
      return attributes && Axis(attributes->axis);
    }
    if (op == "Softmax" || op == "LogSoftmax" || op == "Hardmax") {
      const SoftmaxAttributes attributes(node_);
      return !attributes.flattens && Axis(attributes.axis);
    }
    if (op == "QuantizeLinear" || op == "DequantizeLinear") return Quantization();
    if (op == "Slice") return Slice();
    if (op == "Pad") return Pad();
    if (op == "Squeeze") return Axes(1, true) && Drops();
    if (traits.Has(OpTrait::kReduces)) return Axes(1, false) && (ReduceAttributes(node_).keepdims || Drops());
    if (op != "ArgMax" && op != "ArgMin") return false;
    const ArgMaxAttributes attributes(node_);
    axes_ = {attributes.axis};
    return Axis(attributes.axis) && (attributes.keepdims || Drops());
  }

  bool HasRank(ValueIndex value) const {
    const SymbolicShape* shape = ShapeOf(graph_, value);
    return shape != nullptr && shape->size() == perm_.size();
  }

  bool Broadcast() {
    result_.data.clear();
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      const SymbolicShape* shape = HasInput(node_, i) ? ShapeOf(graph_, node_.inputs[i]) : nullptr;
      if (shape == nullptr || shape->size() > perm_.size()) return false;
      const bool is_one = std::all_of(shape->begin(), shape->end(), [](const Dimension& dim) { return dim.value == 1; });
      if (shape->size() < perm_.size() && !is_one && graph_.constant(node_.inputs[i]) == nullptr) return false;
      if (!is_one || shape->size() == perm_.size()) result_.data.push_back(i);
    }
    return !result_.data.empty();
  }

  /// Where a dimension of the old order stands in the new one.
  std::optional<int64_t> Moved(int64_t axis) const {
    const auto rank = static_cast<int64_t>(perm_.size());
    if (axis < -rank || axis >= rank) return std::nullopt;
    return perm_[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
  }

  std::optional<std::vector<int64_t>> Moved(std::vector<int64_t> axes) const {
    for (int64_t& axis : axes) {
      const auto moved = Moved(axis);
      if (!moved) return std::nullopt;
      axis = *moved;
    }
    return axes;
  }

  bool Axis(int64_t axis) {
    const auto moved = Moved(axis);
    if (moved) SetAttribute(result_.node, "axis", *moved);
    return moved.has_value();
  }

  /// Axes in an input or in the attribute that it was before.
  bool Axes(size_t input, bool required) {
    const bool given = HasInput(node_, input) || node_.FindAttribute("axes") != nullptr;
    if (!given) {
      axes_.resize(perm_.size());
      std::iota(axes_.begin(), axes_.end(), 0);
      return !required && !ReduceAttributes(node_).noop_with_empty_axes;
    }
    const auto axes = AxesOf(graph_, node_, input);
    const auto moved = axes && !axes->empty() ? Moved(*axes) : std::nullopt;
    if (!moved || (HasInput(node_, input) && ElementOf(graph_, node_.inputs[input]) != ElementType::kInt64)) return false;
    axes_ = *axes;
    SetIntegers(input, "axes", *moved);
    return true;
  }

  void SetIntegers(size_t input, std::string_view attribute, std::vector<int64_t> values) {
    if (HasInput(node_, input)) {
      result_.integers.emplace_back(input, std::move(values));
    } else {
      SetAttribute(result_.node, attribute, std::move(values));
    }
  }

  /// The output lacks axes_; what is left must stand in the same order.
  bool Drops() {
    std::vector<bool> dropped(perm_.size(), false);
    for (const int64_t axis : axes_) {
      const auto at = axis < 0 ? axis + static_cast<int64_t>(perm_.size()) : axis;
      if (at < 0 || at >= static_cast<int64_t>(perm_.size())) return false;
      dropped[static_cast<size_t>(at)] = true;
    }
    Permutation rest;
    for (size_t i = 0; i < perm_.size(); ++i) {
      if (!dropped[i]) rest.push_back(perm_[i]);
    }
    result_.outputs_follow = false;
    return std::is_sorted(rest.begin(), rest.end());
  }

  bool Quantization() {
    const SymbolicShape* scale = HasInput(node_, 1) ? ShapeOf(graph_, node_.inputs[1]) : nullptr;
    const auto attributes = ValidAttributes<QuantizeLinearAttributes>(node_);
    if (scale == nullptr || scale->size() > 1 || !attributes || attributes->block_size != 0) return false;
    return scale->empty() || scale->front().value == 1 || (node_.since_version >= 13 && Axis(attributes->axis));
  }

  bool Slice() {
    const SliceAttributes attributes(node_);
    if (HasInput(node_, 3) || !attributes.axes.empty()) return Axes(3, true);
    size_t count = attributes.starts.size();
    if (!attributes.from_attributes) {
      const SymbolicShape* starts = HasInput(node_, 1) ? ShapeOf(graph_, node_.inputs[1]) : nullptr;
      if (starts == nullptr || starts->size() != 1 || !starts->front().known()) return false;
      if (ElementOf(graph_, node_.inputs[1]) != ElementType::kInt64) return false;
      count = static_cast<size_t>(starts->front().value);
    }
    if (count > perm_.size()) return false;
    std::vector<int64_t> axes(perm_.begin(), perm_.begin() + static_cast<ptrdiff_t>(count));
    if (!attributes.from_attributes) {
      result_.node.inputs.resize(std::max<size_t>(node_.inputs.size(), 4), kNone);
      result_.integers.emplace_back(3, std::move(axes));
    } else {
      SetAttribute(result_.node, "axes", std::move(axes));
    }
    return true;
  }

  bool Pad() {
    if (node_.since_version < 2) return false;
    if (HasInput(node_, 3)) return Axes(3, true);
    const auto pads = PadsOf(graph_, node_);
    const size_t rank = perm_.size();
    if (!pads || pads->size() != 2 * rank) return false;
    std::vector<int64_t> moved(2 * rank);
    for (size_t i = 0; i < rank; ++i) {
      const auto to = static_cast<size_t>(perm_[i]);
      moved[to] = (*pads)[i];
      moved[rank + to] = (*pads)[rank + i];
    }
    SetIntegers(1, "pads", std::move(moved));
    return true;
  }

  const Graph& graph_;
  const Node& node_;
  const Permutation& perm_;
  PermutedNode result_;
  std::vector<int64_t> axes_;  // of the old order
};

}  // namespace

std::optional<PermutedNode> Permuted(const Graph& graph, const Node& node, const Permutation& perm) {
  return Permuting(graph, node, perm).Run();
}

Permutation Inverse(const Permutation& perm) {
  Permutation inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return inverse;
}

}  // namespace tessera
