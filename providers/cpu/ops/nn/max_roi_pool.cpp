// MaxRoiPool (1, 22): the maximum in each cell of a grid laid over a region of interest.

#include <algorithm>
#include <cmath>

#include "cpu/ops/nn/float_view.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

struct Region {
  int64_t batch, x0, y0;
  double cell_width, cell_height;
};

template <class C>
Region ReadRegion(const C* roi, double scale, int64_t pooled_height, int64_t pooled_width, int64_t batches) {
  const auto round = [&](C value) {
    const double scaled = std::round(static_cast<double>(value) * scale);
    Require(std::abs(scaled) < 1e9, "a region's corner is {}", static_cast<double>(value));
    return static_cast<int64_t>(scaled);
  };
  Require(roi[0] >= C{0} && roi[0] < static_cast<C>(batches), "a region's batch index is {}, the batch has {}",
          static_cast<double>(roi[0]), batches);
  const int64_t x0 = round(roi[1]), y0 = round(roi[2]), x1 = round(roi[3]), y1 = round(roi[4]);
  return {static_cast<int64_t>(roi[0]), x0, y0,
          static_cast<double>(std::max<int64_t>(x1 - x0 + 1, 1)) / static_cast<double>(pooled_width),
          static_cast<double>(std::max<int64_t>(y1 - y0 + 1, 1)) / static_cast<double>(pooled_height)};
}

struct Cell {
  int64_t begin, end;
};
Cell CellAlong(int64_t i, double size, int64_t start, int64_t limit) {
  const auto begin = static_cast<int64_t>(std::floor(static_cast<double>(i) * size));
  const auto end = static_cast<int64_t>(std::ceil(static_cast<double>(i + 1) * size));
  return {std::clamp<int64_t>(begin + start, 0, limit), std::clamp<int64_t>(end + start, 0, limit)};
}

template <class T>
class MaxRoiPool final : public Kernel {
 public:
  explicit MaxRoiPool(const KernelInfo& info)
      : pooled_(info.attribute<std::vector<int64_t>>("pooled_shape")),
        scale_(static_cast<double>(info.attribute<float>("spatial_scale", 1.0f))) {
    Require(pooled_.size() == 2 && pooled_[0] > 0 && pooled_[1] > 0, "pooled_shape must hold two positive values");
  }

  void Compute(KernelContext& context) override {
    using C = ComputeType<T>;
    const Tensor& input = context.required_input(0);
    const Tensor& rois = context.required_input(1);
    Require(input.shape().rank() == 4, "the input must have 4 dimensions, it is {}", input.shape());
    Require(rois.shape().rank() == 2 && rois.shape()[1] == 5, "rois must be [n,5], they are {}", rois.shape());
    const int64_t channels = input.shape()[1], height = input.shape()[2], width = input.shape()[3];
    const int64_t regions = rois.shape()[0];
    Tensor* output = context.output(0, Shape{regions, channels, pooled_[0], pooled_[1]});
    if (output == nullptr || output->num_elements() == 0) return;
    const C* in = ComputeView<T>(context, &input);
    const C* roi = ComputeView<T>(context, &rois);
    ComputeResult<T> result(context, *output);
    C* out = result.data();
    const int64_t cells = pooled_[0] * pooled_[1];
    context.threads().ParallelFor(
        regions * channels, static_cast<double>(height * width + cells * 10), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const Region region = ReadRegion(roi + i / channels * 5, scale_, pooled_[0], pooled_[1], input.shape()[0]);
            const C* plane = in + (region.batch * channels + i % channels) * height * width;
            for (int64_t y = 0; y < pooled_[0]; ++y) {
              const Cell rows = CellAlong(y, region.cell_height, region.y0, height);
              for (int64_t x = 0; x < pooled_[1]; ++x) {
                out[i * cells + y * pooled_[1] + x] =
                    Largest(plane, width, rows, CellAlong(x, region.cell_width, region.x0, width));
              }
            }
          }
        });
    result.Finish();
  }

 private:
  template <class C>
  static C Largest(const C* plane, int64_t width, Cell rows, Cell columns) {
    if (rows.end <= rows.begin || columns.end <= columns.begin) return C{0};
    C best = plane[rows.begin * width + columns.begin];
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      for (int64_t c = columns.begin; c < columns.end; ++c) best = std::max(best, plane[r * width + c]);
    }
    return best;
  }

  std::vector<int64_t> pooled_;
  double scale_;
};

}  // namespace

void RegisterMaxRoiPool(KernelRegistry& registry) {
  registry.Add(Op("MaxRoiPool").Types(0, kFloats).Factory(MakeTyped<MaxRoiPool, FloatTypes>));
}

}  // namespace tessera::cpu
