// einsum_to_matmul: an Einsum that is one matmul becomes a MatMul, with what moves and merges axes around it: with
// constant weights, as Keras and XLNet project, so that they are packed and fused like others; and with two batch axes, as
// attention is spelled with it, so that it is recognized. One that sums nothing, as state space models scale their inputs,
// becomes a Mul.

#include <algorithm>

#include "ops/math/einsum_equation.h"
#include "ops/valid_attributes.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

using Term = EinsumEquation::Term;

bool Has(const Term& term, int8_t label) { return std::ranges::find(term, label) != term.end(); }

/// The labels of `from` for which `wanted` holds, in its order.
template <class Wanted>
Term Pick(const Term& from, const Wanted& wanted) {
  Term picked;
  std::ranges::copy_if(from, std::back_inserter(picked), wanted);
  return picked;
}

Term Join(Term a, const Term& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

bool HasRepeats(Term term) {
  std::ranges::sort(term);
  return std::ranges::adjacent_find(term) != term.end();
}

class EinsumMatMul final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    if (!IsOp(graph.node(index), "Einsum")) return false;
    const Node node = graph.node(index);
    if (node.inputs.size() != 2 || !HasOneOutput(node) || VersionOf(graph, "Reshape") < 5) return false;
    const ElementType type = ElementOf(graph, node.outputs[0]);
    if (type != ElementType::kFloat && type != ElementType::kDouble && !IsHalf(type)) return false;
    const auto equation = Parsed(node);
    if (!equation) return false;
    if (IsElementwise(*equation)) return Multiply(graph, node, *equation);
    const Term &left = equation->inputs()[0], &right = equation->inputs()[1];
    for (const bool swapped : {false, true}) {
      const MatMulForm matmul(graph, node, swapped ? right : left, swapped ? left : right, equation->output(), swapped);
      if (matmul.IsProjection() || matmul.IsBatched()) return matmul.Write(graph);
    }
    return false;
  }

 private:
  /// Nothing where it is malformed, or has an ellipsis or a diagonal.
  static std::optional<EinsumEquation> Parsed(const Node& node) {
    auto equation = ValidAttributes<EinsumEquation>(node);
    const auto is_plain = [](const Term& term) { return !Has(term, kEllipsis) && !HasRepeats(term); };
    return equation && std::ranges::all_of(equation->inputs(), is_plain) ? std::move(equation) : std::nullopt;
  }

  struct Operand {
    ValueIndex value;
    Term axes;
  };

  static bool IsElementwise(const EinsumEquation& equation) {
    return std::ranges::all_of(equation.inputs(), [&](const Term& term) {
      return std::ranges::all_of(term, [&](int8_t label) { return Has(equation.output(), label); });
    });
  }

  static bool Multiply(Graph& graph, const Node& node, const EinsumEquation& equation) {
    const Term& out = equation.output();
    if (out.empty() || VersionOf(graph, "Unsqueeze") < 13) return false;
    for (size_t i = 0; i < 2; ++i) {
      const SymbolicShape* shape = ShapeOf(graph, node.inputs[i]);
      if (shape == nullptr || shape->size() != equation.inputs()[i].size()) return false;
    }
    std::vector<ValueIndex> operands;
    operands.reserve(2);
    for (size_t i = 0; i < 2; ++i) operands.push_back(Spread(graph, node, {node.inputs[i], equation.inputs()[i]}, out));
    const ValueIndex product = graph.AddValue("", graph.value(node.outputs[0]).type);
    AddOperator(graph, "Mul", std::move(operands), product, node.index).name = node.name;
    return BypassNode(graph, node.index, product);
  }

  /// The operand with its axes in the order of `out`, and axes of one element where it has none.
  static ValueIndex Spread(Graph& graph, const Node& node, Operand from, const Term& out) {
    const SymbolicShape given = *ShapeOf(graph, from.value);
    const ElementType type = ElementOf(graph, from.value);
    Permutation perm;
    SymbolicShape moved, spread;
    std::vector<int64_t> missing;
    for (size_t i = 0; i < out.size(); ++i) {
      if (Has(from.axes, out[i])) {
        perm.push_back(std::ranges::find(from.axes, out[i]) - from.axes.begin());
        moved.push_back(given[static_cast<size_t>(perm.back())]);
        spread.push_back(moved.back());
      } else {
        missing.push_back(static_cast<int64_t>(i));
        spread.push_back({1, {}});
      }
    }
    if (!std::ranges::is_sorted(perm)) {
      const ValueIndex result = graph.AddValue("", TypeInfo::OfTensor(type, std::move(moved)));
      SetAttribute(AddOperator(graph, "Transpose", {from.value}, result, node.index), "perm", std::move(perm));
      from.value = result;
    }
    // Axes of one element in front are there without being said.
    if (missing.empty() || missing.back() + 1 == static_cast<int64_t>(missing.size())) return from.value;
    const ValueIndex result = graph.AddValue("", TypeInfo::OfTensor(type, std::move(spread)));
    AddOperator(graph, "Unsqueeze", {from.value, AddIntegers(graph, missing)}, result, node.index);
    return result;
  }

  /// [batch, rows, inner] of a times [batch, inner, columns] of b.
  class MatMulForm {
   public:
    MatMulForm(const Graph& graph, const Node& node, const Term& a, const Term& b, const Term& out, bool swapped)
        : graph_(graph),
          node_(node),
          a_(a),
          b_(b),
          out_(out),
          a_value_(node.inputs[swapped ? 1 : 0]),
          b_value_(node.inputs[swapped ? 0 : 1]) {
      batch_ = Pick(out, [&](int8_t label) { return Has(a, label) && Has(b, label); });
      inner_ = Pick(a, [&](int8_t label) { return Has(b, label) && !Has(out, label); });
      rows_ = Pick(a, [&](int8_t label) { return !Has(b, label); });
      columns_ = Pick(out, [&](int8_t label) { return !Has(a, label); });
      // Where the input is moved anyway, it is to where the result has its axes.
      if (a != Join(rows_, inner_)) rows_ = Pick(out, [&](int8_t label) { return Has(a, label) && !Has(b, label); });
    }

    /// With constant weights.
    bool IsProjection() const {
      const Tensor* weights = graph_.constant(b_value_);
      if (graph_.constant(a_value_) != nullptr || weights == nullptr) return false;
      if (weights->shape().rank() != b_.size() || weights->num_elements() == 0) return false;
      return batch_.empty() && !columns_.empty() && IsMatMul();
    }

    /// As attention has them: over two axes, with rows before columns in the result.
    bool IsBatched() const {
      if (batch_.size() != 2 || rows_.size() != 1 || columns_.size() != 1 || inner_.size() != 1 || !IsMatMul())
        return false;
      return std::ranges::find(out_, rows_[0]) < std::ranges::find(out_, columns_[0]);
    }

    bool Write(Graph& graph) const {
      const bool projects = batch_.empty();
      Operand a = Moved(graph, {a_value_, a_}, Join(Join(batch_, rows_), inner_));
      Operand b = Moved(graph, {b_value_, b_}, Join(Join(batch_, inner_), columns_));
      const Term result = Join(Join(batch_, rows_), columns_);
      if (projects && inner_.size() > 1) a.value = Merged(graph, a.value, rows_, {ProductOf(inner_)});
      if (projects && (inner_.size() > 1 || columns_.size() > 1))
        b.value = Merged(graph, b.value, {}, {ProductOf(inner_), ProductOf(columns_)});
      SymbolicShape shape = ShapeFor(result);
      if (projects) {
        shape.resize(rows_.size());
        shape.push_back(ProductOf(columns_));
      }
      Operand y = {Add(graph, "MatMul", {a.value, b.value}, std::move(shape)), result};
      if (projects && columns_.size() > 1) y.value = Merged(graph, y.value, rows_, SizesOf(columns_));
      return BypassNode(graph, node_.index, Moved(graph, y, out_).value);
    }

   private:
    /// Every label is of one kind, and what is summed over has the same size in both: a one would be repeated.
    bool IsMatMul() const {
      const SymbolicShape *a = ShapeOf(graph_, a_value_), *b = ShapeOf(graph_, b_value_);
      if (a == nullptr || b == nullptr || a->size() != a_.size() || b->size() != b_.size() || inner_.empty()) return false;
      if (batch_.size() + rows_.size() + columns_.size() != out_.size() ||
          batch_.size() + rows_.size() + inner_.size() != a_.size())
        return false;
      if (batch_.size() + inner_.size() + columns_.size() != b_.size()) return false;
      const auto same = [&](int8_t label) { return SameDimension((*a)[At(a_, label)], (*b)[At(b_, label)]); };
      return std::ranges::all_of(inner_, same) && std::ranges::all_of(batch_, same);
    }

    static size_t At(const Term& term, int8_t label) {
      return static_cast<size_t>(std::ranges::find(term, label) - term.begin());
    }

    SymbolicShape ShapeFor(const Term& labels) const {
      SymbolicShape shape;
      const SymbolicShape &a = *ShapeOf(graph_, a_value_), &b = *ShapeOf(graph_, b_value_);
      for (const int8_t label : labels) shape.push_back(Has(a_, label) ? a[At(a_, label)] : b[At(b_, label)]);
      return shape;
    }

    /// Of the weights.
    SymbolicShape SizesOf(const Term& labels) const {
      SymbolicShape sizes;
      for (const int8_t label : labels) sizes.push_back({graph_.constant(b_value_)->shape()[At(b_, label)], {}});
      return sizes;
    }
    Dimension ProductOf(const Term& labels) const {
      Dimension product{1, {}};
      for (const Dimension& size : SizesOf(labels)) product.value *= size.value;
      return product;
    }

    ValueIndex Add(Graph& graph, std::string_view op_type, std::vector<ValueIndex> inputs, SymbolicShape shape,
                   Permutation perm = {}) const {
      const ValueIndex result = graph.AddValue("", TypeInfo::OfTensor(ElementOf(graph, inputs[0]), std::move(shape)));
      Node& added = AddOperator(graph, op_type, std::move(inputs), result, node_.index);
      added.name = node_.name;
      if (!perm.empty()) SetAttribute(added, "perm", std::move(perm));
      return result;
    }

    /// The same with its axes in another order.
    Operand Moved(Graph& graph, Operand from, const Term& to) const {
      if (from.axes == to) return from;
      Permutation perm;
      for (const int8_t label : to) perm.push_back(static_cast<int64_t>(At(from.axes, label)));
      return {Add(graph, "Transpose", {from.value}, ShapeFor(to), std::move(perm)), to};
    }

    /// The first axes as they are, then these.
    ValueIndex Merged(Graph& graph, ValueIndex value, const Term& first, const SymbolicShape& rest) const {
      SymbolicShape shape = ShapeFor(first);
      std::vector<int64_t> sizes(first.size(), 0);
      for (const Dimension& size : rest) sizes.push_back(size.value);
      shape.insert(shape.end(), rest.begin(), rest.end());
      return Add(graph, "Reshape", {value, AddIntegers(graph, sizes)}, std::move(shape));
    }

    const Graph& graph_;
    const Node& node_;
    const Term &a_, &b_, &out_;
    ValueIndex a_value_, b_value_;
    Term batch_, rows_, inner_, columns_;
  };
};

}  // namespace

std::unique_ptr<Rewrite> EinsumToMatMul() { return std::make_unique<EinsumMatMul>(); }

}  // namespace tessera
