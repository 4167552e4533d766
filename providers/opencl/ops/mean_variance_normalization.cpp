// MeanVarianceNormalization (9, 13).

#include "ops/normalization/mean_variance_normalization.h"

#include "opencl/ops/long_rows.h"
#include "ops/reduction/reduce.h"

namespace tessera::opencl {
namespace {

class MeanVarianceNormalization final : public Kernel {
 public:
  explicit MeanVarianceNormalization(const KernelInfo& info)
      : kernel_(DeviceOf(info), "mean_variance_normalization",
                Computed('X', info.input_type(0)) + fmt::format("#define LANES {}\n", kLanes), "mean_variance"),
        long_rows_(DeviceOf(info), {info.input_type(0), info.input_type(0), info.input_type(0), info.input_type(0)}),
        axes_(MeanVarianceNormalizationAttributes(info.node()).axes) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    const RowLayout rows = RowLayout::Reducing(shape, ReducedDimensions(shape, axes_));
    const Tensor& y = *context.output(0, shape);
    if (y.num_elements() == 0) return;
    if (RowSlices::Pay(rows.count)) return long_rows_.Standardize(context, RangeOf(x), y, rows, {.term = kTerm});
    kernel_.Groups(context, rows.rows, kLanes, x, y, rows.kept, rows.reduced, cl_long{rows.count}, kTerm);
  }

 private:
  static constexpr size_t kLanes = 64;
  static constexpr cl_float kTerm = 1e-9f;  // added to deviations

  Launchable kernel_;
  LongRows long_rows_;
  std::vector<int64_t> axes_;
};

}  // namespace

void RegisterMeanVarianceNormalization(KernelRegistry& registry) {
  registry.Add(
      Op("MeanVarianceNormalization").Versions(9).Types(0, kReals).InPlace(0, 0).Make<MeanVarianceNormalization>());
}

}  // namespace tessera::opencl
