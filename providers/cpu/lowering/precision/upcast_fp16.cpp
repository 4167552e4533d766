// upcast_fp16: where the CPU provider computes with float16 or bfloat16, it converts each operator's operands to float32
// and rounds the results. Between operators that it runs, values stay float32 instead: fewer roundings, no conversions, and
// all that is made for float32 (layouts, Winograd's convolutions, fusions) applies. Matrices of MatMuls keep their 16
// bits.

#include <algorithm>
#include <map>
#include <set>

#include "base/load_limits.h"
#include "cpu/lowering/lowering.h"
#include "graph/op_traits.h"
#include "optimizer/analysis/edit.h"

namespace tessera {
namespace {

/// What moves elements stays as wide as what it moves: Concat has several inputs that it moves, Pad and Trilu fill in
/// numbers as wide.
bool Moves(const Node& node) {
  return Has(node, OpTrait::kMoves) || IsOp(node, "Concat") || IsOp(node, "Pad") || IsOp(node, "Trilu");
}

/// The first input that holds what earlier runs computed; callers keep that in the model's type.
size_t PastOf(const Node& node) {
  if (node.op_type == "GroupQueryAttention") return 3;
  if (node.op_type == "MultiHeadAttention") return 6;
  if (node.op_type == "CausalConvWithState" || node.op_type == "LinearAttention") return 3;
  return node.op_type == "Attention" ? 4 : node.inputs.size();
}

bool Computes(const Node& node) {
  // Matmuls take long enough to be worth the conversions around them. Comparisons, roundings to integers and what asks for
  // infinities are not continuous.
  if (!Has(node, OpTrait::kMatMul) && !Has(node, OpTrait::kContinuous)) return false;
  return !HasInput(node, PastOf(node)) && node.FindAttribute("precision") == nullptr;
}

class Fp16Upcast {
 public:
  Fp16Upcast(Graph& graph, const RewriteContext& context)
      : graph_(graph), context_(context), cast_version_(VersionOf(graph, "Cast")) {}

  size_t Run() {
    size_t changes = 0;
    const std::vector<NodeIndex> order = graph_.TopologicalOrder();
    for (const NodeIndex index : order) {
      graph_.limits().Check();
      const Node& node = graph_.node(index);
      if (context_.Lowers(node) && (ReadsTwin(node) || (ConcernsFp16(node) && MayWiden(node)))) {
        Widen(index);
        ++changes;
      } else {
        NoteConstants(node);
        NoteConversion(node);
      }
    }
    for (const auto& [fp16, wide] : twins_) {
      const GraphValue& value = graph_.value(fp16);
      if (value.producer == kNone && (!value.consumers.empty() || value.is_output))
        AddCast(wide, fp16, graph_.value(wide).producer);
    }
    return changes;
  }

 private:
  bool IsFp16Value(ValueIndex index) const { return index != kNone && IsHalf(ElementOf(graph_, index)); }

  bool IsOfConstants(ValueIndex index) const { return graph_.constant(index) != nullptr || of_constants_.contains(index); }

  bool ConcernsFp16(const Node& node) const {
    const auto is_half = [&](ValueIndex value) { return IsFp16Value(value); };
    return std::any_of(node.inputs.begin(), node.inputs.end(), is_half) ||
           std::any_of(node.outputs.begin(), node.outputs.end(), is_half);
  }

  /// The model itself converts to float32 what is that already.
  bool ReadsTwin(const Node& node) const {
    return IsOp(node, "Cast") && twins_.contains(node.inputs[0]) &&
           ElementOf(graph_, node.outputs[0]) == ElementType::kFloat;
  }

  bool MayWiden(const Node& node) const {
    if (Computes(node)) return true;
    if (!Moves(node)) return false;
    bool some = false;
    for (const ValueIndex input : node.inputs) {
      if (!IsFp16Value(input)) continue;
      const bool wide = twins_.contains(input);
      if (!wide && !IsOfConstants(input)) return false;
      some |= wide;
    }
    return some;
  }

  /// What is moved of constants alone may be converted wherever it is needed.
  void NoteConstants(const Node& node) {
    if (!Moves(node)) return;
    for (const ValueIndex input : node.inputs) {
      if (IsFp16Value(input) && !IsOfConstants(input)) return;
    }
    for (const ValueIndex output : node.outputs) of_constants_.insert(output);
  }

  /// What the model itself rounds needs no rounding either.
  void NoteConversion(const Node& node) {
    if (IsOp(node, "Cast") && IsFp16Value(node.outputs[0]) && ElementOf(graph_, node.inputs[0]) == ElementType::kFloat) {
      twins_.emplace(node.outputs[0], node.inputs[0]);
    }
  }

  void Widen(NodeIndex index) {
    Node node = graph_.node(index);
    for (ValueIndex& input : node.inputs) {
      if (IsFp16Value(input)) input = Wide(input, index);
    }
    graph_.RemoveNode(index);
    for (ValueIndex& output : node.outputs) {
      if (!IsFp16Value(output)) continue;
      const ValueIndex wide = Twin(output);
      twins_.emplace(output, wide);
      output = wide;
    }
    if (node.FindAttribute("output_dtype") != nullptr)
      SetAttribute(node, "output_dtype", static_cast<int64_t>(ElementType::kFloat));
    node.index = kNone;
    graph_.AddNode(std::move(node), index);
  }

  /// `fp16` as float32, by a Cast where nobody computes it so.
  ValueIndex Wide(ValueIndex fp16, NodeIndex before) {
    if (const auto found = twins_.find(fp16); found != twins_.end()) return found->second;
    if (const auto found = entered_.find(fp16); found != entered_.end()) return found->second;
    const ValueIndex wide = Twin(fp16);
    entered_.emplace(fp16, wide);
    AddCast(fp16, wide, before);
    return wide;
  }

  ValueIndex Twin(ValueIndex fp16) {
    TypeInfo type = graph_.value(fp16).type;
    type.element = ElementType::kFloat;
    const std::string name = graph_.value(fp16).name + "/float";
    return graph_.AddValue(graph_.FindValue(name) == kNone ? name : "", std::move(type));
  }

  void AddCast(ValueIndex from, ValueIndex to, NodeIndex before) {
    Node cast;
    cast.op_type = "Cast";
    cast.since_version = cast_version_;
    cast.inputs = {from};
    cast.outputs = {to};
    SetAttribute(cast, "to", static_cast<int64_t>(ElementOf(graph_, to)));
    graph_.AddNode(std::move(cast), before);
  }

  Graph& graph_;
  const RewriteContext& context_;
  int cast_version_;
  std::map<ValueIndex, ValueIndex> twins_;    // computed as float32
  std::map<ValueIndex, ValueIndex> entered_;  // converted to it
  std::set<ValueIndex> of_constants_;
};

class UpcastFp16Rewrite final : public Rewrite {
 public:
  size_t Run(Graph& graph, RewriteContext& context) override {
    constexpr int kTypedCast = 6;  // before, the type was a word
    if (context.round_halves || !HasFp16MatMul(graph) || VersionOf(graph, "Cast") < kTypedCast) return 0;
    return Fp16Upcast(graph, context).Run();
  }

 private:
  static bool HasFp16MatMul(const Graph& graph) {
    const auto& order = graph.TopologicalOrder();
    return std::any_of(order.begin(), order.end(), [&](NodeIndex index) {
      const Node& node = graph.node(index);
      return Has(node, OpTrait::kMatMul) && Computes(node) && !node.outputs.empty() && node.outputs[0] != kNone &&
             IsHalf(ElementOf(graph, node.outputs[0]));
    });
  }
};

}  // namespace

std::unique_ptr<Rewrite> UpcastFp16() { return std::make_unique<UpcastFp16Rewrite>(); }

}  // namespace tessera
