// MatMul, Gemm and Einsum.

#include <algorithm>

#include "model/gradient/rules.h"
#include "ops/math/einsum_equation.h"
#include "ops/math/gemm.h"

namespace tessera::gradient {
namespace {

/// The last two of `rank` dimensions swapped.
Term Swapped(Builder& build, Term x, size_t rank) {
  std::vector<int64_t> perm(rank);
  for (size_t i = 0; i < rank; ++i) perm[i] = static_cast<int64_t>(i);
  std::swap(perm[rank - 2], perm[rank - 1]);
  return build.Transpose(x, std::move(perm));
}

Term Gemm(Builder& build, Term a, Term b, bool trans_a, bool trans_b, float alpha) {
  return build.Call("Gemm", {a, b}, {Int("transA", trans_a), Int("transB", trans_b), {"alpha", alpha}});
}

/// What each operand and the result call their dimensions; '.' stands for an ellipsis.
struct Equation {
  explicit Equation(const EinsumEquation& parsed) : result(TextOf(parsed.output())) {
    for (const EinsumEquation::Term& term : parsed.inputs()) operands.push_back(TextOf(term));
  }

  std::vector<std::string> operands;
  std::string result;

 private:
  static std::string TextOf(const EinsumEquation::Term& term) {
    std::string text;
    for (const int8_t label : term) text += label == kEllipsis ? '.' : LetterOf(label);
    return text;
  }
};

std::string WithDots(const std::string& labels) {
  std::string text;
  for (const char label : labels) text += label == '.' ? std::string("...") : std::string(1, label);
  return text;
}

}  // namespace

void MatMulRule(Step& s) {
  Builder& build = s.build;
  const size_t a_rank = s.rank(s.x(0)), b_rank = s.rank(s.x(1));
  s.Expect(a_rank > 0 && b_rank > 0, "of a scalar");
  // A vector is a row on the left and a column on the right; the output lacks that dimension.
  const Term a = a_rank == 1 ? build.Call("Unsqueeze", {s.x(0), build.Ints({0})}) : s.x(0);
  const Term b = b_rank == 1 ? build.Call("Unsqueeze", {s.x(1), build.Ints({1})}) : s.x(1);
  Term dy = s.dy();
  if (b_rank == 1) dy = build.Call("Unsqueeze", {dy, build.Ints({-1})});
  if (a_rank == 1) dy = build.Call("Unsqueeze", {dy, build.Ints({-2})});
  // Neither operand is repeated where both are matrices or have the same dimensions before the matrices.
  bool repeats = a_rank > 2 || b_rank > 2;
  const SymbolicShape *a_dims = build.DimsOf(s.x(0)), *b_dims = build.DimsOf(s.x(1));
  if (a_rank == b_rank && a_rank > 2 && std::equal(a_dims->begin(), a_dims->end() - 2, b_dims->begin())) {
    repeats =
        !std::all_of(a_dims->begin(), a_dims->end() - 2, [](const Dimension& d) { return d.known() || !d.symbol.empty(); });
  }
  const auto give = [&](size_t i, Term gradient, size_t rank) {
    if (repeats) {
      s.Give(i, build.SumTo(gradient, s.x(i)));
    } else {
      s.Give(i, rank == 1 ? build.Reshape(gradient, build.ShapeOf(s.x(i))) : gradient);
    }
  };
  if (s.wants(0)) {
    const Term gradient = build.Call("MatMul", {dy, Swapped(build, b, std::max<size_t>(b_rank, 2))});
    b_rank <= 2 && a_rank >= 2 ? s.Give(0, gradient) : give(0, gradient, a_rank);
  }
  if (!s.wants(1)) return;
  if (a_rank > 2 && b_rank <= 2) {
    const Attribute rows = Int("axis", static_cast<int64_t>(a_rank) - 1);
    const Term product =
        Gemm(build, build.Call("Flatten", {a}, {rows}), build.Call("Flatten", {dy}, {rows}), true, false, 1.0f);
    return s.Give(1, b_rank == 1 ? build.Reshape(product, build.ShapeOf(s.x(1))) : product);
  }
  give(1, build.Call("MatMul", {Swapped(build, a, std::max<size_t>(a_rank, 2)), dy}), b_rank);
}

void GemmRule(Step& s) {
  const auto [alpha, beta, trans_a, trans_b] = GemmAttributes(s.node());
  const Term a = s.x(0), b = s.x(1), dy = s.dy();
  if (s.wants(0))
    s.Give(0, trans_a ? Gemm(s.build, b, dy, trans_b, true, alpha) : Gemm(s.build, dy, b, false, !trans_b, alpha));
  if (s.wants(1))
    s.Give(1, trans_b ? Gemm(s.build, dy, a, true, trans_a, alpha) : Gemm(s.build, a, dy, !trans_a, false, alpha));
  if (s.wants(2)) s.GiveSummed(2, dy * beta);
}

void EinsumRule(Step& s) {
  const Equation equation{EinsumEquation(s.node())};
  const bool has_dots = equation.result.find('.') != std::string::npos;
  for (size_t i = 0; i < s.num_x(); ++i) {
    if (!s.wants(i)) continue;
    const std::string& own = equation.operands[i];
    for (const char label : own)
      s.Expect(std::count(own.begin(), own.end(), label) == 1, "with a label twice in one operand");
    s.Expect(own.find('.') == std::string::npos || own.front() == '.', "with an ellipsis that is not in front");
    // Ones in the operand's shape bring in the labels that only it has.
    std::string text = WithDots(equation.result);
    std::vector<Term> inputs = {s.dy()};
    for (size_t k = 0; k < s.num_x(); ++k) {
      text.append(1, ',').append(WithDots(equation.operands[k]));
      inputs.push_back(k == i ? s.build.Filled(s.build.ShapeOf(s.x(i)), 1, s.dy().element) : s.x(k));
    }
    const bool has_own_dots = own.find('.') != std::string::npos;
    s.Expect(has_dots || !has_own_dots, "that sums over an ellipsis");
    text += "->" + std::string(has_dots ? "..." : "") + (has_own_dots ? WithDots(own.substr(1)) : WithDots(own));
    Term gradient = s.build.CallAll("Einsum", inputs, 1, {{"equation", text}})[0];
    // What the ellipsis broadcast is summed; it is in front, so that numpy's rule finds it.
    if (has_dots) gradient = s.build.SumTo(gradient, s.x(i));
    s.Give(i, gradient);
  }
}

}  // namespace tessera::gradient
