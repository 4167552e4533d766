// CausalConvWithState (27), and version 1 of com.microsoft, from which it came.

#include "ops/attention/causal_conv_with_state.h"

#include <limits>

#include "base/checked.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

class CausalConvWithState final : public Kernel {
 public:
  explicit CausalConvWithState(const KernelInfo& info)
      : kernel_(DeviceOf(info), "causal_conv_with_state", Computed('X', info.input_type(0)), "causal_conv"),
        silu_(CausalConvHasSilu(info.node())) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& weight = context.required_input(1);
    const Tensor *bias = context.input(2), *past = context.input(3);
    const CausalConvSizes s = InferCausalConv(x.shape(), weight.shape(), bias, past);
    Require(s.carried() < std::numeric_limits<cl_int>::max(), "weight is {}: so many taps are not counted", weight.shape());
    const Tensor* y = context.output(0, x.shape());
    const Tensor* present = context.output(1, Shape{s.batch, s.channels, s.carried()});
    const int64_t items = CheckedMul(CheckedMul(s.batch, s.channels), CheckedAdd(s.length, s.carried()));
    if (items == 0) return;
    kernel_.Linear(context, items, x, weight, bias, past, y, present, cl_long{s.channels}, cl_long{s.length},
                   static_cast<cl_int>(s.carried()), silu_);
  }

 private:
  Launchable kernel_;
  cl_int silu_;
};

}  // namespace

void RegisterCausalConvWithState(KernelRegistry& registry) {
  for (const char* domain : {"", "com.microsoft"}) {
    registry.Add(Op("CausalConvWithState", domain)
                     .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16})
                     .Make<CausalConvWithState>());
  }
}

}  // namespace tessera::opencl
