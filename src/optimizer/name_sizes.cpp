// name_sizes: what windows, padding, slices and joins leave a constant away from a named size gets a name for just that, so that
// equal sizes are seen to be equal: a residual's, for one, whose branch pads what its convolutions take away.

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "optimizer/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

constexpr int64_t kMost = 1 << 20;     // of a kernel, a dilation, padding
constexpr int64_t kEnd = INT32_MAX;    // an end of a slice that exporters write for "all"

/// A named size and a constant.
struct Sum {
  std::string base;
  int64_t offset;
  auto operator<=>(const Sum&) const = default;
};

/// By axis, what the first output has more than the first input; nothing where that is not a constant.
using Deltas = std::vector<std::optional<int64_t>>;

bool AreWithin(const std::vector<int64_t>& values, int64_t least) {
  return std::all_of(values.begin(), values.end(), [&](int64_t value) { return value >= least && value <= kMost; });
}

/// Windows of stride 1.
Deltas DeltasOfWindow(const Graph& graph, const Node& node, size_t rank) {
  Deltas deltas(rank);
  if (rank < 3) return deltas;
  const size_t spatial = rank - 2;
  std::vector<int64_t> kernel;
  if (const auto* stated = IntsAttribute(node, "kernel_shape")) {
    kernel = *stated;
  } else if (const SymbolicShape* weights = node.op_type == "Conv" && HasInput(node, 1) ? ShapeOf(graph, node.inputs[1]) : nullptr) {
    for (size_t i = 2; i < weights->size(); ++i) kernel.push_back((*weights)[i].value);
  }
  const auto list = [&](const char* name, size_t size, int64_t fallback) {
    const auto* held = IntsAttribute(node, name);
    return held == nullptr ? std::vector<int64_t>(size, fallback) : *held;
  };
  const auto strides = list("strides", spatial, 1), dilations = list("dilations", spatial, 1), pads = list("pads", 2 * spatial, 0);
  if (kernel.size() != spatial || strides.size() != spatial || dilations.size() != spatial || pads.size() != 2 * spatial) return deltas;
  if (!AreWithin(kernel, 1) || !AreWithin(dilations, 1) || !AreWithin(pads, 0)) return deltas;
  const std::string_view auto_pad = StringAttribute(node, "auto_pad", "NOTSET");
  for (size_t i = 0; i < spatial; ++i) {
    if (strides[i] != 1) continue;
    const int64_t taken = dilations[i] * (kernel[i] - 1);
    deltas[i + 2] = auto_pad == "NOTSET" ? pads[i] + pads[i + spatial] - taken : auto_pad == "VALID" ? -taken : 0;
  }
  return deltas;
}

Deltas DeltasOfPad(const Graph& graph, const Node& node, size_t rank) {
  Deltas deltas(rank);
  const auto pads = IntegersOf(graph, node, 1, "pads");
  if (node.since_version < 2 || HasInput(node, 3) || !pads || pads->size() != 2 * rank || !AreWithin(*pads, 0)) return deltas;
  for (size_t i = 0; i < rank; ++i) deltas[i] = (*pads)[i] + (*pads)[i + rank];
  return deltas;
}

/// Exact only where what is left cannot be less than nothing, which the caller sees to.
Deltas DeltasOfSlice(const Graph& graph, const Node& node, size_t rank) {
  Deltas deltas(rank);
  const auto starts = IntegersOf(graph, node, 1, "starts"), ends = IntegersOf(graph, node, 2, "ends");
  if (!starts || !ends || starts->size() != ends->size()) return deltas;
  std::vector<int64_t> axes, steps(starts->size(), 1);
  for (size_t i = 0; i < starts->size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (HasInput(node, 3) || node.FindAttribute("axes") != nullptr) axes = IntegersOf(graph, node, 3, "axes").value_or(std::vector<int64_t>());
  if (HasInput(node, 4)) steps = IntegersOf(graph, node, 4, "steps").value_or(std::vector<int64_t>());
  if (axes.size() != starts->size() || steps.size() != starts->size()) return deltas;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + static_cast<int64_t>(rank) : axes[i], start = (*starts)[i], end = (*ends)[i];
    if (axis < 0 || axis >= static_cast<int64_t>(rank) || steps[i] != 1 || start < 0 || start > kMost || end < -kMost) continue;
    if (end < 0 || end >= kEnd) deltas[static_cast<size_t>(axis)] = std::min<int64_t>(end, 0) - start;
  }
  return deltas;
}

class SizeNaming final : public Rewrite {
 public:
  size_t Run(Graph& graph, RewriteContext&) override {
    fixed_.clear();
    sums_.clear();
    names_.clear();
    renamed_.clear();
    for (const auto& list : {graph.inputs(), graph.outputs()}) {
      for (const ValueIndex index : list) Fix(graph, index);
    }
    for (const NodeIndex index : graph.TopologicalOrder()) Visit(graph, graph.node(index));
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
    for (const Dimension& dim : *shape) fixed_.insert(dim.symbol);
  }

  std::string NameOf(const std::string& symbol) const {
    const auto found = renamed_.find(symbol);
    return found == renamed_.end() ? symbol : NameOf(found->second);
  }

  Sum SumOf(const std::string& symbol) const {
    const std::string name = NameOf(symbol);
    const auto found = sums_.find(name);
    return found == sums_.end() ? Sum{name, 0} : found->second;
  }

  void Visit(const Graph& graph, const Node& node) {
    if (!node.domain.empty() || node.inputs.empty() || node.outputs.empty() || !HasInput(node, 0)) return;
    const SymbolicShape* in = ShapeOf(graph, node.inputs[0]);
    const SymbolicShape* out = node.outputs[0] == kNone ? nullptr : ShapeOf(graph, node.outputs[0]);
    if (in == nullptr || out == nullptr || in->size() != out->size()) return;
    if (node.op_type == "Concat") return Join(graph, node, *out);
    const bool is_slice = node.op_type == "Slice";
    const bool is_window = node.op_type == "Conv" || node.op_type == "MaxPool" || node.op_type == "AveragePool" || node.op_type == "LpPool";
    const Deltas deltas = is_window               ? DeltasOfWindow(graph, node, in->size())
                          : node.op_type == "Pad" ? DeltasOfPad(graph, node, in->size())
                          : is_slice              ? DeltasOfSlice(graph, node, in->size())
                                                  : Deltas();
    for (size_t i = 0; i < deltas.size(); ++i) {
      if (!deltas[i] || (*in)[i].symbol.empty()) continue;
      Sum sum = SumOf((*in)[i].symbol);
      sum.offset += *deltas[i];
      if (!is_slice || sum.offset >= 0) Name((*out)[i], sum);  // a named size is at least 0
    }
  }

  /// Known sizes and one that has a name.
  void Join(const Graph& graph, const Node& node, const SymbolicShape& out) {
    const auto rank = static_cast<int64_t>(out.size());
    int64_t axis = IntAttribute(node, "axis", 1);
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

  /// Names of the graph's inputs and outputs stay.
  void Rename(const std::string& from, const std::string& to) {
    if (from == to || fixed_.contains(from) || sums_.contains(from)) return;
    renamed_.emplace(from, to);
  }

  std::set<std::string> fixed_;
  std::map<std::string, Sum> sums_;
  std::map<Sum, std::string> names_;
  std::map<std::string, std::string> renamed_;
};

}  // namespace

std::unique_ptr<Rewrite> NameSizes() { return std::make_unique<SizeNaming>(); }

}  // namespace tessera
