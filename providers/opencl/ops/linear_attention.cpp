// LinearAttention (27), and version 1 of com.microsoft, from which it came.

#include "ops/attention/linear_attention.h"

#include "base/checked.h"
#include "opencl/device/kernel.h"
#include "opencl/device/scratch.h"

namespace tessera::opencl {
namespace {

/// The same struct stands in linear_attention.cl.
struct LinearAttentionLayout {
  cl_long steps, heads, width, value_width, q_heads, group, decay_step = 0, beta_step = 0;
  cl_int decay_row = 0;
  cl_float scale;
};

class LinearAttention final : public Kernel {
 public:
  explicit LinearAttention(const KernelInfo& info)
      : attributes_(info.node()),
        kernel_(DeviceOf(info), "linear_attention", Computed('X', info.input_type(0)) + Computed('S', StateType(info)),
                "linear_attention") {}

  void Compute(KernelContext& context) override {
    const Tensor& query = context.required_input(0);
    const Tensor& key = context.required_input(1);
    const Tensor& value = context.required_input(2);
    const Tensor *past = context.input(3), *decay = context.input(4), *beta = context.input(5);
    const LinearAttentionSizes s = attributes_.Infer(query.shape(), key.shape(), value.shape(), past);
    LinearAttentionLayout layout{.steps = s.steps,
                                 .heads = s.heads,
                                 .width = s.width,
                                 .value_width = s.value_width,
                                 .q_heads = attributes_.q_heads,
                                 .group = attributes_.out_heads / attributes_.kv_heads,
                                 .scale = attributes_.Scale(s)};
    if (decay != nullptr) {
      CheckDecay(decay->shape(), s);
      layout.decay_step = decay->shape()[2];
      layout.decay_row = layout.decay_step == s.heads ? 0 : 1;
    }
    if (beta != nullptr) {
      CheckBeta(beta->shape(), s);
      layout.beta_step = beta->shape()[2];
    }
    const Tensor* y = context.output(0, Shape{s.batch, s.steps, CheckedMul(attributes_.out_heads, s.value_width)});
    const Tensor* present = context.output(1, Shape{s.batch, s.heads, s.width, s.value_width});
    const int64_t columns = CheckedMul(CheckedMul(s.batch, s.heads), s.value_width);
    if (columns == 0) return;
    const DeviceScratch state(context,
                              static_cast<size_t>(CheckedMul<int64_t>(CheckedMul(columns, s.width), sizeof(cl_float))));
    kernel_.Linear(context, columns, query, key, value, past, decay, beta, y, present, state.range(), layout);
  }

 private:
  static ElementType StateType(const KernelInfo& info) {
    if (info.has_input(3)) return info.input_type(3);
    return info.has_output(1) ? info.output_type(1) : info.input_type(0);
  }

  LinearAttentionAttributes attributes_;
  Launchable kernel_;
};

}  // namespace

void RegisterLinearAttention(KernelRegistry& registry) {
  for (const char* domain : {"", "com.microsoft"}) {
    registry.Add(Op("LinearAttention", domain)
                     .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16})
                     .Make<LinearAttention>());
  }
}

}  // namespace tessera::opencl
