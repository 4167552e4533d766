// Operators that move elements: their gradients move back.

#include "model/gradient/rules.h"
#include "ops/movement/concat.h"
#include "ops/movement/depth_to_space.h"
#include "ops/movement/pad.h"
#include "ops/movement/scatter.h"
#include "ops/movement/split.h"
#include "ops/movement/transpose.h"
#include "ops/movement/trilu.h"

namespace tessera::gradient {
namespace {

Attribute Text(std::string name, std::string text) { return {std::move(name), std::move(text)}; }

/// The position of each element of `x`, in its shape.
Term Positions(Step& s, Term x) {
  const Term start = s.build.Number(0, ElementType::kInt64), step = s.build.Number(1, ElementType::kInt64);
  const Term range = s.build.Call("Range", {start, s.build.SizeOf(x, ElementType::kInt64), step});
  return s.build.Reshape(range, s.build.ShapeOf(x));
}

/// Adds up the output's gradient where its elements came from.
Term ScatterBack(Step& s, Term x, Term positions) {
  const Term flat = s.build.Ints({-1});
  const Term zeros =
      s.build.Filled(s.build.Reshape(s.build.SizeOf(x, ElementType::kInt64), s.build.Ints({1})), 0, x.element);
  const Term sums =
      s.build.Call("ScatterElements", {zeros, s.build.Reshape(positions, flat), s.build.Reshape(s.dy(), flat)},
                   {Int("axis", 0), Text("reduction", "add")});
  return s.build.Reshape(sums, s.build.ShapeOf(x));
}

/// The same attributes, of the inverse.
Attributes BlocksOf(const Step& s) {
  const DepthToSpaceAttributes attributes(s.node());
  return {Int("blocksize", attributes.block), Text("mode", attributes.depth_last ? "CRD" : "DCR")};
}

/// Whether updates are added to the data; they replace it otherwise.
bool Adds(const Step& s, ScatterReduction reduction) {
  s.Expect(reduction == ScatterReduction::kNone || reduction == ScatterReduction::kAdd, "with this reduction");
  return reduction == ScatterReduction::kAdd;
}

void ExpectOnlyData(const Step& s) {
  for (size_t i = 1; i < s.num_x(); ++i) s.Expect(!s.wants(i), "with respect to another input than its first");
}

}  // namespace

/// Any operator whose output elements are input elements: it is applied to their positions.
void SelectionRule(Step& s) {
  ExpectOnlyData(s);
  std::vector<Term> inputs = {Positions(s, s.x())};
  for (size_t i = 1; i < s.num_x(); ++i) inputs.push_back(s.x(i));
  s.Give(0, ScatterBack(s, s.x(), s.build.CopyOf(s.node(), inputs, 1, ElementType::kInt64)[0]));
}

void ReshapeRule(Step& s) { s.Give(0, s.build.Reshape(s.dy(), s.build.ShapeOf(s.x()))); }

void TransposeRule(Step& s) {
  const TransposeAttributes attributes(s.node());
  if (attributes.reverses) return s.Give(0, Apply("Transpose", s.dy()));
  std::vector<int64_t> inverse(attributes.perm.size(), 0);
  for (size_t i = 0; i < inverse.size(); ++i) inverse[attributes.perm[i]] = static_cast<int64_t>(i);
  s.Give(0, s.build.Transpose(s.dy(), std::move(inverse)));
}

void ConcatRule(Step& s) {
  const int64_t axis = s.axis(ConcatAttributes(s.node()).axis, s.rank(s.y()));
  std::vector<Term> sizes;
  sizes.reserve(s.num_x());
  for (size_t i = 0; i < s.num_x(); ++i) sizes.push_back(s.build.ShapeOf(s.x(i), axis, axis + 1));
  const std::vector<Term> inputs = {s.dy(), s.build.CallAll("Concat", sizes, 1, {Int("axis", 0)})[0]};
  const std::vector<Term> parts = s.build.CallAll("Split", inputs, s.num_x(), {Int("axis", axis)});
  for (size_t i = 0; i < s.num_x(); ++i) s.Give(i, parts[i]);
}

void SplitRule(Step& s) {
  std::vector<Term> parts;
  for (size_t i = 0; i < s.num_y(); ++i) {
    s.Expect(s.has_y(i), "with an output left out");
    parts.push_back(s.dy(i) ? s.dy(i) : s.build.ZerosLike(s.y(i)));
  }
  s.Give(0, s.build.CallAll("Concat", parts, 1, {Int("axis", SplitAttributes(s.node()).axis)})[0]);
}

void ExpandRule(Step& s) { s.GiveSummed(0, s.dy()); }

void GatherRule(Step& s) {
  if (GatherAttributes(s.node()).axis != 0) return SelectionRule(s);
  const Term rows = s.build.Call("Unsqueeze", {s.x(1), s.build.Ints({-1})});
  s.Give(0, s.build.Call("ScatterND", {s.build.ZerosLike(s.x()), s.build.Cast(rows, ElementType::kInt64), s.dy()},
                         {Text("reduction", "add")}));
}

void ScatterElementsRule(Step& s) {
  const ScatterElementsAttributes attributes(s.node());
  const bool adds = Adds(s, attributes.reduction);
  const Attribute axis = Int("axis", attributes.axis);
  if (s.wants(0)) {
    s.Give(0, adds ? s.dy() : s.build.Call("ScatterElements", {s.dy(), s.x(1), s.build.ZerosLike(s.x(2))}, {axis}));
  }
  if (s.wants(2)) s.Give(2, s.build.Call("GatherElements", {s.dy(), s.x(1)}, {axis}));
}

void ScatterNDRule(Step& s) {
  const bool adds = Adds(s, ScatterReductionOf(s.node()));
  if (s.wants(0)) {
    s.Give(0, adds ? s.dy() : s.build.Call("ScatterND", {s.dy(), s.x(1), s.build.ZerosLike(s.x(2))}));
  }
  if (s.wants(2)) s.Give(2, s.build.Call("GatherND", {s.dy(), s.x(1)}));
}

void PadRule(Step& s) {
  const PadAttributes attributes(s.node());
  const Term pads = attributes.from_attributes ? s.build.Ints(attributes.pads) : s.x(1);
  const Term axes = attributes.from_attributes ? Term() : s.x(3);
  if (attributes.mode != PadMode::kConstant) {
    const Attribute mode = Text("mode", std::string(NameOf(attributes.mode)));
    const Term from = s.build.Call("Pad", {Positions(s, s.x()), pads, Term(), axes}, {mode});
    return s.Give(0, ScatterBack(s, s.x(), from));
  }
  const Term inner = s.build.Call("Pad", {s.dy(), -pads, Term(), axes});
  s.Give(0, inner);
  if (!s.wants(2)) return;
  // The padding has what the data has not.
  const Term is_padding = s.build.Call("Pad", {s.build.ZerosLike(s.x()), pads, s.build.Number(1, s.dy().element), axes});
  const Term total =
      s.build.Call("ReduceSum", {s.build.Reshape(s.dy() * is_padding, s.build.Ints({-1}))}, {Int("keepdims", 0)});
  s.Give(2, s.build.Reshape(total, s.build.ShapeOf(s.x(2))));
}

void TriluRule(Step& s) {
  s.Give(0, s.build.Call("Trilu", {s.dy(), s.x(1)}, {Int("upper", TriluAttributes(s.node()).upper)}));
}

void DepthToSpaceRule(Step& s) { s.Give(0, s.build.Call("SpaceToDepth", {s.dy()}, BlocksOf(s))); }

void SpaceToDepthRule(Step& s) { s.Give(0, s.build.Call("DepthToSpace", {s.dy()}, BlocksOf(s))); }

}  // namespace tessera::gradient
