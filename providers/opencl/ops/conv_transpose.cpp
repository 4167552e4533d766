// ConvTranspose (1-22), one to three spatial dimensions.

#include <algorithm>

#include "base/checked.h"
#include "base/rounding.h"
#include "kernel.h"
#include "window.h"

namespace tessera::opencl {
namespace {

constexpr int64_t kOutputsPerItem = 8;  // output channels that one work item computes

class ConvTranspose final : public Kernel {
 public:
  explicit ConvTranspose(const KernelInfo& info)
      : kernel_(DeviceOf(info), "conv_transpose", Computed('X', info.input_type(0)) + fmt::format("#define PER {}\n", kOutputsPerItem), "transposed"),
        attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& w = context.required_input(1);
    const Tensor* bias = context.input(2);
    const Shape &xs = x.shape(), &ws = w.shape();
    Require(xs.rank() >= 3 && xs.rank() <= 5 && ws.rank() == xs.rank(), "input {} and weights {} need the same 3 to 5 dimensions",
            xs, ws);
    Require(xs[1] == ws[0] && xs[1] % attributes_.group == 0, "input {} in {} groups does not fit weights {}", xs, attributes_.group, ws);
    const int64_t filters = CheckedMul(ws[1], attributes_.group);
    Require(bias == nullptr || bias->num_elements() == filters, "the bias has {} elements for {} filters",
            bias == nullptr ? 0 : bias->num_elements(), filters);
    const Window window = FitTransposed(attributes_, xs.dims().subspan(2), ws.dims().subspan(2));
    Shape ys{xs[0], filters};
    for (const int64_t size : window.input) ys.Append(size);
    Tensor& y = *context.output(0, ys);
    Geometry g = GeometryOf(window);
    std::swap(g.in, g.out);  // as a sliding window, the output is what is read
    g.channels = static_cast<cl_int>(xs[1]);
    g.filters = static_cast<cl_int>(filters);
    g.group_in = static_cast<cl_int>(xs[1] / attributes_.group);
    g.group_out = static_cast<cl_int>(ws[1]);
    kernel_.Grid(context, ys.SizeOfRange(2, ys.rank()), attributes_.group * CeilDiv(ws[1], kOutputsPerItem), xs[0], x, w, bias, y, g);
  }

 private:
  Launchable kernel_;
  TransposeAttributes attributes_;
};

}  // namespace

void RegisterConvTranspose(KernelRegistry& registry) {
  registry.Add(Op("ConvTranspose").Versions(1).Types(0, kReals).Make<ConvTranspose>());
}

}  // namespace tessera::opencl
