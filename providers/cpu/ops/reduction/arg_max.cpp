// ArgMax, ArgMin: versions 1, 11, 12, 13.

#include "cpu/engine/arg_extreme.h"
#include "cpu/engine/reduce.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

template <class T, bool kMinimum>
class Arg final : public Kernel {
 public:
  explicit Arg(const KernelInfo& info)
      : axis_(info.attribute<int64_t>("axis", 0)),
        keep_dimensions_(info.attribute<int64_t>("keepdims", 1) != 0),
        last_(info.attribute<int64_t>("select_last_index", 0) != 0) {}

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    const size_t axis = NormalizeAxis(axis_, data.shape().rank());
    Shape reduced(data.shape().rank(), 0);
    reduced[axis] = 1;
    Tensor* out = context.output(0, ReducedShape(data.shape(), reduced, keep_dimensions_));
    if (out == nullptr || out->num_elements() == 0) return;
    const AxisView view(data.shape(), axis);
    Require(view.count > 0, "axis {} has no elements to choose from in a tensor of shape {}", axis_, data.shape());
    ArgExtreme<T>(context, view, data.data<T>(), kMinimum, last_, out->mutable_data<int64_t>());
  }

 private:
  int64_t axis_;
  bool keep_dimensions_;
  bool last_;
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
