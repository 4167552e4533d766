// AveragePool (1, 7, 10, 11, 19, 22).

#include "cpu/ops/nn/float_view.h"
#include "cpu/ops/nn/pool.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

/// Elements that the average at output index `o` divides by, along one axis.
int64_t CountAlong(const Window& window, size_t axis, int64_t o, bool include_pad) {
  if (!include_pad) {
    const KernelRange range = InsideInput(window, axis, o);
    return range.last - range.first;
  }
  // Padding counts, what ceil_mode reads beyond it does not.
  const int64_t remaining = window.input[axis] + window.begin[axis] + window.end[axis] - o * window.strides[axis];
  return std::min(window.kernel[axis], (remaining + window.dilations[axis] - 1) / window.dilations[axis]);
}

template <class T>
class AveragePool final : public Kernel {
 public:
  explicit AveragePool(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    using C = ComputeType<T>;
    const Tensor& input = context.required_input(0);
    Window window = attributes_.Fit(input.shape());
    Tensor* output = context.output(0, PoolAttributes::ResultShape(input.shape(), window));
    if (output == nullptr || output->num_elements() == 0) return;
    int64_t planes = input.shape().SizeOfRange(0, 2);
    FoldIntoPlanes(window, planes);
    const auto counted = [&](size_t axis, int64_t o) { return CountAlong(window, axis, o, attributes_.count_include_pad); };
    // A window wholly in the padding has the average 0.
    PoolPlanes<C> pool(context, window, planes, PoolKind::kSum, PoolFinish::kDivide, counted);
    ComputeResult<T> result(context, *output);
    pool.Run(ComputeView<T>(context, &input), result.data());
    result.Finish();
  }

 private:
  PoolAttributes attributes_;
};

}  // namespace

void RegisterAveragePool(KernelRegistry& registry) {
  registry.Add(Op("AveragePool").Types(0, kFloats).Factory(MakeTyped<AveragePool, FloatTypes>));
}

}  // namespace tessera::cpu
