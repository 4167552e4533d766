// AffineGrid (ai.onnx 20).

#include "ops/image/affine_grid.h"

#include "base/check.h"
#include "base/checked.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

template <class T>
class AffineGrid final : public Kernel {
  using F = std::conditional_t<std::is_same_v<T, double>, double, float>;

 public:
  explicit AffineGrid(const KernelInfo& info) : align_corners_(AffineGridAttributes(info.node()).align_corners) {}

  void Compute(KernelContext& context) override {
    const Tensor& theta = context.required_input(0);
    const Shape shape = AffineGridAttributes::ResultShape(theta.shape(), context.required_input(1));
    Tensor* output = context.output(0, shape);
    if (output == nullptr || output->num_elements() == 0) return;

    const int64_t axes = shape.back(), depth = axes == 3 ? shape[1] : 1, height = shape[shape.rank() - 3],
                  width = shape[shape.rank() - 2];
    T* out = output->template mutable_data<T>();
    const T* matrices = theta.data<T>();
    context.threads().ParallelFor(
        shape[0] * depth * height, static_cast<double>(width * axes), [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const T* matrix = matrices + row / (depth * height) * axes * (axes + 1);
            const F y = Coordinate(row % height, height), z = Coordinate(row / height % depth, depth);
            T* target = out + row * width * axes;
            F slope[3], offset[3];
            for (int64_t i = 0; i < axes; ++i) {
              const T* matrix_row = matrix + i * (axes + 1);
              slope[i] = static_cast<F>(matrix_row[0]);
              offset[i] = static_cast<F>(matrix_row[1]) * y + static_cast<F>(matrix_row[axes]);
              if (axes == 3) offset[i] += static_cast<F>(matrix_row[2]) * z;
            }
            for (int64_t x = 0; x < width; ++x) {
              const F position = Coordinate(x, width);
              for (int64_t i = 0; i < axes; ++i) *target++ = static_cast<T>(slope[i] * position + offset[i]);
            }
          }
        });
  }

 private:
  /// Pixel `i` of `n` on [-1, 1]; a single pixel lies in the middle.
  F Coordinate(int64_t i, int64_t n) const {
    if (n == 1) return 0;
    const double step = 2.0 / static_cast<double>(align_corners_ ? n - 1 : n);
    return static_cast<F>(-1.0 + (static_cast<double>(i) + (align_corners_ ? 0.0 : 0.5)) * step);
  }

  bool align_corners_;
};

}  // namespace

void RegisterAffineGrid(KernelRegistry& registry) {
  registry.Add(Op("AffineGrid").Versions(20).Types(0, kFloats).Factory(MakeTyped<AffineGrid, FloatTypes>));
}

}  // namespace tessera::cpu
