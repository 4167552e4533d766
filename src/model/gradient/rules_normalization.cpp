// Normalizations, softmax and dropout.

#include "model/gradient/rules.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/normalization/group_normalization.h"
#include "ops/normalization/lp_normalization.h"
#include "ops/normalization/lrn.h"
#include "ops/normalization/softmax.h"
#include "ops/random/dropout.h"

namespace tessera::gradient {
namespace {

Term MeanOver(Builder& build, Term x, Term axes) { return build.Call("ReduceMean", {x, axes}); }
Term SumOver(Builder& build, Term x, Term axes) { return build.ReduceSum(x, axes, true); }

/// All axes but the channels', and channels [C] in a shape that broadcasts to x.
struct Channels {
  Step& s;
  std::vector<int64_t> others, trailing;

  explicit Channels(Step& step) : s(step) {
    const auto rank = static_cast<int64_t>(s.rank(s.x()));
    for (int64_t i = 0; i < rank; ++i) {
      if (i != 1) others.push_back(i);
      if (i >= 2) trailing.push_back(i - 1);
    }
  }
  Term Broad(Term per_channel) const {
    return trailing.empty() ? per_channel : s.build.Call("Unsqueeze", {per_channel, s.build.Ints(trailing)});
  }
  Term Total(Term x) const { return s.build.ReduceSum(x, s.build.Ints(others), false); }
};

Term InverseDeviation(Term variance, double epsilon) { return Apply("Reciprocal", Apply("Sqrt", variance + epsilon)); }

/// The gradient of (x - mean) / deviation over `axes`, where both are those of x.
Term NormalizedGradient(Builder& build, Term dy, Term normalized, Term inverse_deviation, Term axes) {
  return (dy - MeanOver(build, dy, axes) - normalized * MeanOver(build, dy * normalized, axes)) * inverse_deviation;
}

/// The axes over which a Softmax sums: one from version 13 on, before that all from `axis` on.
Term SoftmaxAxes(Step& s) {
  const size_t rank = s.rank(s.y());
  const SoftmaxAttributes attributes(s.node());
  if (!attributes.flattens) return s.build.Ints({attributes.axis});
  std::vector<int64_t> axes;
  for (int64_t i = s.axis(attributes.axis, rank); i < static_cast<int64_t>(rank); ++i) axes.push_back(i);
  return s.build.Ints(axes);
}

}  // namespace

void SoftmaxRule(Step& s) {
  const Term axes = SoftmaxAxes(s);
  s.Give(0, s.y() * (s.dy() - SumOver(s.build, s.dy() * s.y(), axes)));
}

void LogSoftmaxRule(Step& s) {
  const Term axes = SoftmaxAxes(s);
  s.Give(0, s.dy() - Apply("Exp", s.y()) * SumOver(s.build, s.dy(), axes));
}

void BatchNormalizationRule(Step& s) {
  Builder& build = s.build;
  const Channels channels(s);
  const ElementType element = s.dy().element;
  const BatchNormalizationAttributes attributes(s.node());
  const double epsilon = attributes.epsilon;
  s.Expect(attributes.spatial, "that normalizes each element by itself");
  const bool training = attributes.training;
  const Term axes = build.Ints(channels.others), x = s.x();
  const Term scale = channels.Broad(build.Cast(s.x(1), element));
  Term mean, variance;
  if (training) {
    mean = MeanOver(build, x, axes);
    const Term centered = x - mean;
    variance = MeanOver(build, centered * centered, axes);
  } else {
    mean = channels.Broad(build.Cast(s.x(3), element));
    variance = channels.Broad(build.Cast(s.x(4), element));
  }
  const Term inverse = InverseDeviation(variance, epsilon);
  const Term normalized = (x - mean) * inverse;
  const auto give = [&](size_t i, Term gradient) { s.Give(i, build.Cast(gradient, s.x(i).element)); };
  if (s.wants(0)) {
    s.Give(0, training ? NormalizedGradient(build, s.dy() * scale, normalized, inverse, axes) : s.dy() * scale * inverse);
  }
  if (s.wants(1)) give(1, channels.Total(s.dy() * normalized));
  if (s.wants(2)) give(2, channels.Total(s.dy()));
  if (training) return;
  if (s.wants(3)) give(3, -channels.Total(s.dy() * scale * inverse));
  if (s.wants(4)) give(4, channels.Total(s.dy() * scale * normalized * inverse * inverse) * -0.5);
}

void InstanceNormalizationRule(Step& s) {
  Builder& build = s.build;
  const Channels channels(s);
  std::vector<int64_t> spatial;
  spatial.reserve(channels.trailing.size());
  for (int64_t axis : channels.trailing) spatial.push_back(axis + 1);
  const Term axes = build.Ints(spatial), x = s.x();
  const Term centered = x - MeanOver(build, x, axes);
  const Term inverse =
      InverseDeviation(MeanOver(build, centered * centered, axes), GroupNormalizationAttributes(s.node()).epsilon);
  const Term normalized = centered * inverse;
  if (s.wants(0)) s.Give(0, NormalizedGradient(build, s.dy() * channels.Broad(s.x(1)), normalized, inverse, axes));
  if (s.wants(1)) s.Give(1, channels.Total(s.dy() * normalized));
  if (s.wants(2)) s.Give(2, channels.Total(s.dy()));
}

void LpNormalizationRule(Step& s) {
  Builder& build = s.build;
  const LpNormalizationAttributes attributes(s.node());
  const Term axes = build.Ints({attributes.axis}), x = s.x();
  const bool first = attributes.p == 1;
  const Term norm = build.Call(first ? "ReduceL1" : "ReduceL2", {x, axes});
  // y = x / norm(x); where the norm is 0, so is y and its slope.
  const Term slope = first ? Apply("Sign", x) : s.y();
  const Term gradient = (s.dy() - slope * SumOver(build, s.dy() * s.y(), axes)) / norm;
  const Term zero = build.Number(0, x.element);
  s.Give(0, build.Where(Equal(norm, zero), zero, gradient));
}

void LrnRule(Step& s) {
  Builder& build = s.build;
  const Term x = s.x();
  const LrnAttributes attributes(s.node());
  const int64_t size = attributes.size;
  const double beta = attributes.beta;
  // Sums over neighbouring channels: a window over [N, 1, C, rest].
  const int64_t before = (size - 1) / 2, after = size - 1 - before;
  const std::vector<Term> parts = {build.ShapeOf(x, 0, 1), build.Ints({1}), build.ShapeOf(x, 1, 2), build.Ints({-1})};
  const Term planes = build.CallAll("Concat", parts, 1, {Int("axis", 0)})[0];
  const Term ones = build.Filled(build.Ints({1, 1, size, 1}), 1, x.element);
  const auto sum = [&](Term t, int64_t first, int64_t last) {
    const Term total = build.Call("Conv", {build.Reshape(t, planes), ones}, {IntList("pads", {first, 0, last, 0})});
    return build.Reshape(total, build.ShapeOf(x));
  };
  const double scale = attributes.alpha / static_cast<double>(size);
  const Term base = sum(x * x, before, after) * scale + attributes.bias;
  const Term power = build.Call("Pow", {base, build.Number(-beta, x.element)});
  const Term through = sum(s.dy() * x * (power / base), after, before);
  s.Give(0, s.dy() * power - x * through * (2 * beta * scale));
}

void DropoutRule(Step& s) {
  // Before there was an input for it, kernels infer whatever is_test says.
  const bool may_train = s.has_x(2) && DropoutMayTrain(s.node(), s.build.graph().constant(s.node().inputs[2]));
  if (!may_train) return s.Give(0, s.dy());
  s.Expect(s.has_y(1), "in training, unless it gives its mask");
  const ElementType element = s.dy().element;
  const Term ratio = s.has_x(1) ? s.build.Cast(s.x(1), element) : s.build.Number(0.5, element);
  const Term scale = s.build.Where(s.x(2), Apply("Reciprocal", 1.0 - ratio), s.build.Number(1, element));
  s.Give(0, s.dy() * s.build.Cast(s.y(1), element) * scale);
}

}  // namespace tessera::gradient
