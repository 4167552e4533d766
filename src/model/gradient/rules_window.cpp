// Convolutions and pools.

#include <algorithm>
#include <numeric>

#include "model/gradient/rules.h"
#include "ops/nn/conv.h"
#include "ops/nn/conv_transpose.h"
#include "ops/nn/pool.h"

namespace tessera::gradient {
namespace {

/// Where the windows of a Conv or a pool lie on the spatial dimensions of `data`, which lead to those of `grid`: cell i of
/// the grid sees data from i * stride - pad on, in steps of the dilation.
struct Windows {
  Step& s;
  Builder& build;
  Term data, grid;
  size_t spatial;
  std::vector<int64_t> strides, dilations;
  Term kernel;  // sizes, a list
  Term reach;   // (kernel - 1) * dilation + 1
  Term begin;   // how far the first window starts before the data, a list
  Shape end;    // the padding after the data, where the attributes state it

  Windows(Step& step, Term data_in, Term grid_in, size_t spatial_in, Term kernel_in)
      : s(step), build(step.build), data(data_in), grid(grid_in), spatial(spatial_in), kernel(kernel_in) {
    const WindowAttributes attributes(s.node());
    const Window stated = attributes.Expand(Shape(spatial).dims(), Shape(spatial, 1).dims());
    strides.assign(stated.strides.begin(), stated.strides.end());
    dilations.assign(stated.dilations.begin(), stated.dilations.end());
    const Term one = build.Ints({1});
    reach = (kernel - one) * build.Ints(dilations) + one;
    if (attributes.pads_to_same()) {
      const Term total = build.Call("Max", {Span() - Sizes(data), build.Ints({0})});
      begin = (attributes.auto_pad() == AutoPad::kSameUpper ? total : total + one) / build.Ints({2});
    } else {
      begin = build.Ints(stated.begin.dims());
      end = stated.end;
    }
  }

  Term Sizes(Term x) const { return build.ShapeOf(x, 2, 2 + static_cast<int64_t>(spatial)); }
  /// How much data the grid's windows span.
  Term Span() const { return (Sizes(grid) - build.Ints({1})) * build.Ints(strides) + reach; }

  /// Pads or cuts the spatial dimensions of `x`.
  Term Padded(Term x, Term before, Term after, double value = 0) const {
    const Term none = build.Ints({0, 0});
    const std::vector<Term> parts = {none, before, none, after};
    const Term pads = build.CallAll("Concat", parts, 1, {Int("axis", 0)})[0];
    return build.Call("Pad", {x, pads, build.Number(value, x.element)});
  }
  /// The data, padded or cut to what the windows span.
  Term Seen(Term x) const { return Padded(x, begin, Span() - Sizes(data) - begin); }
  /// Back from what the windows span to the data.
  Term Unseen(Term x) const { return Padded(x, -begin, Sizes(data) + begin - Span()); }

  Attributes Layout(int64_t group) const {
    return {IntList("strides", strides), IntList("dilations", dilations), Int("group", group)};
  }
  /// The sum over each window, weighted.
  Term Gather(Term x, Term weights, int64_t group) const { return build.Call("Conv", {Seen(x), weights}, Layout(group)); }
  /// Each cell of the grid added to all that its window holds, weighted.
  Term Spread(Term cells, Term weights, int64_t group) const {
    return Unseen(build.Call("ConvTranspose", {cells, weights}, Layout(group)));
  }

  /// The gradient of the weights [cells' channels, x's channels / group, kernel], from `x` like the data and `cells` like
  /// the grid: a convolution where channels and batch change places, and steps and strides too.
  Term Weights(Term x, Term cells, int64_t group) const {
    std::vector<int64_t> swap(spatial + 2);
    for (size_t i = 0; i < swap.size(); ++i) swap[i] = static_cast<int64_t>(i);
    std::swap(swap[0], swap[1]);
    Term seen = Seen(x);
    if (group == 1) {
      seen = build.Transpose(seen, swap);
    } else {  // [N, group * C, ...] to [C, group * N, ...]
      const Term batch = build.ShapeOf(x, 0, 1), groups = build.Ints({group}), channels = build.ShapeOf(x, 1, 2) / groups;
      std::vector<Term> parts = {batch, groups, channels, Span()};
      std::vector<int64_t> perm(spatial + 3);
      for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i < 3 ? 2 - i : i);
      seen = build.Transpose(build.Reshape(seen, build.CallAll("Concat", parts, 1, {Int("axis", 0)})[0]), perm);
      parts = {channels, batch * groups, Span()};
      seen = build.Reshape(seen, build.CallAll("Concat", parts, 1, {Int("axis", 0)})[0]);
    }
    const Term product = build.Call("Conv", {seen, build.Transpose(cells, swap)},
                                    {IntList("strides", dilations), IntList("dilations", strides), Int("group", group)});
    return build.Transpose(product, swap);
  }
};

Term BiasGradient(Step& s, size_t spatial) {
  std::vector<int64_t> axes = {0};
  for (size_t i = 0; i < spatial; ++i) axes.push_back(static_cast<int64_t>(i) + 2);
  return s.build.ReduceSum(s.dy(), s.build.Ints(axes), false);
}

size_t SpatialRank(const Step& s, Term x) {
  const size_t rank = s.rank(x);
  s.Expect(rank >= 2, "of a tensor without channels");
  return rank - 2;
}

std::vector<int64_t> SpatialAxes(size_t spatial) {
  std::vector<int64_t> axes(spatial);
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

}  // namespace

void ConvRule(Step& s) {
  const Term x = s.x(0), weights = s.x(1);
  const size_t spatial = SpatialRank(s, weights);
  const int64_t group = ConvAttributes(s.node()).group;
  const Windows windows(s, x, s.y(), spatial, s.build.ShapeOf(weights, 2, static_cast<int64_t>(spatial) + 2));
  if (s.wants(0)) s.Give(0, windows.Spread(s.dy(), weights, group));
  if (s.wants(1)) s.Give(1, windows.Weights(x, s.dy(), group));
  if (s.wants(2)) s.Give(2, BiasGradient(s, spatial));
}

void ConvTransposeRule(Step& s) {
  const Term x = s.x(0), weights = s.x(1);
  const size_t spatial = SpatialRank(s, weights);
  const ConvTransposeAttributes attributes(s.node());
  const int64_t group = attributes.group;
  // Its output takes the place of a Conv's data and its input that of the grid.
  Windows windows(s, s.y(), x, spatial, s.build.ShapeOf(weights, 2, static_cast<int64_t>(spatial) + 2));
  if (attributes.output_shape.rank() > 0 || attributes.window.pads_to_same()) {
    Term span = windows.Span();
    if (attributes.output_padding.rank() > 0) span = span + s.build.Ints(attributes.output_padding.dims());
    const Term total = s.build.Call("Max", {span - windows.Sizes(s.y()), s.build.Ints({0})});
    const Term half = total / s.build.Ints({2});
    windows.begin = attributes.window.auto_pad() == AutoPad::kSameUpper ? half : total - half;
  }
  if (s.wants(0)) s.Give(0, windows.Gather(s.dy(), weights, group));
  if (s.wants(1)) s.Give(1, windows.Weights(s.dy(), x, group));
  if (s.wants(2)) s.Give(2, BiasGradient(s, spatial));
}

void MaxPoolRule(Step& s) {
  Builder& build = s.build;
  const Term x = s.x();
  // The pool again, to learn where the largest elements are.
  Node pool = s.node();
  pool.since_version = std::max(pool.since_version, 12);
  std::erase_if(pool.attributes, [](const Attribute& a) { return a.name == "storage_order"; });
  const std::vector<Term> inputs = {x};
  const Term indices = build.CopyOf(pool, inputs, 2, x.element)[1];
  const Term flat = build.Ints({-1});
  const Term zeros = build.Filled(build.Reshape(build.SizeOf(x, ElementType::kInt64), build.Ints({1})), 0, x.element);
  const Term sums = build.Call("ScatterElements", {zeros, build.Reshape(indices, flat), build.Reshape(s.dy(), flat)},
                               {Int("axis", 0), {"reduction", std::string("add")}});
  s.Give(0, build.Reshape(sums, build.ShapeOf(x)));
}

void AveragePoolRule(Step& s) {
  Builder& build = s.build;
  const size_t spatial = SpatialRank(s, s.x());
  const PoolAttributes attributes(s.node());
  const Shape& kernel = attributes.window.kernel();
  s.Expect(kernel.rank() == spatial, "whose kernel_shape does not fit");
  // Every channel for itself, as images of one channel.
  const auto alone = [&](Term x, Term sizes) {
    const std::vector<Term> parts = {build.Ints({-1, 1}), sizes};
    return build.Reshape(x, build.CallAll("Concat", parts, 1, {Int("axis", 0)})[0]);
  };
  Windows windows(s, s.x(), s.y(), spatial, build.Ints(kernel.dims()));
  std::vector<int64_t> ones_shape = {1, 1};
  ones_shape.insert(ones_shape.end(), kernel.begin(), kernel.end());
  const Term weights = build.Filled(build.Ints(ones_shape), 1, s.dy().element);
  // How many elements each window counts: padding too where it says so, but never what lies beyond it.
  const std::vector<Term> one_image = {build.Ints({1, 1}), windows.Sizes(s.x())};
  Term counted = build.Filled(build.CallAll("Concat", one_image, 1, {Int("axis", 0)})[0], 1, s.dy().element);
  if (attributes.count_include_pad) {
    const Term rest = windows.Span() - windows.Sizes(s.x()) - windows.begin;
    if (attributes.window.pads_to_same()) {
      counted = windows.Padded(counted, windows.begin, rest, 1);
    } else {
      const Term end = build.Ints(windows.end.dims());
      counted = windows.Padded(counted, windows.begin, end, 1);
      counted = windows.Padded(counted, build.Ints(Shape(spatial).dims()), rest - end);
    }
  } else {
    counted = windows.Seen(counted);
  }
  const Term counts = build.Call("Conv", {counted, weights}, windows.Layout(1));
  const Term cells = alone(s.dy(), windows.Sizes(s.y())) / counts;
  s.Give(0, build.Reshape(windows.Spread(cells, weights, 1), build.ShapeOf(s.x())));
}

void GlobalAveragePoolRule(Step& s) {
  const Term share = s.dy() * (s.build.SizeOf(s.y(), s.dy().element) / s.build.SizeOf(s.x(), s.dy().element));
  s.Give(0, s.build.Call("Expand", {share, s.build.ShapeOf(s.x())}));
}

void GlobalMaxPoolRule(Step& s) {
  const Term chosen = s.build.Cast(Equal(s.x(), s.y()), s.dy().element);
  const Term count = s.build.ReduceSum(chosen, s.build.Ints(SpatialAxes(SpatialRank(s, s.x()))), true);
  s.Give(0, chosen * (s.dy() / count));
}

}  // namespace tessera::gradient
