// Conv (1-22), one to three spatial dimensions.

#include "kernel.h"
#include "window.h"

namespace tessera::opencl {
namespace {

constexpr int kPer = 4;  // output channels that one work item computes

struct Geometry {
  cl_int in[3], out[3], window[3], stride[3], dilation[3], pad[3];
  cl_int channels, filters, group_in, group_out;
};

class Conv final : public Kernel {
 public:
  explicit Conv(const KernelInfo& info)
      : kernel_(DeviceOf(info), "convolution", Computed('X', info.input_type(0)) + fmt::format("#define PER {}\n", kPer), "convolve"),
        window_(info),
        group_(info.attribute<int64_t>("group", 1)) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& w = context.required_input(1);
    const Shape &xs = x.shape(), &ws = w.shape();
    Require(xs.rank() >= 3 && xs.rank() <= 5 && ws.rank() == xs.rank(), "input {} and weights {} need the same 3 to 5 dimensions", xs.ToString(),
            ws.ToString());
    Require(group_ > 0 && xs[1] == ws[1] * group_ && ws[0] % group_ == 0, "input {} in group {} does not fit weights {}", xs.ToString(), group_,
            ws.ToString());
    const Tensor* bias = context.input(2);
    Require(bias == nullptr || bias->num_elements() == ws[0], "the bias has {} elements for {} filters", bias ? bias->num_elements() : 0, ws[0]);
    const Window window = window_.Resolve(xs, ws.dims().subspan(2));
    Shape ys = xs;
    ys[1] = ws[0];
    for (size_t i = 2; i < xs.rank(); ++i) ys[i] = window.out[i - 2];
    Tensor& y = *context.output(0, ys);
    Geometry g{};
    window.Fill(g.in, g.out, g.window, g.stride, g.dilation, g.pad);
    g.channels = static_cast<cl_int>(xs[1]);
    g.filters = static_cast<cl_int>(ws[0]);
    g.group_in = static_cast<cl_int>(ws[1]);
    g.group_out = static_cast<cl_int>(ws[0] / group_);
    const int64_t positions = ys.SizeOfRange(2, ys.rank());
    const int64_t blocks = group_ * ((g.group_out + kPer - 1) / kPer);
    kernel_.Grid(context, positions, blocks, xs[0], x, w, bias, y, g);
  }

 private:
  Launchable kernel_;
  WindowAttributes window_;
  int64_t group_;
};

}  // namespace

void RegisterConvolution(KernelRegistry& registry) {
  registry.Add(Op("Conv").Versions(1).Types(0, kReals).Make<Conv>());
}

}  // namespace tessera::opencl
