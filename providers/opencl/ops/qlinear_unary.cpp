// QLinearSigmoid and QLinearLeakyRelu, com.microsoft, version 1.

#include "opencl/ops/qlinear.h"
#include "ops/activation/activation.h"

namespace tessera::opencl {
namespace {

template <bool kSigmoid>
class QLinearUnary final : public Kernel {
 public:
  explicit QLinearUnary(const KernelInfo& info)
      : alpha_(kSigmoid ? 0 : ActivationAttributes(info.node()).alpha),
        kernel_(DeviceOf(info), "qlinear_unary",
                QuantizedResult(info.output_type(0)) + (kSigmoid ? "#define SIGMOID\n" : ""), "qlinear_unary") {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const QuantizedScalar of_x(context, 1), of_y(context, 3);
    const Tensor& y = *context.output(0, x.shape());
    kernel_.Linear(context, y.num_elements(), x, y, of_x.scale, of_x.zero, of_y.scale, of_y.zero, alpha_);
  }

 private:
  cl_float alpha_;
  Launchable kernel_;
};

}  // namespace

void RegisterQLinearUnary(KernelRegistry& registry) {
  registry.Add(Op("QLinearSigmoid", "com.microsoft").Types(0, kInt8s).Make<QLinearUnary<true>>());
  registry.Add(Op("QLinearLeakyRelu", "com.microsoft").Types(0, kInt8s).Make<QLinearUnary<false>>());
}

}  // namespace tessera::opencl
