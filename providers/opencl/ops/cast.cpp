// Cast (6-28) and CastLike (15-28), to and from floats of 8 bits and from packed integers too.

#include "ops/math/cast.h"
#include "opencl/ops/elementwise.h"

namespace tessera::opencl {
namespace {

/// Floating point to integers goes through int or long, as on the CPU: what does not fit is the smallest one's low bits.
const char* CastExpression(ElementType from, ElementType to) {
  if (to == ElementType::kBool) return "a != 0";
  if (!kReals.contains(from) || (kReals | kFloat8s).contains(to)) return "a";
  return BitWidth(to) == 64 || to == ElementType::kUInt32 ? "to_long(a)" : "to_int(a)";
}

class Cast final : public Elementwise {
 public:
  explicit Cast(const KernelInfo& info)
      : Elementwise(info, Types(info), CastExpression(info.input_type(0), info.output_type(0)), 0, 0) {}

  void Compute(KernelContext& context) override {
    const Tensor* x = &context.required_input(0);
    Launch(context, {&x, 1}, *context.output(0, x->shape()));
  }

 private:
  static std::string Types(const KernelInfo& info) {
    std::string types = fmt::format("#define SATURATE {}\n", CastAttributes(info.node()).saturate ? 1 : 0) +
                        Computed('Y', info.output_type(0));
    for (const char name : {'A', 'B', 'C'}) types += Computed(name, info.input_type(0));
    return types;
  }
};

std::string RoundingRefusal(const NodeInfo& info) {
  const ElementType from = info.input_type(0), to = info.output_type(0);
  const TypeSet rounded = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16};
  if (kFloat8s.contains(to) && !rounded.contains(from))
    return "only floats of 16 and 32 bits are rounded to 8 on the device";
  if (kFloat8s.contains(from) && !kReals.contains(to)) return "floats of 8 bits become real numbers only on the device";
  const bool half = to == ElementType::kFloat16 || to == ElementType::kBFloat16;
  return half && from == ElementType::kDouble ? "double to half is rounded once on the CPU provider only" : "";
}

}  // namespace

void RegisterCast(KernelRegistry& registry) {
  constexpr TypeSet kCastable = kNumbers | TypeSet{ElementType::kBool};
  for (const auto& [op, version] : {std::pair("Cast", 6), std::pair("CastLike", 15)}) {
    registry.Add(Op(op)
                     .Versions(version)
                     .Types(0, kCastable | kFloat8s | kPackedIntegers)
                     .OutputTypes(0, kCastable | kFloat8s)
                     .Unless(RoundingRefusal)
                     .Make<Cast>());
  }
}

}  // namespace tessera::opencl
