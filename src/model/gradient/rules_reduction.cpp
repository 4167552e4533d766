// Reductions, CumSum and TopK.

#include "model/gradient/rules.h"
#include "ops/reduction/cum_sum.h"
#include "ops/reduction/reduce.h"
#include "ops/reduction/top_k.h"

namespace tessera::gradient {
namespace {

/// From the attribute or from the input that it became; nothing where none are given.
Term Axes(Step& s) {
  const std::vector<int64_t> attribute = ReduceAttributes(s.node()).axes;
  return attribute.empty() ? s.x(1) : s.build.Ints(attribute);
}

/// `t`, which has the output's shape, so that it broadcasts to the input.
Term Spread(Step& s, Term t) {
  if (ReduceAttributes(s.node()).keepdims) return t;
  const Term axes = Axes(s);
  return axes ? s.build.Call("Unsqueeze", {t, axes}) : t;  // without axes a scalar remains, or all stays as it is
}

void GiveExpanded(Step& s, Term gradient) { s.Give(0, s.build.Call("Expand", {gradient, s.build.ShapeOf(s.x())})); }

/// How many elements one element of the output stands for.
Term Count(Step& s) { return s.build.SizeOf(s.x(), s.dy().element) / s.build.SizeOf(s.y(), s.dy().element); }

/// The same node for other data.
Term ReduceLike(Step& s, Term x) {
  const std::vector<Term> inputs = {x, s.x(1)};
  return s.build.CopyOf(s.node(), inputs, 1, x.element)[0];
}

}  // namespace

void ReduceSumRule(Step& s) { GiveExpanded(s, Spread(s, s.dy())); }
void ReduceMeanRule(Step& s) { GiveExpanded(s, Spread(s, s.dy()) / Count(s)); }

void ReduceExtremeRule(Step& s) {
  const Term chosen = s.build.Cast(Equal(s.x(), Spread(s, s.y())), s.dy().element);
  // Where several elements are the extreme one, they share.
  const ReduceAttributes attributes(s.node());
  const Term count =
      s.build.Call("ReduceSum", {chosen, Axes(s)},
                   {Int("keepdims", attributes.keepdims), Int("noop_with_empty_axes", attributes.noop_with_empty_axes)});
  s.Give(0, chosen * Spread(s, s.dy() / count));
}

void ReduceProdRule(Step& s) {
  const Term x = s.x(), zero = s.build.Number(0, x.element), one = s.build.Number(1, x.element);
  const Term is_zero = Equal(x, zero);
  // The slope at an element is the product of the others: with one 0 among them all that product is not 0 only there, and
  // with two nowhere. A factor of 2 for each 0 counts them.
  const Term two = s.build.Number(2, x.element), others = s.build.Where(is_zero, one, x);
  const Term zeros = ReduceLike(s, s.build.Where(is_zero, two, one));
  const Term at_zero = s.build.Where(Equal(zeros, two), ReduceLike(s, others), zero);
  s.Give(0, Spread(s, s.dy()) * s.build.Where(is_zero, Spread(s, at_zero), Spread(s, s.y()) / others));
}

void ReduceL1Rule(Step& s) { s.Give(0, Spread(s, s.dy()) * Apply("Sign", s.x())); }

void ReduceL2Rule(Step& s) {
  const Term zero = s.build.Number(0, s.dy().element);
  s.Give(0, s.x() * Spread(s, s.build.Where(Equal(s.y(), zero), zero, s.dy() / s.y())));
}

void ReduceSumSquareRule(Step& s) { s.Give(0, s.x() * Spread(s, s.dy() * 2)); }
void ReduceLogSumRule(Step& s) { GiveExpanded(s, Spread(s, s.dy() * Apply("Exp", -s.y()))); }
void ReduceLogSumExpRule(Step& s) { s.Give(0, Spread(s, s.dy()) * Apply("Exp", s.x() - Spread(s, s.y()))); }

void CumSumRule(Step& s) {
  const CumSumAttributes attributes(s.node());
  s.Give(0, s.build.Call("CumSum", {s.dy(), s.x(1)},
                         {Int("exclusive", attributes.exclusive), Int("reverse", !attributes.reverse)}));
}

void TopKRule(Step& s) {
  s.Give(0, s.build.Call("ScatterElements", {s.build.ZerosLike(s.x()), s.y(1), s.dy()},
                         {Int("axis", TopKAttributes(s.node()).axis)}));
}

}  // namespace tessera::gradient
