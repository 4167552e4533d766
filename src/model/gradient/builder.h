#pragma once

// Adds the nodes of an expression to a graph: Term stands for a value, operators and calls on it for new nodes.

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace tessera::gradient {

class Builder;

/// A value of the graph that is built; without a builder, nothing.
struct Term {
  Builder* builder = nullptr;
  ValueIndex value = kNone;
  ElementType element = ElementType::kUndefined;

  explicit operator bool() const noexcept { return builder != nullptr; }
};

using Attributes = std::vector<Attribute>;

class Builder {
 public:
  /// New nodes run in place of `place` and are named after `prefix`.
  Builder(Graph& graph, NodeIndex place, std::string prefix) : graph_(graph), place_(place), prefix_(std::move(prefix)) {}

  Graph& graph() const noexcept { return graph_; }
  NodeIndex place() const noexcept { return place_; }
  const std::string& prefix() const noexcept { return prefix_; }

  Term Of(ValueIndex value);
  /// A node of the newest version of an operator of ai.onnx; terms without a value are omitted inputs. The result has
  /// `element`, by default the first input's.
  Term Call(std::string op_type, std::initializer_list<Term> inputs, Attributes attributes = {},
            ElementType element = ElementType::kUndefined) {
    return CallAll(std::move(op_type), {inputs.begin(), inputs.size()}, 1, std::move(attributes), element)[0];
  }
  std::vector<Term> CallAll(std::string op_type, std::span<const Term> inputs, size_t outputs, Attributes attributes = {},
                            ElementType element = ElementType::kUndefined);
  /// A copy of `node` that reads `inputs`; outputs beyond those that the node writes may be asked for.
  std::vector<Term> CopyOf(const Node& node, std::span<const Term> inputs, size_t outputs, ElementType element);

  Term Number(double number, ElementType element);
  Term Ints(std::span<const int64_t> numbers);
  Term Ints(std::initializer_list<int64_t> numbers) { return Ints({numbers.begin(), numbers.size()}); }
  Term Floats(std::span<const float> numbers);

  /// The shape as a list, a constant where it is known; and a part of it.
  Term ShapeOf(Term x);
  Term ShapeOf(Term x, int64_t begin, int64_t end);
  /// The number of elements, a scalar of `element`.
  Term SizeOf(Term x, ElementType element);
  Term Filled(Term shape, double number, ElementType element);
  Term ZerosLike(Term x) { return Filled(ShapeOf(x), 0, x.element); }

  Term Cast(Term x, ElementType element);
  Term Where(Term condition, Term yes, Term no) { return Call("Where", {condition, yes, no}, {}, yes.element); }
  Term Reshape(Term x, Term shape);
  Term Transpose(Term x, std::vector<int64_t> perm);
  Term ReduceSum(Term x, Term axes, bool keep_dims);
  /// Sums `x`, which has the shape of `as`, over what broadcasting `target` to it repeated.
  Term SumTo(Term x, Term as, Term target);
  /// The same where the graph does not know the shape of `x` yet.
  Term SumTo(Term x, Term target);

  /// Dimensions as far as the graph knows them; null when not even the rank is.
  const SymbolicShape* DimsOf(Term x) const noexcept;

 private:
  Term Constant(Tensor tensor);
  Term SumFrom(Term x, Term shape, Term target);

  Graph& graph_;
  NodeIndex place_;
  std::string prefix_;
};

inline Attribute Int(std::string name, int64_t value) { return {std::move(name), value}; }
inline Attribute IntList(std::string name, std::vector<int64_t> values) { return {std::move(name), std::move(values)}; }

Term operator+(Term a, Term b);
Term operator-(Term a, Term b);
Term operator*(Term a, Term b);
Term operator/(Term a, Term b);
Term operator-(Term a);
Term operator+(Term a, double b);
Term operator-(double a, Term b);
Term operator*(Term a, double b);
Term operator/(Term a, double b);
Term operator>(Term a, Term b);
Term operator<(Term a, Term b);
Term operator>(Term a, double b);
Term operator<(Term a, double b);
Term Equal(Term a, Term b);
Term And(Term a, Term b);
Term Not(Term a);
/// One operator of one input.
Term Apply(std::string op_type, Term x);

}  // namespace tessera::gradient
