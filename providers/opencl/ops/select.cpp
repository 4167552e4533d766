// Where (9, 16), Cast (6-28) and CastLike (15-28), to and from floats of 8 bits and from packed integers too, Clip (1-13).

#include <limits>

#include "opencl/ops/elementwise.h"

namespace tessera::opencl {
namespace {

/// Elements are moved by their width.
std::unique_ptr<Kernel> MakeWhere(const KernelInfo& info) {
  const ElementType type = info.output_type(0);
  return std::make_unique<Elementwise>(
      info, Computed('A', ElementType::kBool) + Moved('B', type) + Moved('C', type) + Moved('Y', type), "a ? b : c", 0, 0);
}

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
    std::string types = fmt::format("#define SATURATE {}\n", info.attribute<int64_t>("saturate", 1) != 0 ? 1 : 0) +
                        Computed('Y', info.output_type(0));
    for (const char name : {'A', 'B', 'C'}) types += Computed(name, info.input_type(0));
    return types;
  }
};

/// Bounds are attributes before version 11, with defaults from version 6 on, then scalars that may be omitted. Keeps NaN.
class Clip final : public Elementwise {
 public:
  explicit Clip(const KernelInfo& info)
      : Elementwise(info, Expression(info), info.attribute<float>("min", std::numeric_limits<float>::lowest()),
                    info.attribute<float>("max", std::numeric_limits<float>::max())) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Tensor bounds[2] = {x, x};
    for (size_t i = 0; i < 2; ++i) {
      const Tensor* bound = context.input(i + 1);
      if (bound == nullptr) continue;
      Require(bound->num_elements() == 1, "a bound is {}, not one number", bound->shape());
      bounds[i] = bound->Reshaped(Shape{});
    }
    const Tensor* operands[] = {&x, &bounds[0], &bounds[1]};
    Launch(context, operands, *context.output(0, x.shape()));
  }

 private:
  static std::string Expression(const KernelInfo& info) {
    const bool has_defaults = info.since_version() >= 6 && info.since_version() < 11;
    const auto bound = [&](size_t i, const char* attribute, const char* input, const char* scalar) {
      return info.has_input(i) ? input : has_defaults || info.has_attribute(attribute) ? scalar : "";
    };
    const std::string low = bound(1, "min", "b", "(TA)alpha"), high = bound(2, "max", "c", "(TA)beta");
    const std::string raised = low.empty() ? "a" : fmt::format("(a < {0} ? {0} : a)", low);
    return high.empty() ? raised : fmt::format("{0} > {1} ? {1} : {0}", raised, high);
  }
};

}  // namespace

void RegisterSelect(KernelRegistry& registry) {
  registry.Add(Op("Where").Versions(9).Types(1, kMovable).Types(2, kMovable).Factory(MakeWhere));
  constexpr TypeSet kCastable = kNumbers | TypeSet{ElementType::kBool};
  for (const auto& [op, version] : {std::pair("Cast", 6), std::pair("CastLike", 15)}) {
    registry.Add(Op(op)
                     .Versions(version)
                     .Types(0, kCastable | kFloat8s | kPackedIntegers)
                     .OutputTypes(0, kCastable | kFloat8s)
                     .Make<Cast>());
  }
  registry.Add(Op("Clip").Versions(1).Types(0, kNumbers).InPlace(0, 0).Make<Clip>());
}

}  // namespace tessera::opencl
