// LpNormalization: versions 1, 22. Rows of norm 0 stay 0.

#include <cmath>

#include "cpu/engine/normalize.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/axis.h"
#include "ops/normalization/lp_normalization.h"

namespace tessera::cpu {
namespace {

template <class T>
class LpNormalization final : public Kernel {
 public:
  explicit LpNormalization(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    using C = ComputeType<T>;
    const Tensor& x = context.required_input(0);
    Tensor* y = context.output(0, x.shape());
    Shape reduced(x.shape().rank(), 0);
    reduced[NormalizeAxis(attributes_.axis, x.shape().rank())] = 1;
    if (y == nullptr || y->num_elements() == 0) return;
    const Reduction reduction(x.shape(), reduced);
    const auto a = context.scratch<C>(static_cast<size_t>(reduction.outputs)), zero = context.scratch<C>(a.size());
    std::fill(zero.begin(), zero.end(), C{0});
    FoldTensor<T, C>(context, reduction, attributes_.p == 1 ? Fold::kSumAbs : Fold::kSumSquare, x.data<T>(), nullptr,
                     [&](int64_t first, const Wide<C>* values, int64_t count) {
                       for (int64_t i = 0; i < count; ++i) {
                         const double norm = attributes_.p == 1 ? values[i] : std::sqrt(values[i]);
                         a[static_cast<size_t>(first + i)] = norm == 0 ? C{0} : static_cast<C>(1 / norm);
                       }
                     });
    AffineOfReduced<C>(context, reduction, RowReader<C>(x), RowWriter<C>(*y), zero.data(), a.data(), zero.data());
  }

 private:
  LpNormalizationAttributes attributes_;
};

}  // namespace

void RegisterLpNormalization(KernelRegistry& registry) {
  registry.Add(Op("LpNormalization").Types(0, kFloats).InPlace(0, 0).Factory(MakeTyped<LpNormalization, FloatTypes>));
}

}  // namespace tessera::cpu
