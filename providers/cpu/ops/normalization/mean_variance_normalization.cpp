// MeanVarianceNormalization: versions 9, 13.

#include <cmath>

#include "cpu/engine/normalize.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/normalization/mean_variance_normalization.h"

namespace tessera::cpu {
namespace {

template <class C>
class MeanVarianceNormalization final : public Kernel {
 public:
  explicit MeanVarianceNormalization(const KernelInfo& info)
      : axes_(MeanVarianceNormalizationAttributes(info.node()).axes) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Tensor* y = context.output(0, x.shape());
    const Shape reduced = ReducedDimensions(x.shape(), axes_);
    if (y == nullptr || y->num_elements() == 0) return;
    const Reduction reduction(x.shape(), reduced);
    const size_t outputs = static_cast<size_t>(reduction.outputs);
    const auto mean = context.scratch<C>(outputs), a = context.scratch<C>(outputs), b = context.scratch<C>(outputs);
    const auto variance = context.scratch<double>(outputs);
    MomentsOfReduced<C>(context, reduction, x, mean.data(), variance.data());
    for (size_t i = 0; i < outputs; ++i) {
      a[i] = static_cast<C>(1 / (std::sqrt(variance[i]) + 1e-9));
      b[i] = C{0};
    }
    AffineOfReduced<C>(context, reduction, RowReader<C>(x), RowWriter<C>(*y), mean.data(), a.data(), b.data());
  }

 private:
  std::vector<int64_t> axes_;
};

}  // namespace

void RegisterMeanVarianceNormalization(KernelRegistry& registry) {
  registry.Add(
      Op("MeanVarianceNormalization").Types(0, kFloats).InPlace(0, 0).Factory(MakeComputed<MeanVarianceNormalization>));
}

}  // namespace tessera::cpu
