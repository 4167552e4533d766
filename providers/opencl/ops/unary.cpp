// Operators of one tensor, element by element: one expression of OpenCL C each, in the table below; Gelu.

#include "opencl/ops/elementwise.h"
#include "ops/activation/activation.h"
#include "ops/activation/gelu.h"
#include "ops/logical/is_inf.h"
#include "ops/valid_attributes.h"

namespace tessera::opencl {
namespace {

struct Unary {
  const char* op_type;
  int version;
  const char* expression;  // over a, alpha, beta
  TypeSet types = kReals;
};

constexpr TypeSet kBool = {ElementType::kBool};

// Of functions that have one, the precision is that of OpenCL's full profile: at most 4 ulp, 16 for erf.
constexpr Unary kUnaries[] = {
    {"Relu", 1, "a < 0 ? (TA)0 : a", kReals | kSigned},
    {"Sigmoid", 1, "sigmoid(a)"},
    {"Tanh", 1, "saturated_tanh(a)"},
    {"Exp", 1, "exp(a)"},
    {"Log", 1, "log(a)"},
    {"Sqrt", 1, "sqrt(a)"},
    {"Reciprocal", 1, "R(1.0) / a"},
    {"Erf", 9, "saturated_erf(a)"},
    {"Floor", 1, "floor(a)"},
    {"Ceil", 1, "ceil(a)"},
    {"Round", 11, "rint(a)"},
    {"Sin", 7, "sin(a)"},
    {"Cos", 7, "cos(a)"},
    {"Tan", 7, "tan(a)"},
    {"Asin", 7, "asin(a)"},
    {"Acos", 7, "acos(a)"},
    {"Atan", 7, "atan(a)"},
    {"Sinh", 9, "sinh(a)"},
    {"Cosh", 9, "cosh(a)"},
    {"Asinh", 9, "asinh(a)"},
    {"Acosh", 9, "acosh(a)"},
    {"Atanh", 9, "atanh(a)"},
    {"Abs", 1, "fabs(a)"},
    {"Abs", 1, "a < 0 ? (TA)((WA)0 - (WA)a) : a", kIntegers},
    {"Neg", 1, "-a"},
    {"Neg", 1, "(TA)((WA)0 - (WA)a)", kSigned},
    {"Sign", 9, "isnan(a) ? a : (TA)((a > 0) - (a < 0))"},
    {"Sign", 9, "(a > 0) - (a < 0)", kIntegers},
    {"Softplus", 1, "softplus(a)"},
    {"Softsign", 1, "a / (R(1.0) + fabs(a))"},
    {"Mish", 18, "a * saturated_tanh(softplus(a))"},
    {"HardSwish", 14, "a * fmax((TA)0, fmin((TA)1, a / (TA)6 + R(0.5)))"},
    {"LeakyRelu", 1, "a < 0 ? a * alpha : a"},
    {"ThresholdedRelu", 10, "a > alpha ? a : (TA)0"},
    {"Elu", 1, "a < 0 ? alpha * expm1(a) : a"},
    {"Selu", 6, "beta * (a < 0 ? alpha * expm1(a) : a)"},
    {"Celu", 12, "a < 0 ? alpha * expm1(a / alpha) : a"},
    {"HardSigmoid", 1, "a * alpha + beta < 0 ? (TA)0 : a * alpha + beta > 1 ? (TA)1 : a * alpha + beta"},
    {"Swish", 24, "a * sigmoid(alpha * a)"},
    {"Shrink", 9, "a < -(TA)alpha ? a + beta : a > (TA)alpha ? a - beta : (TA)0"},
    {"IsNaN", 9, "isnan(a)"},
    {"Not", 1, "!a", kBool},
    {"BitwiseNot", 18, "~a", kIntegers},
};

template <size_t I>
std::unique_ptr<Kernel> MakeUnary(const KernelInfo& info) {
  const ActivationAttributes attributes(info.node());
  return std::make_unique<Elementwise>(info, kUnaries[I].expression, attributes.alpha, attributes.beta);
}

template <size_t... I>
void AddUnaries(KernelRegistry& registry, std::index_sequence<I...>) {
  (registry.Add(Op(kUnaries[I].op_type)
                    .Versions(kUnaries[I].version)
                    .Types(0, kUnaries[I].types)
                    .InPlace(0, 0)
                    .Factory(MakeUnary<I>)),
   ...);
}

const char* GeluExpression(const GeluAttributes& attributes) { return attributes.tanh ? "tanh_gelu(a)" : "erf_gelu(a)"; }

std::unique_ptr<Kernel> MakeGelu(const KernelInfo& info) {
  return std::make_unique<Elementwise>(info, GeluExpression(GeluAttributes(info.node())));
}

/// com.microsoft's: with a bias, of the tanh approximation, of the logistic one.
std::unique_ptr<Kernel> MakeBiasGelu(const KernelInfo& info) {
  return std::make_unique<Elementwise>(info, "erf_gelu(a + b)");
}
std::unique_ptr<Kernel> MakeFastGelu(const KernelInfo& info) {
  return std::make_unique<Elementwise>(info, info.has_input(1) ? "tanh_gelu(a + b)" : "tanh_gelu(a)");
}
std::unique_ptr<Kernel> MakeQuickGelu(const KernelInfo& info) {
  return std::make_unique<Elementwise>(info, "a * sigmoid(alpha * a)", ActivationAttributes(info.node()).alpha);
}

std::unique_ptr<Kernel> MakeIsInf(const KernelInfo& info) {
  const IsInfAttributes counted(info.node());
  return std::make_unique<Elementwise>(
      info, fmt::format("isinf(a) && (a < 0 ? {:d} : {:d})", counted.negative, counted.positive));
}

}  // namespace

std::optional<UnaryExpression> UnaryExpressionOf(const Node& node) {
  if (!node.domain.empty()) return std::nullopt;
  if (node.op_type == "Gelu") {
    const auto gelu = ValidAttributes<GeluAttributes>(node);
    return gelu ? std::optional(UnaryExpression{GeluExpression(*gelu)}) : std::nullopt;
  }
  for (const Unary& op : kUnaries) {
    if (node.op_type != op.op_type || !op.types.contains(ElementType::kFloat) || op.version > node.since_version) continue;
    if (node.op_type == "IsNaN") continue;  // not of its input's type
    const ActivationAttributes attributes(node);
    return UnaryExpression{op.expression, attributes.alpha, attributes.beta};
  }
  return std::nullopt;
}

void RegisterUnary(KernelRegistry& registry) {
  AddUnaries(registry, std::make_index_sequence<std::size(kUnaries)>());
  registry.Add(Op("Gelu").Versions(20).Types(0, kReals).InPlace(0, 0).Factory(MakeGelu));
  registry.Add(Op("BiasGelu", "com.microsoft").Types(0, kReals).InPlace(0, 0).Factory(MakeBiasGelu));
  registry.Add(Op("FastGelu", "com.microsoft").Types(0, kReals).InPlace(0, 0).Factory(MakeFastGelu));
  registry.Add(Op("QuickGelu", "com.microsoft").Types(0, kReals).InPlace(0, 0).Factory(MakeQuickGelu));
  registry.Add(Op("IsInf").Versions(10).Types(0, kReals).Factory(MakeIsInf));
}

}  // namespace tessera::opencl
