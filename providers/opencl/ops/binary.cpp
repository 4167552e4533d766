// Operators of two tensors with broadcasting: one expression of OpenCL C each, in the table below; Mod, BitShift, Pow; and
// Sum, Mean, Max, Min, which are chains of them.

#include <algorithm>

#include "opencl/ops/elementwise.h"
#include "ops/activation/activation.h"
#include "ops/logical/bit_shift.h"
#include "ops/math/mod.h"

namespace tessera::opencl {
namespace {

struct Binary {
  const char* op_type;
  int version;
  const char* expression;  // over a, b, alpha
  TypeSet types;
  bool compares = false;
};

constexpr TypeSet kBinaryBool = {ElementType::kBool};

constexpr Binary kBinaries[] = {
    {"Add", 7, "a + b", kReals},
    {"Add", 7, "(WA)a + (WA)b", kIntegers},
    {"Sub", 7, "a - b", kReals},
    {"Sub", 7, "(WA)a - (WA)b", kIntegers},
    {"Mul", 7, "a * b", kReals},
    {"Mul", 7, "(WA)a * (WA)b", kIntegers},
    {"Div", 7, "a / b", kReals},
    {"Div", 7, "DIVIDE(a, b)", kIntegers},
    {"PRelu", 7, "a < 0 ? a * b : a", kReals},
    {"PRelu", 7, "a < 0 ? (TA)((WA)a * (WA)b) : a", kIntegers},
    {"And", 7, "a && b", kBinaryBool},
    {"Or", 7, "a || b", kBinaryBool},
    {"Xor", 7, "!a != !b", kBinaryBool},
    {"Equal", 7, "a == b", kNumbers | kBinaryBool, true},
    {"Greater", 7, "a > b", kNumbers, true},
    {"Less", 7, "a < b", kNumbers, true},
    {"GreaterOrEqual", 12, "a >= b", kNumbers, true},
    {"LessOrEqual", 12, "a <= b", kNumbers, true},
    {"BitwiseAnd", 18, "a & b", kIntegers},
    {"BitwiseOr", 18, "a | b", kIntegers},
    {"BitwiseXor", 18, "a ^ b", kIntegers},
    {"SwiGLU", 28, "a * sigmoid(alpha * a) * b", kReals},
};

template <size_t I>
std::unique_ptr<Kernel> MakeBinary(const KernelInfo& info) {
  return std::make_unique<Elementwise>(info, kBinaries[I].expression, ActivationAttributes(info.node()).alpha);
}

template <size_t... I>
void AddBinaries(KernelRegistry& registry, std::index_sequence<I...>) {
  const auto add = [&](const Binary& op, KernelFactory factory) {
    KernelDef def = Op(op.op_type).Versions(op.version).Types(0, op.types).Types(1, op.types).Factory(factory);
    // A comparison's input may have the result's size in bytes without having its shape.
    if (!op.compares) def.InPlace(0, 0).InPlace(1, 0);
    registry.Add(def);
  };
  (add(kBinaries[I], MakeBinary<I>), ...);
}

std::unique_ptr<Kernel> MakeMod(const KernelInfo& info) {
  const char* remainder = kReals.contains(info.input_type(0)) ? "fmod(a, b)" : "REMAINDER(a, b)";
  return std::make_unique<Elementwise>(info, ModAttributes(info.node()).truncates ? remainder : "modulo(a, b)");
}

/// Shifts by the width or more move everything out.
std::unique_ptr<Kernel> MakeBitShift(const KernelInfo& info) {
  const bool left = BitShiftAttributes(info.node()).left;
  const int width = BitWidth(info.input_type(0));
  const std::string expression =
      left ? fmt::format("(ulong)b >= {} ? (TA)0 : (TA)((WA)a << (b & {}))", width, width - 1)
           : fmt::format("(ulong)b >= {} ? (TA)(a < 0 ? -1 : 0) : (TA)(a >> (b & {}))", width, width - 1);
  return std::make_unique<Elementwise>(info, expression);
}

std::unique_ptr<Kernel> MakePow(const KernelInfo& info) {
  return std::make_unique<Elementwise>(info, kReals.contains(info.input_type(0)) ? "pow(a, (TA)b)" : "power(a, (long)b)");
}

/// The expression applied from input to input; the result of the last is scaled by `last_alpha`.
class Variadic : public Kernel {
 public:
  Variadic(const KernelInfo& info, const char* expression, bool mean)
      : step_(info, info.num_inputs() == 1 ? "a" : expression),
        last_alpha_(mean ? 1.0f / static_cast<float>(info.num_inputs()) : 1.0f) {}

  void Compute(KernelContext& context) override {
    const size_t count = context.num_inputs();
    Shape shape = context.required_input(0).shape();
    for (size_t i = 1; i < count; ++i) shape = Elementwise::Broadcast(shape, context.required_input(i).shape());
    const Tensor& y = *context.output(0, shape);
    const Tensor* left = &context.required_input(0);
    for (size_t i = std::min<size_t>(1, count - 1); i < count; ++i) {
      const Tensor* operands[] = {left, &context.required_input(i)};
      step_.Launch(context, operands, y, i + 1 == count ? last_alpha_ : 1.0f, 0);
      left = &y;
    }
  }

 private:
  Elementwise step_;
  float last_alpha_;
};

std::unique_ptr<Kernel> MakeSum(const KernelInfo& info) { return std::make_unique<Variadic>(info, "a + b", false); }
std::unique_ptr<Kernel> MakeMean(const KernelInfo& info) {
  return std::make_unique<Variadic>(info, "(a + b) * alpha", true);
}
/// A NaN on either side is the result.
std::unique_ptr<Kernel> MakeMax(const KernelInfo& info) {
  return std::make_unique<Variadic>(info, "a != a || a > b ? a : b", false);
}
std::unique_ptr<Kernel> MakeMin(const KernelInfo& info) {
  return std::make_unique<Variadic>(info, "a != a || a < b ? a : b", false);
}

}  // namespace

std::string_view ArithmeticExpressionOf(const Node& node) {
  if (node.domain.empty() && node.op_type == "Pow" && node.since_version >= 7) return "pow(a, b)";
  constexpr std::string_view kArithmetic[] = {"Add", "Sub", "Mul", "Div"};
  if (!node.domain.empty() || std::ranges::find(kArithmetic, node.op_type) == std::end(kArithmetic)) return {};
  for (const Binary& op : kBinaries) {
    if (node.op_type == op.op_type && op.version <= node.since_version && op.types.contains(ElementType::kFloat))
      return op.expression;
  }
  return {};
}

void RegisterBinary(KernelRegistry& registry) {
  AddBinaries(registry, std::make_index_sequence<std::size(kBinaries)>());
  registry.Add(Op("Mod").Versions(10).Types(0, kNumbers).Types(1, kNumbers).InPlace(0, 0).Factory(MakeMod));
  registry.Add(Op("BitShift").Versions(11).Types(0, kIntegers).Types(1, kIntegers).InPlace(0, 0).Factory(MakeBitShift));
  registry.Add(Op("Pow").Versions(7).Types(0, kReals).Types(1, kNumbers).InPlace(0, 0).Factory(MakePow));
  registry.Add(Op("Pow").Versions(12).Types(0, kIntegers).Types(1, kIntegers).InPlace(0, 0).Factory(MakePow));
  registry.Add(Op("Sum").Versions(6).Types(0, kReals).Factory(MakeSum));
  registry.Add(Op("Mean").Versions(6).Types(0, kReals).Factory(MakeMean));
  registry.Add(Op("Max").Versions(6).Types(0, kNumbers).Factory(MakeMax));
  registry.Add(Op("Min").Versions(6).Types(0, kNumbers).Factory(MakeMin));
}

}  // namespace tessera::opencl
