// derive_symbolic_dims: what windows, padding, slices and joins leave a constant away from a named size gets a name for
// just that, and so does what windows of a stride leave of it and what is resized to it, so that equal sizes are seen to be
// equal: a residual's, for one, whose branch pads what its convolutions cut off, or strides as its shortcut does.

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/load_limits.h"
#include "graph/infer_types.h"
#include "graph/op_traits.h"
#include "graph/shape_values.h"
#include "ops/image/resize.h"
#include "ops/movement/concat.h"
#include "ops/valid_attributes.h"
#include "optimizer/analysis/channels.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/slice_bounds.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

constexpr int64_t kMost = 1 << 20;   // of a kernel, a dilation, padding
constexpr int64_t kEnd = INT32_MAX;  // an end of a slice that exporters write for "all"

/// A named size and a constant.
struct Sum {
  std::string base;
  int64_t offset;
  auto operator<=>(const Sum&) const = default;
};

/// An output's size is (the input's + offset) / stride, rounded down.
struct Step {
  int64_t offset;
  int64_t stride = 1;
};

/// By axis, from the first input to the first output; nothing where it is not so.
using Steps = std::vector<std::optional<Step>>;

bool AreWithin(const std::vector<int64_t>& values, int64_t least) {
  return std::all_of(values.begin(), values.end(), [&](int64_t value) { return value >= least && value <= kMost; });
}

Steps StepsOfWindow(const Graph& graph, const Node& node, size_t rank) {
  Steps result(rank);
  const auto attributes = ValidAttributes<WindowAttributes>(node);
  if (rank < 3 || !attributes) return result;
  Shape kernel = attributes->kernel();
  const SymbolicShape* weights = node.op_type == "Conv" && HasInput(node, 1) ? ShapeOf(graph, node.inputs[1]) : nullptr;
  for (size_t i = 2; !attributes->has_kernel() && weights != nullptr && i < weights->size(); ++i)
    kernel.Append((*weights)[i].value);
  const auto window = kernel.rank() == rank - 2 ? WindowBeforeImage(*attributes, kernel.dims()) : std::nullopt;
  if (!window) return result;
  for (size_t i = 0; i < window->rank(); ++i) {
    const int64_t stride = window->strides[i];
    if (stride > 1 && attributes->ceil_mode()) continue;
    const int64_t more = attributes->pads_to_same() ? 0 : window->begin[i] + window->end[i] - (window->extent(i) - 1);
    result[i + 2] = Step{more + stride - 1, stride};
  }
  return result;
}

Steps StepsOfPad(const Graph& graph, const Node& node, size_t rank) {
  Steps result(rank);
  const auto pads = PadsOf(graph, node);
  if (node.since_version < 2 || HasInput(node, 3) || !pads || pads->size() != 2 * rank || !AreWithin(*pads, 0))
    return result;
  for (size_t i = 0; i < rank; ++i) result[i] = Step{(*pads)[i] + (*pads)[i + rank]};
  return result;
}

/// Exact only where what is left cannot be less than nothing, which the caller sees to.
Steps StepsOfSlice(const Graph& graph, const Node& node, size_t rank) {
  Steps result(rank);
  const auto bounds = SliceBoundsOf(graph, node);
  if (!bounds) return result;
  for (size_t i = 0; i < bounds->axes.size(); ++i) {
    const int64_t start = bounds->starts[i], end = bounds->ends[i];
    if (bounds->steps[i] != 1 || start < 0 || start > kMost || end < -kMost) continue;
    if (end < 0 || end >= kEnd) result[static_cast<size_t>(bounds->axes[i])] = Step{std::min<int64_t>(end, 0) - start};
  }
  return result;
}

class SizeNaming final : public Rewrite {
 public:
  size_t Run(Graph& graph, RewriteContext&) override {
    fixed_.clear();
    sums_.clear();
    names_.clear();
    quotients_.clear();
    renamed_.clear();
    for (const auto& list : {graph.inputs(), graph.outputs()}) {
      for (const ValueIndex index : list) Fix(graph, index);
    }
    ShapeValues values(graph, nullptr);
    for (const NodeIndex index : graph.TopologicalOrder()) {
      graph.limits().Check();
      const Node& node = graph.node(index);
      values.Propagate(node);
      if (IsOp(node, "Resize")) {
        NameResized(graph, node, values);
      } else {
        Visit(graph, node);
      }
    }
    if (renamed_.empty()) return 0;
    for (size_t i = 0; i < graph.num_values(); ++i) {
      auto& shape = graph.value(static_cast<ValueIndex>(i)).type.shape;
      if (!shape) continue;
      for (Dimension& dim : *shape) dim.symbol = NameOf(dim.symbol);
    }
    return renamed_.size();
  }

 private:
  void Fix(const Graph& graph, ValueIndex index) {
    const SymbolicShape* shape = ShapeOf(graph, index);
    if (shape == nullptr) return;
    for (const Dimension& dim : *shape) {
      if (!IsInferredName(dim.symbol)) fixed_.insert(dim.symbol);
    }
  }

  /// The name that a name has come to; the way there is cut short for the next time.
  std::string NameOf(const std::string& symbol) {
    auto found = renamed_.find(symbol);
    if (found == renamed_.end()) return symbol;
    for (auto next = renamed_.find(found->second); next != renamed_.end(); next = renamed_.find(found->second)) {
      found->second = next->second;
      found = next;
    }
    return found->second;
  }

  Sum SumOf(const std::string& symbol) {
    const std::string name = NameOf(symbol);
    const auto found = sums_.find(name);
    return found == sums_.end() ? Sum{name, 0} : found->second;
  }

  void Visit(const Graph& graph, const Node& node) {
    if (!node.domain.empty() || node.inputs.empty() || node.outputs.empty() || !HasInput(node, 0)) return;
    const SymbolicShape* in = ShapeOf(graph, node.inputs[0]);
    const SymbolicShape* out = node.outputs[0] == kNone ? nullptr : ShapeOf(graph, node.outputs[0]);
    if (in == nullptr || out == nullptr || in->size() != out->size()) return;
    if (Has(node, OpTrait::kBroadcasts) || node.op_type == "Concat") NameCommon(graph, node, *out);
    if (node.op_type == "Concat") return Join(graph, node, *out);
    const bool is_slice = node.op_type == "Slice";
    const bool is_window =
        node.op_type == "Conv" || node.op_type == "MaxPool" || node.op_type == "AveragePool" || node.op_type == "LpPool";
    const Steps steps = is_window               ? StepsOfWindow(graph, node, in->size())
                        : node.op_type == "Pad" ? StepsOfPad(graph, node, in->size())
                        : is_slice              ? StepsOfSlice(graph, node, in->size())
                                                : Steps();
    for (size_t i = 0; i < steps.size(); ++i) {
      if (!steps[i] || (*in)[i].symbol.empty()) continue;
      Sum sum = SumOf((*in)[i].symbol);
      sum.offset += steps[i]->offset;
      if (steps[i]->stride > 1) {
        NameQuotient((*out)[i], {sum, steps[i]->stride});
      } else if (!is_slice || sum.offset >= 0) {  // a named size is at least 0
        Name((*out)[i], sum);
      }
    }
  }

  /// Where all inputs have one name for their size the output's is that: what inference did not see.
  void NameCommon(const Graph& graph, const Node& node, const SymbolicShape& out) {
    const int64_t axis = node.op_type == "Concat" ? ConcatAttributes(node).axis : -1;
    const auto joined =
        static_cast<size_t>(axis < 0 && node.op_type == "Concat" ? axis + static_cast<int64_t>(out.size()) : axis);
    for (size_t i = 0; i < out.size(); ++i) {
      const auto name = [&](ValueIndex input) {
        const SymbolicShape* shape = input == kNone ? nullptr : ShapeOf(graph, input);
        return shape == nullptr || shape->size() != out.size() || (*shape)[i].known() ? "" : NameOf((*shape)[i].symbol);
      };
      const std::string first = name(node.inputs[0]);
      const bool same = std::ranges::all_of(node.inputs, [&](ValueIndex input) { return name(input) == first; });
      if (i != joined && same && !first.empty() && !out[i].known() && !out[i].symbol.empty())
        Rename(NameOf(out[i].symbol), first);
    }
  }

  /// To sizes that are computed from those of other tensors.
  void NameResized(const Graph& graph, const Node& node, ShapeValues& values) {
    const SymbolicShape* out = node.outputs.empty() || node.outputs[0] == kNone ? nullptr : ShapeOf(graph, node.outputs[0]);
    const auto resize = ValidAttributes<ResizeAttributes>(node);
    const bool stretches = resize && !resize->early && resize->policy == AspectPolicy::kStretch && resize->axes.empty();
    const ShapeValue* sizes = stretches && HasInput(node, 3) ? values.Find(node.inputs[3]) : nullptr;
    if (out == nullptr || sizes == nullptr || sizes->size() != out->size()) return;
    for (size_t i = 0; i < out->size(); ++i) {
      const std::string& symbol = (*sizes)[i].symbol;
      if (!(*sizes)[i].known && !symbol.empty() && !(*out)[i].known() && !(*out)[i].symbol.empty()) {
        Rename(NameOf((*out)[i].symbol), NameOf(symbol));
      }
    }
  }

  /// Known sizes and one that has a name.
  void Join(const Graph& graph, const Node& node, const SymbolicShape& out) {
    const auto rank = static_cast<int64_t>(out.size());
    int64_t axis = ConcatAttributes(node).axis;
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return;
    std::optional<Sum> sum;
    int64_t known = 0;
    for (const ValueIndex input : node.inputs) {
      const SymbolicShape* shape = input == kNone ? nullptr : ShapeOf(graph, input);
      if (shape == nullptr || shape->size() != out.size()) return;
      const Dimension& dim = (*shape)[static_cast<size_t>(axis)];
      if (dim.known() && dim.value <= kMost && known <= kMost) {
        known += dim.value;
      } else if (!dim.known() && !dim.symbol.empty() && !sum) {
        sum = SumOf(dim.symbol);
      } else {
        return;
      }
    }
    if (sum) Name(out[static_cast<size_t>(axis)], {sum->base, sum->offset + known});
  }

  /// `dim` is `sum`: gives it the name of the other sizes that are.
  void Name(const Dimension& dim, const Sum& sum) {
    if (dim.known() || dim.symbol.empty()) return;
    const std::string held = NameOf(dim.symbol);
    if (sum.offset == 0) return Rename(held, NameOf(sum.base));
    if (held == sum.base || (sums_.contains(held) && sums_.at(held) != sum)) return;  // the model contradicts itself
    const auto [first, is_new] = names_.emplace(sum, held);
    if (is_new) {
      sums_.emplace(held, sum);
    } else {
      Rename(held, NameOf(first->second));
    }
  }

  void NameQuotient(const Dimension& dim, const std::pair<Sum, int64_t>& quotient) {
    if (dim.known() || dim.symbol.empty()) return;
    const std::string held = NameOf(dim.symbol);
    const auto [first, is_new] = quotients_.emplace(quotient, held);
    if (!is_new) Rename(held, NameOf(first->second));
  }

  /// Names that the model gives its inputs and outputs stay.
  void Rename(const std::string& from, const std::string& to) {
    if (from == to || fixed_.contains(from) || sums_.contains(from)) return;
    renamed_.emplace(from, to);
  }

  std::set<std::string> fixed_;
  std::map<std::string, Sum> sums_;
  std::map<Sum, std::string> names_;
  std::map<std::pair<Sum, int64_t>, std::string> quotients_;
  std::map<std::string, std::string> renamed_;
};

}  // namespace

std::unique_ptr<Rewrite> DeriveSymbolicDims() { return std::make_unique<SizeNaming>(); }

}  // namespace tessera
