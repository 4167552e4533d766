// Col2Im (18): columns of sliding blocks added back into an image of one to three dimensions.

#include "ops/nn/col2im.h"
#include "opencl/conv/window.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

class Col2Im final : public Kernel {
 public:
  explicit Col2Im(const KernelInfo& info)
      : kernel_(DeviceOf(info), "col2im", Defines(info.input_type(0)), "col2im"), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Window window = attributes_.Fit(x.shape(), context.required_input(1), context.required_input(2));
    const Tensor& y = *context.output(0, Col2ImAttributes::ResultShape(x.shape(), window));
    kernel_.Linear(context, y.num_elements(), x, y, GeometryOf(window));
  }

 private:
  static std::string Defines(ElementType type) {
    return Computed('X', type) + (kReals.contains(type) ? "#define SUM TX\n" : "#define SUM WX\n");
  }

  Launchable kernel_;
  Col2ImAttributes attributes_;
};

std::string ImageRankRefusal(const NodeInfo& info) {
  const auto& sizes = info.input_info(1).shape;
  const bool known = sizes && sizes->size() == 1 && (*sizes)[0].known() && (*sizes)[0].value >= 1 && (*sizes)[0].value <= 3;
  return known ? "" : "images of one to three dimensions are put together on the device";
}

}  // namespace

void RegisterCol2Im(KernelRegistry& registry) {
  registry.Add(
      Op("Col2Im").Versions(18).Types(0, kNumbers).HostInput(1).HostInput(2).Unless(ImageRankRefusal).Make<Col2Im>());
}

}  // namespace tessera::opencl
