#include "model/gradient/rules.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/activation/activation.h"
#include "ops/activation/clip.h"
#include "ops/activation/gelu.h"
#include "ops/math/legacy_broadcast.h"
#include "ops/math/mod.h"

namespace tessera::gradient {
namespace {

// --- elementwise operators of one input ---------------------------------------------------------------------------------

/// The output's gradient where `condition` holds, 0 elsewhere.
void Pass(Step& s, Term condition) { s.Give(0, s.build.Where(condition, s.dy(), s.build.Number(0, s.dy().element))); }
/// `low` times the output's gradient where x is below 0, that gradient elsewhere.
void Below(Step& s, Term low) { s.Give(0, s.build.Where(s.x() < 0.0, s.dy() * low, s.dy())); }
void Times(Step& s, Term factor) { s.Give(0, s.dy() * factor); }

Term Square(Term x) { return x * x; }
Term OneMinusSquare(Term x) { return 1.0 - Square(x); }
Term Exp(Term x) { return Apply("Exp", x); }
Term Sqrt(Term x) { return Apply("Sqrt", x); }
Term Abs(Term x) { return Apply("Abs", x); }
Term Sigmoid(Term x) { return Apply("Sigmoid", x); }
Term Tanh(Term x) { return Apply("Tanh", x); }

double Alpha(const Step& s) { return ActivationAttributes(s.node()).alpha; }

void Selu(Step& s) {
  const ActivationAttributes attributes(s.node());
  const Term scaled = s.dy() * attributes.beta;
  s.Give(0, s.build.Where(s.x() > 0.0, scaled, scaled * (Exp(s.x()) * attributes.alpha)));
}

void HardSwish(Step& s) {
  const Term inside = s.dy() * (s.x() / 3 + 0.5);
  const Term low = s.build.Where(s.x() > -3.0, inside, s.build.Number(0, s.dy().element));
  s.Give(0, s.build.Where(s.x() < 3.0, low, s.dy()));
}

void Mish(Step& s) {
  const Term t = Tanh(Apply("Softplus", s.x()));
  Times(s, t + s.x() * OneMinusSquare(t) * Sigmoid(s.x()));
}

void Swish(Step& s) {
  const double alpha = Alpha(s);
  const Term sigmoid = Sigmoid(s.x() * alpha);
  Times(s, sigmoid + s.x() * sigmoid * (1.0 - sigmoid) * alpha);
}

void Gelu(Step& s) {
  const Term x = s.x();
  if (!GeluAttributes(s.node()).tanh) {
    const Term below = (Apply("Erf", x / std::numbers::sqrt2) + 1) * 0.5;
    return Times(s, below + x * Exp(Square(x) * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2));
  }
  constexpr double kScale = std::numbers::inv_sqrtpi * std::numbers::sqrt2, kCubic = 0.044715;
  const Term t = Tanh((x + Square(x) * x * kCubic) * kScale);
  const Term slope = (Square(x) * (3 * kCubic) + 1) * kScale;
  Times(s, (t + 1) * 0.5 + x * OneMinusSquare(t) * slope * 0.5);
}

void Clip(Step& s) {
  const ClipAttributes attributes(s.node());
  const auto bound = [&](size_t input, std::optional<float> attribute) {
    if (!attributes.from_attributes) return s.x(input);
    return attribute ? s.build.Number(*attribute, s.dy().element) : Term();
  };
  const Term low = bound(1, attributes.low), high = bound(2, attributes.high);
  const Term zero = s.build.Number(0, s.dy().element);
  Term inside = s.dy();
  if (high) inside = s.build.Where(s.x() > high, zero, inside);
  if (low) inside = s.build.Where(s.x() < low, zero, inside);
  s.Give(0, inside);
  const auto total = [&](Term t) { return s.build.Call("ReduceSum", {t}, {Int("keepdims", 0)}); };
  const auto give = [&](size_t i, Term t) { s.Give(i, s.build.Reshape(total(t), s.build.ShapeOf(s.x(i)))); };
  // The upper bound wins where the two contradict each other.
  if (s.wants(2)) give(2, s.build.Where((low ? s.build.Call("Max", {s.x(), low}) : s.x()) > high, s.dy(), zero));
  if (s.wants(1)) {
    const Term below = s.x() < low;
    give(1, s.build.Where(high ? And(below, Not(low > high)) : below, s.dy(), zero));
  }
}

// --- elementwise operators of several inputs -----------------------------------------------------------------------------

/// Where input 1 lies in input 0. Before version 7 it may start at an axis; then the dimensions after it are missing too.
struct Alignment {
  std::vector<int64_t> outside;  // axes of input 0 that input 1 lacks; empty where numpy's rules hold
  std::vector<int64_t> trailing;
};

Alignment AlignmentOf(const Step& s, Term a, Term b, int64_t axis) {
  const auto rank = static_cast<int64_t>(s.rank(a)), b_rank = static_cast<int64_t>(s.rank(b));
  axis = s.axis(axis, static_cast<size_t>(rank));
  s.Expect(axis + b_rank <= rank, "with an axis that leaves no room for its second input");
  Alignment alignment;
  for (int64_t i = 0; i < rank; ++i) {
    if (i >= axis + b_rank) alignment.trailing.push_back(i - axis);
    if (i < axis || i >= axis + b_rank) alignment.outside.push_back(i);
  }
  return alignment;
}

/// Two operands, the second one in a shape that broadcasts as numpy does.
class Operands {
 public:
  explicit Operands(Step& s) : step_(s), a(s.x(0)), b(s.x(1)) {
    const LegacyBroadcastAttributes attributes(s.node());
    if (s.version() >= 7 || !attributes.broadcasts || !attributes.axis) return;
    alignment_ = AlignmentOf(s, a, b, *attributes.axis);
    if (!alignment_.trailing.empty()) b = s.build.Call("Unsqueeze", {b, s.build.Ints(alignment_.trailing)});
  }

  void Give(Term of_a, Term of_b) {
    step_.GiveSummed(0, of_a);
    if (alignment_.outside.empty()) return step_.GiveSummed(1, of_b);
    if (!step_.wants(1)) return;
    Builder& build = step_.build;
    step_.Give(1, build.Reshape(build.ReduceSum(of_b, build.Ints(alignment_.outside), false), build.ShapeOf(step_.x(1))));
  }

 private:
  Step& step_;
  Alignment alignment_;

 public:
  Term a, b;
};

void Add(Step& s) { Operands(s).Give(s.dy(), s.dy()); }
void Sub(Step& s) { Operands(s).Give(s.dy(), s.wants(1) ? -s.dy() : Term()); }

void Mul(Step& s) {
  Operands o(s);
  o.Give(s.wants(0) ? s.dy() * o.b : Term(), s.wants(1) ? s.dy() * o.a : Term());
}

void Div(Step& s) {
  Operands o(s);
  const Term share = s.dy() / o.b;
  o.Give(share, s.wants(1) ? -(share * s.y()) : Term());
}

void Pow(Step& s) {
  Operands o(s);
  const Term power = s.build.Cast(o.b, o.a.element);
  const Term zero = s.build.Number(0, o.a.element), one = s.build.Number(1, o.a.element);
  Term of_a, of_b;
  if (s.wants(0)) {
    // Where the power is 0 the slope is 0, whatever the base.
    const Term slope = power * s.build.Call("Pow", {o.a, power - one});
    of_a = s.dy() * s.build.Where(Equal(power, zero), zero, slope);
  }
  if (s.wants(1)) {
    const Term log = s.build.Where(o.a > zero, Apply("Log", s.build.Where(o.a > zero, o.a, one)), zero);
    of_b = s.build.Cast(s.dy() * s.y() * log, o.b.element);
  }
  o.Give(of_a, of_b);
}

void Mod(Step& s) {
  Operands o(s);
  Term of_b;
  if (s.wants(1)) {
    const Term ratio = o.a / o.b;
    of_b = -(s.dy() * (ModAttributes(s.node()).truncates ? Apply("Sign", ratio) * Apply("Floor", Abs(ratio))
                                                         : Apply("Floor", ratio)));
  }
  o.Give(s.dy(), of_b);
}

void PRelu(Step& s) {
  const Term x = s.x(), slope = s.x(1);
  const SymbolicShape* dims = s.build.DimsOf(slope);
  // Before version 7 the slope is one number or one for each channel.
  const bool channels = s.version() < 7 && dims != nullptr && dims->size() == 1 && dims->front().value != 1;
  const Alignment alignment = channels ? AlignmentOf(s, x, slope, 1) : Alignment();
  const Term broad =
      alignment.trailing.empty() ? slope : s.build.Call("Unsqueeze", {slope, s.build.Ints(alignment.trailing)});
  const Term zero = s.build.Number(0, x.element);
  if (s.wants(0)) s.Give(0, s.build.Where(x < zero, s.dy() * broad, s.dy()));
  if (!s.wants(1)) return;
  const Term of_slope = s.build.Where(x < zero, s.dy() * x, zero);
  if (!channels) return s.GiveSummed(1, of_slope);
  s.Give(1, s.build.ReduceSum(of_slope, s.build.Ints(alignment.outside), false));
}

/// Those that equal the result share its gradient.
void Extreme(Step& s) {
  Term count;
  std::vector<Term> equal;
  for (size_t i = 0; i < s.num_x(); ++i) {
    equal.push_back(s.build.Cast(Equal(s.x(i), s.y()), s.dy().element));
    count = count ? count + equal.back() : equal.back();
  }
  const Term share = s.dy() / count;
  for (size_t i = 0; i < s.num_x(); ++i) {
    if (s.wants(i)) s.GiveSummed(i, share * equal[i]);
  }
}

void Sum(Step& s) {
  for (size_t i = 0; i < s.num_x(); ++i) s.GiveSummed(i, s.dy());
}

void Mean(Step& s) {
  const Term share = s.dy() / static_cast<double>(s.num_x());
  for (size_t i = 0; i < s.num_x(); ++i) s.GiveSummed(i, share);
}

void WhereRule(Step& s) {
  const Term zero = s.build.Number(0, s.dy().element);
  if (s.wants(1)) s.GiveSummed(1, s.build.Where(s.x(0), s.dy(), zero));
  if (s.wants(2)) s.GiveSummed(2, s.build.Where(s.x(0), zero, s.dy()));
}

void CastRule(Step& s) { s.Give(0, s.build.Cast(s.dy(), s.x().element)); }

/// Steps and constants: their slope is 0 wherever there is one.
void Nothing(Step&) {}

struct Entry {
  std::string_view op_type;
  Rule rule;
};

constexpr Entry kRules[] = {
    {"Abs", [](Step& s) { Times(s, Apply("Sign", s.x())); }},
    {"Acos", [](Step& s) { s.Give(0, -(s.dy() / Sqrt(OneMinusSquare(s.x())))); }},
    {"Acosh", [](Step& s) { s.Give(0, s.dy() / Sqrt(Square(s.x()) + -1)); }},
    {"Add", Add},
    {"Asin", [](Step& s) { s.Give(0, s.dy() / Sqrt(OneMinusSquare(s.x()))); }},
    {"Asinh", [](Step& s) { s.Give(0, s.dy() / Sqrt(Square(s.x()) + 1)); }},
    {"Atan", [](Step& s) { s.Give(0, s.dy() / (Square(s.x()) + 1)); }},
    {"Atanh", [](Step& s) { s.Give(0, s.dy() / OneMinusSquare(s.x())); }},
    {"AveragePool", AveragePoolRule},
    {"BatchNormalization", BatchNormalizationRule},
    {"Bernoulli", Nothing},
    {"Cast", CastRule},
    {"CastLike", CastRule},
    {"Ceil", Nothing},
    {"Celu", [](Step& s) { Below(s, Exp(s.x() / Alpha(s))); }},
    {"Clip", Clip},
    {"Compress", SelectionRule},
    {"Concat", ConcatRule},
    {"ConstantOfShape", Nothing},
    {"Conv", ConvRule},
    {"ConvTranspose", ConvTransposeRule},
    {"Cos", [](Step& s) { Times(s, -Apply("Sin", s.x())); }},
    {"Cosh", [](Step& s) { Times(s, Apply("Sinh", s.x())); }},
    {"CumSum", CumSumRule},
    {"DepthToSpace", DepthToSpaceRule},
    {"Div", Div},
    {"Dropout", DropoutRule},
    {"Einsum", EinsumRule},
    {"Elu", [](Step& s) { Below(s, Exp(s.x()) * Alpha(s)); }},
    {"Erf", [](Step& s) { Times(s, Exp(-Square(s.x())) * (2 * std::numbers::inv_sqrtpi)); }},
    {"Exp", [](Step& s) { Times(s, s.y()); }},
    {"Expand", ExpandRule},
    {"EyeLike", Nothing},
    {"Flatten", ReshapeRule},
    {"Floor", Nothing},
    {"Gather", GatherRule},
    {"GatherElements", SelectionRule},
    {"GatherND", SelectionRule},
    {"Gelu", Gelu},
    {"Gemm", GemmRule},
    {"GlobalAveragePool", GlobalAveragePoolRule},
    {"GlobalMaxPool", GlobalMaxPoolRule},
    {"HardSigmoid",
     [](Step& s) {
       const Term scaled = s.dy() * Alpha(s), zero = s.build.Number(0, s.dy().element);
       s.Give(0, s.build.Where(And(s.y() > 0.0, s.y() < 1.0), scaled, zero));
     }},
    {"HardSwish", HardSwish},
    {"Hardmax", Nothing},
    {"Identity", [](Step& s) { s.Give(0, s.dy()); }},
    {"InstanceNormalization", InstanceNormalizationRule},
    {"LRN", LrnRule},
    {"LeakyRelu", [](Step& s) { Below(s, s.build.Number(Alpha(s), s.dy().element)); }},
    {"Log", [](Step& s) { s.Give(0, s.dy() / s.x()); }},
    {"LogSoftmax", LogSoftmaxRule},
    {"LpNormalization", LpNormalizationRule},
    {"MatMul", MatMulRule},
    {"Max", Extreme},
    {"MaxPool", MaxPoolRule},
    {"Mean", Mean},
    {"Min", Extreme},
    {"Mish", Mish},
    {"Mod", Mod},
    {"Mul", Mul},
    {"Multinomial", Nothing},
    {"Neg", [](Step& s) { s.Give(0, -s.dy()); }},
    {"PRelu", PRelu},
    {"Pad", PadRule},
    {"Pow", Pow},
    {"RandomNormalLike", Nothing},
    {"RandomUniformLike", Nothing},
    {"Reciprocal", [](Step& s) { Times(s, -Square(s.y())); }},
    {"ReduceL1", ReduceL1Rule},
    {"ReduceL2", ReduceL2Rule},
    {"ReduceLogSum", ReduceLogSumRule},
    {"ReduceLogSumExp", ReduceLogSumExpRule},
    {"ReduceMax", ReduceExtremeRule},
    {"ReduceMean", ReduceMeanRule},
    {"ReduceMin", ReduceExtremeRule},
    {"ReduceProd", ReduceProdRule},
    {"ReduceSum", ReduceSumRule},
    {"ReduceSumSquare", ReduceSumSquareRule},
    {"Relu", [](Step& s) { Pass(s, s.x() > 0.0); }},
    {"Reshape", ReshapeRule},
    {"ReverseSequence", SelectionRule},
    {"Round", Nothing},
    {"Scatter", ScatterElementsRule},
    {"ScatterElements", ScatterElementsRule},
    {"ScatterND", ScatterNDRule},
    {"Selu", Selu},
    {"Shrink", [](Step& s) { Pass(s, Abs(s.x()) > s.build.Number(Alpha(s), s.dy().element)); }},
    {"Sigmoid", [](Step& s) { Times(s, s.y() * (1.0 - s.y())); }},
    {"Sign", Nothing},
    {"Sin", [](Step& s) { Times(s, Apply("Cos", s.x())); }},
    {"Sinh", [](Step& s) { Times(s, Apply("Cosh", s.x())); }},
    {"Slice", SelectionRule},
    {"Softmax", SoftmaxRule},
    {"Softplus", [](Step& s) { Times(s, Sigmoid(s.x())); }},
    {"Softsign", [](Step& s) { s.Give(0, s.dy() / Square(Abs(s.x()) + 1)); }},
    {"SpaceToDepth", SpaceToDepthRule},
    {"Split", SplitRule},
    {"Sqrt", [](Step& s) { s.Give(0, s.dy() * 0.5 / s.y()); }},
    {"Squeeze", ReshapeRule},
    {"Sub", Sub},
    {"Sum", Sum},
    {"Swish", Swish},
    {"Tan", [](Step& s) { Times(s, Square(s.y()) + 1); }},
    {"Tanh", [](Step& s) { Times(s, OneMinusSquare(s.y())); }},
    {"ThresholdedRelu", [](Step& s) { Pass(s, s.x() > Alpha(s)); }},
    {"Tile", SelectionRule},
    {"TopK", TopKRule},
    {"Transpose", TransposeRule},
    {"Trilu", TriluRule},
    {"Unsqueeze", ReshapeRule},
    {"Where", WhereRule},
};

}  // namespace

Rule FindRule(const Node& node) noexcept {
  static_assert(std::is_sorted(std::begin(kRules), std::end(kRules),
                               [](const Entry& a, const Entry& b) { return a.op_type < b.op_type; }));
  if (!node.domain.empty()) return nullptr;
  const auto found =
      std::lower_bound(std::begin(kRules), std::end(kRules), node.op_type,
                       [](const Entry& entry, const std::string& op_type) { return entry.op_type < op_type; });
  return found != std::end(kRules) && found->op_type == node.op_type ? found->rule : nullptr;
}

}  // namespace tessera::gradient
