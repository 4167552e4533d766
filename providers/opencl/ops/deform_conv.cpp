// DeformConv (19-22): convolution of images that samples them at learned offsets.

#include "base/checked.h"
#include "base/rounding.h"
#include "opencl/conv/window.h"
#include "opencl/device/kernel.h"

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
        window_(info.node()),
        group_(info.attribute<int64_t>("group", 1)),
        offset_group_(info.attribute<int64_t>("offset_group", 1)) {
    Require(group_ > 0 && offset_group_ > 0, "attributes 'group' and 'offset_group' must be positive, they are {} and {}",
            group_, offset_group_);
  }

  void Compute(KernelContext& context) override {
    const Tensor &x = context.required_input(0), &w = context.required_input(1), &offset = context.required_input(2);
    const Tensor *bias = context.input(3), *mask = context.input(4);
    const Shape &xs = x.shape(), &ws = w.shape();
    const Window window = CheckShapes(xs, ws, offset.shape(), bias, mask);
    const Tensor& y = *context.output(0, Shape{xs[0], ws[0], window.output[0], window.output[1]});
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
  Window CheckShapes(const Shape& x, const Shape& w, const Shape& offset, const Tensor* bias, const Tensor* mask) const {
    Require(x.rank() == 4 && w.rank() == 4 && offset.rank() == 4,
            "input {}, weights {} and offset {} must have 4 dimensions", x, w, offset);
    Require(x[1] == CheckedMul(w[1], group_), "the input has {} channels, the weights take {} in {} groups", x[1], w[1],
            group_);
    Require(w[0] % group_ == 0 && x[1] % offset_group_ == 0 && x[1] > 0,
            "{} output channels in {} groups and {} input channels in {} offset groups do not divide", w[0], group_, x[1],
            offset_group_);
    Require(bias == nullptr || bias->num_elements() == w[0], "the bias has {} values, {} are expected",
            bias == nullptr ? 0 : bias->num_elements(), w[0]);
    const Window window = window_.Fit(x.dims().subspan(2), w.dims().subspan(2));
    const int64_t positions = CheckedMul(offset_group_, window.kernel.num_elements());
    const Shape wanted{x[0], CheckedMul(positions, int64_t{2}), window.output[0], window.output[1]};
    Require(offset == wanted, "the offset is {}, {} is expected", offset, wanted);
    const Shape wanted_mask{x[0], positions, window.output[0], window.output[1]};
    Require(mask == nullptr || mask->shape() == wanted_mask, "the mask is {}, {} is expected", OptionalShape{mask},
            wanted_mask);
    return window;
  }

  Launchable kernel_;
  WindowAttributes window_;
  int64_t group_, offset_group_;
};

}  // namespace

void RegisterDeformConv(KernelRegistry& registry) {
  registry.Add(Op("DeformConv").Versions(19).Types(0, kReals).Make<DeformConv>());
}

}  // namespace tessera::opencl
