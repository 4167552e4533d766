// Hardmax (1-13).

#include "opencl/ops/arg_of_long_lines.h"
#include "ops/normalization/softmax.h"

namespace tessera::opencl {
namespace {

class Hardmax final : public Kernel {
 public:
  explicit Hardmax(const KernelInfo& info)
      : kernel_(DeviceOf(info), "hardmax", LineDefines(info), "hardmax"),
        long_lines_(info),
        place_(OfSlices(info, "hardmax", "hardmax_place")),
        attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const AxisView view = attributes_.View(x.shape());
    Tensor& y = *context.output(0, x.shape());
    if (x.num_elements() == 0) return;
    if (LineSlices::Pay(view)) {
      const LineSlices of(view);
      const DeviceScratch at(context, LineSlices::Bytes(of.lines));
      long_lines_.Run(context, of, x, at.range(), cl_int{0}, cl_int{0});
      place_.Compile().Linear(context, x.num_elements(), at.range(), y, of.count, of.stride);
      return;
    }
    kernel_.Linear(context, view.outer * view.inner, x, y, cl_long{view.count}, cl_long{view.inner});
  }

 private:
  Launchable kernel_;
  ArgOfLongLines long_lines_;
  LazyLaunchable place_;
  SoftmaxAttributes attributes_;
};

}  // namespace

void RegisterHardmax(KernelRegistry& registry) { registry.Add(Op("Hardmax").Versions(1).Types(0, kReals).Make<Hardmax>()); }

}  // namespace tessera::opencl
