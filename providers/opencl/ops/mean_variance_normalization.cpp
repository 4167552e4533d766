// MeanVarianceNormalization (9, 13).

#include <bitset>

#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

class MeanVarianceNormalization final : public Kernel {
 public:
  explicit MeanVarianceNormalization(const KernelInfo& info)
      : kernel_(DeviceOf(info), "mean_variance_normalization",
                Computed('X', info.input_type(0)) + fmt::format("#define LANES {}\n", kLanes), "mean_variance"),
        axes_(info.attribute<std::vector<int64_t>>("axes", {0, 2, 3})) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    const auto strides = RowMajor(shape);
    std::bitset<kMostDims> reduces;
    for (const int64_t axis : axes_) reduces.set(Axis(axis, shape.rank()));
    if (axes_.empty()) reduces.set();
    Strided kept, reduced;
    int64_t rows = 1;
    for (size_t i = 0; i < shape.rank(); ++i) {
      Strided& side = reduces[i] ? reduced : kept;
      side.dims[static_cast<size_t>(side.rank)] = shape[i];
      side.a[static_cast<size_t>(side.rank++)] = strides[i];
      if (!reduces[i]) rows *= shape[i];
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
