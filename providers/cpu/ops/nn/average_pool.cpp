// AveragePool (1, 7, 10, 11, 19, 22).

#include "ops/nn/float_view.h"
#include "ops/nn/pool.h"
#include "ops/ops.h"
#include "types.h"

namespace tessera::cpu {
namespace {

/// Elements that the average of output position `o` divides by, along one axis.
int64_t CountAlong(const Window& window, size_t axis, int64_t o, bool include_pad) {
  if (!include_pad) {
    const KernelRange range = InsideInput(window, axis, o);
    return range.last - range.first;
  }
  // Padding counts, what ceil_mode reads beyond it does not.
  const int64_t room = window.input[axis] + window.begin[axis] + window.end[axis] - o * window.strides[axis];
  return std::min(window.kernel[axis], (room + window.dilations[axis] - 1) / window.dilations[axis]);
}

template <class T>
class AveragePool final : public Kernel {
 public:
  explicit AveragePool(const KernelInfo& info)
      : attributes_(info), include_pad_(info.attribute<int64_t>("count_include_pad", 0) != 0) {}

  void Compute(KernelContext& context) override {
    using C = ComputeType<T>;
    const Tensor& input = context.required_input(0);
    const Window window = FitPool(attributes_, input);
    Tensor* output = context.output(0, PoolOutputShape(input, window));
    if (output == nullptr || output->num_elements() == 0) return;
    const size_t last = window.rank() - 1;
    const int64_t width = window.output[last];
    const auto counts = context.scratch<C>(static_cast<size_t>(width));
    for (int64_t o = 0; o < width; ++o) counts[o] = static_cast<C>(CountAlong(window, last, o, include_pad_));
    ComputeResult<T> result(context, *output);
    PoolPlanes<C>(context, window, input.shape().SizeOfRange(0, 2), PoolKind::kSum, ComputeView<T>(context, &input),
                  result.data(), [&](C* row, const PoolRowPlace& place) {
                    int64_t rows = 1;
                    for (size_t i = 0; i < last; ++i) rows *= CountAlong(window, i, place.index[i], include_pad_);
                    const C factor = static_cast<C>(rows);
                    // A window wholly in the padding has the average 0.
                    for (int64_t o = 0; o < width; ++o) {
                      const C count = counts[o] * factor;
                      row[o] = row[o] / (count > C{1} ? count : C{1});
                    }
                  });
    result.Finish();
  }

 private:
  WindowAttributes attributes_;
  bool include_pad_;
};

}  // namespace

void RegisterAveragePool(KernelRegistry& registry) {
  registry.Add(Op("AveragePool").Types(0, kFloats).Factory(MakeTyped<AveragePool, FloatTypes>));
}

}  // namespace tessera::cpu
