// ArgMax, ArgMin: versions 1, 11, 12, 13.

#include "ops/reduction/arg_max.h"
#include "cpu/engine/arg_extreme.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

template <class T, bool kMinimum>
class Arg final : public Kernel {
 public:
  explicit Arg(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    Tensor* out = context.output(0, attributes_.ResultShape(data.shape()));
    if (out == nullptr || out->num_elements() == 0) return;
    const AxisView view(data.shape(), NormalizeAxis(attributes_.axis, data.shape().rank()));
    ArgExtreme<T>(context, view, data.data<T>(), kMinimum, attributes_.select_last_index, out->mutable_data<int64_t>());
  }

 private:
  ArgMaxAttributes attributes_;
};

template <class T>
using ArgMax = Arg<T, false>;
template <class T>
using ArgMin = Arg<T, true>;

}  // namespace

void RegisterArgMax(KernelRegistry& registry) {
  registry.Add(Op("ArgMax").Types(0, kNumbers).Factory(MakeTyped<ArgMax, NumberTypes>));
}
void RegisterArgMin(KernelRegistry& registry) {
  registry.Add(Op("ArgMin").Types(0, kNumbers).Factory(MakeTyped<ArgMin, NumberTypes>));
}

}  // namespace tessera::cpu
