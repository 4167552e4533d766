// Hardmax: versions 1, 11 (the input seen as a matrix from `axis` on), 13 (one axis).

#include "base/cancellable_memory.h"
#include "cpu/engine/arg_extreme.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/normalization/softmax.h"

namespace tessera::cpu {
namespace {

template <class T>
class Hardmax final : public Kernel {
 public:
  explicit Hardmax(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape& shape = input.shape();
    Tensor* out = context.output(0, shape);
    if (out == nullptr || out->num_elements() == 0) return;
    const AxisView view = attributes_.View(shape);
    const auto index = context.scratch<int64_t>(static_cast<size_t>(view.outer * view.inner));
    ArgExtreme<T>(context, view, input.data<T>(), false, false, index.data());
    T* y = out->mutable_data<T>();
    ClearCancellably(y, out->byte_size());
    PacedCancellationPoint look(5);
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t k = 0; k < view.inner; ++k, look.Pass()) {
        y[(o * view.count + index[static_cast<size_t>(o * view.inner + k)]) * view.inner + k] = static_cast<T>(1.0f);
      }
    }
  }

 private:
  const SoftmaxAttributes attributes_;
};

}  // namespace

void RegisterHardmax(KernelRegistry& registry) {
  registry.Add(Op("Hardmax").Types(0, kFloats).Factory(MakeTyped<Hardmax, FloatTypes>));
}

}  // namespace tessera::cpu
