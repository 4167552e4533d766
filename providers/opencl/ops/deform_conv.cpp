// DeformConv (19-22): convolution of images that samples them at learned offsets.

#include "base/rounding.h"
#include "opencl/conv/window.h"
#include "opencl/device/kernel.h"
#include "ops/nn/conv.h"

namespace tessera::opencl {
namespace {

constexpr int kOutputs = 8;  // filters that one work item computes, so that samples are taken that many times less often

/// The same struct stands in deform_conv.cl.
struct Deform {
  cl_long image, planes;
  cl_int taps, offset_groups;
};

class DeformConv final : public Kernel {
 public:
  explicit DeformConv(const KernelInfo& info)
      : kernel_(DeviceOf(info), "deform_conv",
                Computed('X', info.input_type(0)) + fmt::format("#define PER {}\n", kOutputs), "deform_conv"),
        attributes_(info.node()),
        group_(attributes_.conv.group),
        offset_group_(attributes_.offset_group) {}

  void Compute(KernelContext& context) override {
    const Tensor &x = context.required_input(0), &w = context.required_input(1), &offset = context.required_input(2);
    const Tensor *bias = context.input(3), *mask = context.input(4);
    const Shape &xs = x.shape(), &ws = w.shape();
    const Window window = attributes_.Fit(xs, ws, offset.shape(), bias, mask);
    const Tensor& y = *context.output(0, ConvAttributes::ResultShape(xs, ws, window));
    if (y.num_elements() == 0) return;
    const Geometry g = ConvGeometry(window, xs, ws, group_);
    const int64_t taps = window.kernel.num_elements();
    Require(taps <= std::numeric_limits<cl_int>::max() && offset_group_ <= std::numeric_limits<cl_int>::max(),
            "a window of {} taps is more than kernels count", taps);
    const Deform deform{window.input.num_elements(), window.output.num_elements(), static_cast<cl_int>(taps),
                        static_cast<cl_int>(offset_group_)};
    kernel_.Grid(context, deform.planes, group_ * CeilDiv<int64_t>(g.group_out, kOutputs), xs[0], x, w, offset, bias, mask,
                 y, g, deform);
  }

 private:
  Launchable kernel_;
  DeformConvAttributes attributes_;
  int64_t group_, offset_group_;
};

std::string ImageRefusal(const NodeInfo& info) {
  const auto& shape = info.input_info(0).shape;
  return shape && shape->size() == 4 ? "" : "images only are sampled at offsets";
}

}  // namespace

void RegisterDeformConv(KernelRegistry& registry) {
  registry.Add(Op("DeformConv").Versions(19).Types(0, kReals).Unless(ImageRefusal).Make<DeformConv>());
}

}  // namespace tessera::opencl
