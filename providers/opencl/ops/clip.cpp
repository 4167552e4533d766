// Clip (1-13).

#include "ops/activation/clip.h"
#include "opencl/ops/elementwise.h"

namespace tessera::opencl {
namespace {

/// Inputs are scalars that may be omitted. Keeps NaN.
class Clip final : public Elementwise {
 public:
  explicit Clip(const KernelInfo& info) : Clip(info, ClipAttributes(info.node())) {}

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
  Clip(const KernelInfo& info, const ClipAttributes& attributes)
      : Elementwise(info, Expression(info, attributes), attributes.low.value_or(0), attributes.high.value_or(0)) {}

  static std::string Expression(const KernelInfo& info, const ClipAttributes& attributes) {
    const auto bound = [&](size_t i, bool is_attribute, const char* input, const char* scalar) {
      return info.has_input(i) ? input : is_attribute ? scalar : "";
    };
    const std::string low = bound(1, attributes.low.has_value(), "b", "(TA)alpha"),
                      high = bound(2, attributes.high.has_value(), "c", "(TA)beta");
    const std::string raised = low.empty() ? "a" : fmt::format("(a < {0} ? {0} : a)", low);
    return high.empty() ? raised : fmt::format("{0} > {1} ? {1} : {0}", raised, high);
  }
};

}  // namespace

void RegisterClip(KernelRegistry& registry) {
  registry.Add(Op("Clip").Versions(1).Types(0, kNumbers).InPlace(0, 0).Make<Clip>());
}

}  // namespace tessera::opencl
