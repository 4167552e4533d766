// LpNormalization (1, 22).

#include "ops/normalization/lp_normalization.h"
#include "opencl/ops/lines.h"

namespace tessera::opencl {
namespace {

class LpNormalization final : public Kernel {
 public:
  explicit LpNormalization(const KernelInfo& info)
      : kernel_(DeviceOf(info), "lp_normalization", LineDefines(info), "lp_normalize"),
        slices_(OfSlices(info, "lp_normalization", "norm_slices")),
        join_(OfSlices(info, "lp_normalization", "join_norms")),
        divide_(OfSlices(info, "lp_normalization", "divide_by_norm")),
        attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const AxisView view(x.shape(), NormalizeAxis(attributes_.axis, x.shape().rank()));
    Tensor& y = *context.output(0, x.shape());
    if (x.num_elements() == 0) return;
    const auto p = static_cast<cl_int>(attributes_.p);
    if (LineSlices::Pay(view)) {
      const LineSlices of(view);
      const DeviceScratch sums(context, LineSlices::Bytes(of.parts)), norms(context, LineSlices::Bytes(of.lines));
      slices_.Compile().Linear(context, of.parts, x, sums.range(), of.count, of.stride, of.slices, of.length, p);
      join_.Compile().Linear(context, of.lines, sums.range(), norms.range(), of.slices, p);
      divide_.Compile().Linear(context, x.num_elements(), x, norms.range(), y, of.count, of.stride);
      return;
    }
    kernel_.Linear(context, view.outer * view.inner, x, y, cl_long{view.count}, cl_long{view.inner}, p);
  }

 private:
  Launchable kernel_;
  LazyLaunchable slices_, join_, divide_;
  LpNormalizationAttributes attributes_;
};

}  // namespace

void RegisterLpNormalization(KernelRegistry& registry) {
  registry.Add(Op("LpNormalization").Versions(1).Types(0, kReals).Make<LpNormalization>());
}

}  // namespace tessera::opencl
