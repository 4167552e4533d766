// MeanVarianceNormalization (9, 13).

#include "ops/normalization/mean_variance_normalization.h"
#include "opencl/device/kernel.h"
#include "ops/reduction/reduce.h"

namespace tessera::opencl {
namespace {

class MeanVarianceNormalization final : public Kernel {
 public:
  explicit MeanVarianceNormalization(const KernelInfo& info)
      : kernel_(DeviceOf(info), "mean_variance_normalization",
                Computed('X', info.input_type(0)) + fmt::format("#define LANES {}\n", kLanes), "mean_variance"),
        axes_(MeanVarianceNormalizationAttributes(info.node()).axes) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    const auto strides = RowMajor(shape);
    const Shape reduces = ReducedDimensions(shape, axes_);
    Strided kept, reduced;
    int64_t rows = 1;
    for (size_t i = 0; i < shape.rank(); ++i) {
      Strided& side = reduces[i] != 0 ? reduced : kept;
      side.dims[static_cast<size_t>(side.rank)] = shape[i];
      side.a[static_cast<size_t>(side.rank++)] = strides[i];
      if (reduces[i] == 0) rows *= shape[i];
    }
    kept.Coalesce();
    reduced.Coalesce();
    const Tensor& y = *context.output(0, shape);
    if (y.num_elements() == 0) return;
    kernel_.Groups(context, rows, kLanes, x, y, kept, reduced, cl_long{y.num_elements() / rows});
  }

 private:
  static constexpr size_t kLanes = 64;
  Launchable kernel_;
  std::vector<int64_t> axes_;
};

}  // namespace

void RegisterMeanVariance(KernelRegistry& registry) {
  registry.Add(
      Op("MeanVarianceNormalization").Versions(9).Types(0, kReals).InPlace(0, 0).Make<MeanVarianceNormalization>());
}

}  // namespace tessera::opencl
