// recognize_gelu: x/2 (1 + erf(x/sqrt(2))), and x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), however their factors are
// ordered, become Gelu.

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "optimizer/analysis/added_nodes.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/scalar.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

constexpr int kGeluVersion = 20;

/// Coefficients of 1, x, x^2 and x^3.
using Cubic = std::array<double, 4>;

/// Nothing where the product has a higher degree.
std::optional<Cubic> Times(const Cubic& a, const Cubic& b) {
  Cubic product{};
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) {
      const double term = a[i] * b[j];
      if (term == 0) continue;
      if (i + j >= product.size()) return std::nullopt;
      product[i + j] += term;
    }
  }
  return product;
}

/// What Add, Mul and Pow compute from x and numbers. Looks no further than an exporter's formula reaches.
class CubicReader {
 public:
  CubicReader(const Graph& graph, ValueIndex x) : graph_(graph), x_(x), shape_(ShapeOf(graph, x)) {}

  std::optional<Cubic> Read(ValueIndex value, int steps = 7) const {
    if (value == x_) return Cubic{0, 1, 0, 0};
    if (value == kNone) return std::nullopt;
    if (const auto& constant = graph_.value(value).constant) return Number(*constant);
    const NodeIndex producer = graph_.value(value).producer;
    if (steps == 0 || producer == kNone) return std::nullopt;
    const Node& node = graph_.node(producer);
    if (node.inputs.size() != 2 || node.since_version < 7) return std::nullopt;
    if (IsOp(node, "Pow")) return Power(node, steps);
    if (!IsOp(node, "Add") && !IsOp(node, "Mul")) return std::nullopt;
    const auto a = Read(node.inputs[0], steps - 1);
    const auto b = a ? Read(node.inputs[1], steps - 1) : std::nullopt;
    if (!b) return std::nullopt;
    if (IsOp(node, "Mul")) return Times(*a, *b);
    Cubic sum;
    for (size_t i = 0; i < sum.size(); ++i) sum[i] = (*a)[i] + (*b)[i];
    return sum;
  }

 private:
  /// Of a constant that leaves x its shape.
  std::optional<Cubic> Number(const Tensor& constant) const {
    const auto number = ScalarOf(&constant);
    const int64_t rank = constant.shape().rank();
    if (!number || (rank > 0 && (shape_ == nullptr || rank > static_cast<int64_t>(shape_->size())))) return std::nullopt;
    return Cubic{*number, 0, 0, 0};
  }

  std::optional<Cubic> Power(const Node& node, int steps) const {
    const Tensor* constant = ConstantInput(graph_, node, 1);
    const auto number = constant == nullptr ? std::nullopt : Number(*constant);
    if (!number || ((*number)[0] != 2 && (*number)[0] != 3)) return std::nullopt;
    const auto base = Read(node.inputs[0], steps - 1);
    const auto square = base ? Times(*base, *base) : std::nullopt;
    return square && (*number)[0] == 3 ? Times(*square, *base) : square;
  }

  const Graph& graph_;
  const ValueIndex x_;
  const SymbolicShape* const shape_;
};

/// sqrt(2/pi) (x + 0.044715 x^3), as near as constants of the type come.
bool IsTanhArgument(const Cubic& cubic, ElementType type) {
  const double tolerance = type == ElementType::kBFloat16 ? 1e-2 : type == ElementType::kFloat16 ? 3e-3 : 4e-6;
  const double linear = std::sqrt(2 / std::numbers::pi), cube = linear * 0.044715;
  return cubic[0] == 0 && cubic[2] == 0 && std::abs(cubic[1] - linear) <= tolerance * linear &&
         std::abs(cubic[3] - cube) <= tolerance * cube;
}

class GeluRecognition final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext& context) override {
    const Node& inner = graph.node(index);
    const bool is_tanh = IsOp(inner, "Tanh");
    if ((!is_tanh && !IsOp(inner, "Erf")) || !HasInput(inner, 0)) return false;
    const Node* sum = OnlyReader(graph, inner.outputs[0]);
    if (sum == nullptr || !OperandBeside(graph, *sum, "Add", 1)) return false;
    const auto x = is_tanh ? OfTanh(graph, inner, *sum) : OfErf(graph, inner);
    const auto last = x ? Product(graph, *sum, *x) : std::nullopt;
    if (!last) return false;
    Node gelu;
    gelu.op_type = "Gelu";
    gelu.name = graph.node(last->last).name;
    gelu.since_version = kGeluVersion;
    gelu.inputs = {*x};
    gelu.outputs = {graph.node(last->last).outputs[0]};
    if (is_tanh) SetAttribute(gelu, "approximate", std::string("tanh"));
    if (ElementOf(graph, *x) != ElementOf(graph, gelu.outputs[0]) || !MayAdd(graph, gelu, context)) return false;
    for (const NodeIndex gone : {last->last, last->before, sum->index, index}) {
      if (graph.has_node(gone)) graph.RemoveNode(gone);
    }
    graph.AddNode(std::move(gelu), last->last);
    return true;
  }

 private:
  static std::optional<ValueIndex> OfErf(const Graph& graph, const Node& erf) {
    const Node* scaled = Producer(graph, erf, 0);
    if (scaled == nullptr) return std::nullopt;
    const auto x = OperandBeside(graph, *scaled, "Mul", std::sqrt(0.5));
    return x ? x : OperandBeside(graph, *scaled, "Div", std::sqrt(2.0));
  }

  /// What the sum is multiplied by tells what x is.
  static std::optional<ValueIndex> OfTanh(const Graph& graph, const Node& tanh, const Node& sum) {
    const Node* first = OnlyReader(graph, sum.outputs[0]);
    if (first == nullptr || !IsOp(*first, "Mul")) return std::nullopt;
    const Node* second = OnlyReader(graph, first->outputs[0]);
    const ValueIndex other = OtherInput(*first, sum.outputs[0]);
    if (other == kNone) return std::nullopt;
    std::vector<ValueIndex> candidates = {other};
    if (const NodeIndex producer = graph.value(other).producer; producer != kNone) {
      if (const auto halved = OperandBeside(graph, graph.node(producer), "Mul", 0.5)) candidates.push_back(*halved);
    }
    if (second != nullptr) candidates.push_back(OtherInput(*second, first->outputs[0]));
    const auto found = std::find_if(candidates.begin(), candidates.end(), [&](ValueIndex x) {
      if (x == kNone || graph.value(x).constant) return false;
      const auto argument = CubicReader(graph, x).Read(tanh.inputs[0]);
      return argument && IsTanhArgument(*argument, ElementOf(graph, x));
    });
    return found == candidates.end() ? std::nullopt : std::optional(*found);
  }

  struct End {
    NodeIndex last, before;
  };

  /// (x * sum) * 0.5, (sum * 0.5) * x or (x * 0.5) * sum.
  static std::optional<End> Product(const Graph& graph, const Node& sum, ValueIndex x) {
    const Node* first = OnlyReader(graph, sum.outputs[0]);
    if (first == nullptr || !IsOp(*first, "Mul")) return std::nullopt;
    const ValueIndex other = OtherInput(*first, sum.outputs[0]);
    if (other == x) {
      const Node* last = OnlyReader(graph, first->outputs[0]);
      const bool halves = last != nullptr && OperandBeside(graph, *last, "Mul", 0.5);
      return halves ? std::optional(End{last->index, first->index}) : std::nullopt;
    }
    if (OperandBeside(graph, *first, "Mul", 0.5)) {
      const Node* last = OnlyReader(graph, first->outputs[0]);
      const bool multiplies = last != nullptr && IsOp(*last, "Mul") && OtherInput(*last, first->outputs[0]) == x;
      return multiplies ? std::optional(End{last->index, first->index}) : std::nullopt;
    }
    if (other == kNone || graph.value(other).producer == kNone) return std::nullopt;
    const Node& half = graph.node(graph.value(other).producer);
    const auto halved = OperandBeside(graph, half, "Mul", 0.5);
    if (!halved || *halved != x) return std::nullopt;
    return End{first->index, HasOneReader(graph, other) ? half.index : first->index};
  }
};

}  // namespace

std::unique_ptr<Rewrite> RecognizeGelu() { return std::make_unique<GeluRecognition>(); }

}  // namespace tessera
