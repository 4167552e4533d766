// MaxRoiPool (1, 22): the maximum in each cell of a grid laid over a region of interest.

#include <algorithm>

#include "base/max_or_nan.h"
#include "cpu/ops/nn/float_view.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/nn/max_roi_pool.h"

namespace tessera::cpu {
namespace {

template <class T>
class MaxRoiPool final : public Kernel {
 public:
  explicit MaxRoiPool(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    using C = ComputeType<T>;
    const Tensor& input = context.required_input(0);
    const Tensor& rois = context.required_input(1);
    const Shape& x = input.shape();
    Tensor* output = context.output(0, attributes_.ResultShape(x, rois.shape()));
    if (output == nullptr || output->num_elements() == 0) return;
    const C* in = ComputeView<T>(context, &input);
    const C* roi = ComputeView<T>(context, &rois);
    ComputeResult<T> result(context, *output);
    C* out = result.data();
    const int64_t channels = x[1], height = x[2], width = x[3], cells = attributes_.height * attributes_.width;
    const double cost = static_cast<double>(height * width + cells * 10);
    context.threads().ParallelFor(rois.shape()[0] * channels, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const RoiOfImage region = attributes_.Region(roi + i / channels * 5, x[0]);
        const C* plane = in + (region.image * channels + i % channels) * height * width;
        C* target = out + i * cells;
        for (int64_t row = 0; row < attributes_.height; ++row) {
          const RoiCells::Cell rows = region.rows.At(row, height);
          for (int64_t column = 0; column < attributes_.width; ++column)
            *target++ = Largest(plane, width, rows, region.columns.At(column, width));
        }
      }
    });
    result.Finish();
  }

 private:
  template <class C>
  static C Largest(const C* plane, int64_t width, RoiCells::Cell rows, RoiCells::Cell columns) {
    if (rows.end <= rows.begin || columns.end <= columns.begin) return C{0};
    C best = plane[rows.begin * width + columns.begin];
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      for (int64_t c = columns.begin; c < columns.end; ++c) best = MaxOrNan(best, plane[r * width + c]);
    }
    return best;
  }

  const MaxRoiPoolAttributes attributes_;
};

}  // namespace

void RegisterMaxRoiPool(KernelRegistry& registry) {
  registry.Add(Op("MaxRoiPool").Types(0, kFloats).Factory(MakeTyped<MaxRoiPool, FloatTypes>));
}

}  // namespace tessera::cpu
