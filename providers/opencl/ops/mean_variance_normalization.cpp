// MeanVarianceNormalization (9, 13).

#include "ops/normalization/mean_variance_normalization.h"

#include <utility>

#include "base/checked.h"
#include "opencl/device/scratch.h"
#include "opencl/ops/row_slices.h"
#include "ops/reduction/reduce.h"

namespace tessera::opencl {
namespace {

class MeanVarianceNormalization final : public Kernel {
 public:
  explicit MeanVarianceNormalization(const KernelInfo& info)
      : kernel_(DeviceOf(info), kSource, Defines(info), "mean_variance"),
        sums_(DeviceOf(info), kSource, Defines(info), "sum_slices"),
        standardize_(DeviceOf(info), kSource, Defines(info), "standardize_slices"),
        sum_bytes_(info.input_type(0) == ElementType::kDouble ? 8 : 4),
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
    const int64_t count = y.num_elements() / rows;
    if (!RowSlices::Pay(count)) return kernel_.Groups(context, rows, kLanes, x, y, kept, reduced, cl_long{count});
    const RowSlices slices(count);
    const int64_t groups = CheckedMul(rows, slices.count);
    const auto bytes = static_cast<size_t>(CheckedMul(groups, sum_bytes_));
    const DeviceScratch sums(context, bytes), squares(context, bytes);
    const BufferRange none;
    for (const auto& [from, to] : {std::pair(none, sums.range()), std::pair(sums.range(), squares.range())}) {
      sums_.Compile().Groups(context, groups, kLanes, x, from, to, kept, reduced, cl_long{count}, cl_long{slices.count},
                             cl_long{slices.length});
    }
    standardize_.Compile().Groups(context, groups, kLanes, x, sums.range(), squares.range(), y, kept, reduced,
                                  cl_long{count}, cl_long{slices.count}, cl_long{slices.length});
  }

 private:
  static constexpr std::string_view kSource = "mean_variance_normalization";
  static constexpr size_t kLanes = 64;

  static std::string Defines(const KernelInfo& info) {
    return Computed('X', info.input_type(0)) + fmt::format("#define LANES {}\n", kLanes);
  }

  Launchable kernel_;
  LazyLaunchable sums_, standardize_;
  int64_t sum_bytes_;
  std::vector<int64_t> axes_;
};

}  // namespace

void RegisterMeanVariance(KernelRegistry& registry) {
  registry.Add(
      Op("MeanVarianceNormalization").Versions(9).Types(0, kReals).InPlace(0, 0).Make<MeanVarianceNormalization>());
}

}  // namespace tessera::opencl
