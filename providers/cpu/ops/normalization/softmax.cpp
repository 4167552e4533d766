// Softmax, LogSoftmax: versions 1, 11 (the input seen as a matrix from `axis` on), 13 (one axis).

#include "cpu/engine/softmax.h"

#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/normalization/softmax.h"

namespace tessera::cpu {
namespace {

template <class T, bool kLog>
class SoftmaxKernel final : public Kernel {
 public:
  explicit SoftmaxKernel(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape& shape = input.shape();
    Tensor* out = context.output(0, shape);
    if (out == nullptr || out->num_elements() == 0) return;
    const AxisView view = attributes_.View(shape);
    SoftmaxAlong<T>(context, view, input.data<T>(), out->mutable_data<T>(), kLog);
  }

 private:
  const SoftmaxAttributes attributes_;
};

template <class T>
using Softmax = SoftmaxKernel<T, false>;
template <class T>
using LogSoftmax = SoftmaxKernel<T, true>;

}  // namespace

void RegisterSoftmax(KernelRegistry& registry) {
  registry.Add(Op("Softmax").Types(0, kFloats).InPlace(0, 0).Factory(MakeTyped<Softmax, FloatTypes>));
}
void RegisterLogSoftmax(KernelRegistry& registry) {
  registry.Add(Op("LogSoftmax").Types(0, kFloats).InPlace(0, 0).Factory(MakeTyped<LogSoftmax, FloatTypes>));
}

}  // namespace tessera::cpu
