// Binarizer (ai.onnx.ml 1).

#include <type_traits>

#include "cpu/ops/ml/features.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

template <class T>
class Binarizer final : public Kernel {
 public:
  explicit Binarizer(const KernelInfo& info) : threshold_(info.attribute<float>("threshold", 0)) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Tensor* y = context.output(0, x.type(), x.shape());
    if (y == nullptr) return;
    const T* in = x.data<T>();
    T* out = y->mutable_data<T>();
    context.threads().ParallelFor(x.num_elements(), 0.3, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = static_cast<T>(in[i] > static_cast<Compared>(threshold_));
    });
  }

 private:
  using Compared = std::conditional_t<std::is_same_v<T, float>, float, double>;
  float threshold_;
};

}  // namespace

void RegisterBinarizer(KernelRegistry& registry) {
  registry.Add(Op("Binarizer", "ai.onnx.ml")
                   .Versions(1)
                   .Types(0, kMlNumbers)
                   .InPlace(0, 0)
                   .Factory(MakeTyped<Binarizer, MlNumberTypes>));
}

}  // namespace tessera::cpu
