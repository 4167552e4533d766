// QLinearAdd and QLinearMul, com.microsoft, version 1.

#include "opencl/ops/elementwise.h"
#include "opencl/ops/qlinear.h"

namespace tessera::opencl {
namespace {

template <bool kMultiplies>
class QLinearBinary final : public Kernel {
 public:
  explicit QLinearBinary(const KernelInfo& info)
      : kernel_(DeviceOf(info), "qlinear_binary",
                QuantizedResult(info.output_type(0)) + (kMultiplies ? "#define MULTIPLIES\n" : ""), "qlinear_binary") {}

  void Compute(KernelContext& context) override {
    const Tensor &a = context.required_input(0), &b = context.required_input(3);
    const Tensor& y = *context.output(0, Elementwise::Broadcast(a.shape(), b.shape()));
    const QuantizedScalar of_a(context, 1), of_b(context, 4), of_y(context, 6);
    Strided s = Block(y.shape());
    s.a = BroadcastStrides(a.shape(), y.shape());
    s.b = BroadcastStrides(b.shape(), y.shape());
    s.Coalesce();
    kernel_.Linear(context, y.num_elements(), a, b, y, of_a.scale, of_a.zero, of_b.scale, of_b.zero, of_y.scale, of_y.zero,
                   s);
  }

 private:
  Launchable kernel_;
};

}  // namespace

void RegisterQLinearBinary(KernelRegistry& registry) {
  registry.Add(Op("QLinearAdd", "com.microsoft").Types(0, kInt8s).Make<QLinearBinary<false>>());
  registry.Add(Op("QLinearMul", "com.microsoft").Types(0, kInt8s).Make<QLinearBinary<true>>());
}

}  // namespace tessera::opencl
