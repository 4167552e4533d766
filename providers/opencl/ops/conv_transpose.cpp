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
        strides_(info.attribute<std::vector<int64_t>>("strides", {})),
        dilations_(info.attribute<std::vector<int64_t>>("dilations", {})),
        pads_(info.attribute<std::vector<int64_t>>("pads", {})),
        output_padding_(info.attribute<std::vector<int64_t>>("output_padding", {})),
        output_shape_(info.attribute<std::vector<int64_t>>("output_shape", {})),
        auto_pad_(info.attribute<std::string>("auto_pad", "NOTSET")),
        group_(info.attribute<int64_t>("group", 1)) {
    Require(group_ > 0, "attribute 'group' is {}, which must be positive", group_);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& w = context.required_input(1);
    const Tensor* bias = context.input(2);
    const Shape &xs = x.shape(), &ws = w.shape();
    Require(xs.rank() >= 3 && xs.rank() <= 5 && ws.rank() == xs.rank(), "input {} and weights {} need the same 3 to 5 dimensions",
            xs, ws);
    Require(xs[1] == ws[0] && xs[1] % group_ == 0, "input {} in {} groups does not fit weights {}", xs, group_, ws);
    const int64_t filters = CheckedMul(ws[1], group_);
    Require(bias == nullptr || bias->num_elements() == filters, "the bias has {} elements for {} filters",
            bias == nullptr ? 0 : bias->num_elements(), filters);
    const Window window = Resolve(xs, ws);
    Shape ys{xs[0], filters};
    for (size_t i = 0; i < window.rank; ++i) ys.Append(window.out[i]);
    Tensor& y = *context.output(0, ys);
    Geometry g{};
    window.Fill(g.in, g.out, g.window, g.stride, g.dilation, g.pad);
    g.channels = static_cast<cl_int>(xs[1]);
    g.filters = static_cast<cl_int>(filters);
    g.group_in = static_cast<cl_int>(xs[1] / group_);
    g.group_out = static_cast<cl_int>(ws[1]);
    kernel_.Grid(context, ys.SizeOfRange(2, ys.rank()), group_ * CeilDiv(ws[1], kOutputsPerItem), xs[0], x, w, bias, y, g);
  }

 private:
  Window Resolve(const Shape& input, const Shape& weights) const {
    Window w;
    w.rank = input.rank() - 2;
    // Some exporters write output_shape with batch and channels.
    const size_t skipped = output_shape_.size() == w.rank + 2 ? 2 : 0;
    Require(output_shape_.empty() || output_shape_.size() == w.rank + skipped, "output_shape has {} values", output_shape_.size());
    const auto at = [](const std::vector<int64_t>& list, size_t i, int64_t fallback) { return i < list.size() ? list[i] : fallback; };
    for (size_t i = 0; i < w.rank; ++i) {
      w.in[i] = input[i + 2];
      w.kernel[i] = weights[i + 2];
      w.stride[i] = at(strides_, i, 1);
      w.dilation[i] = at(dilations_, i, 1);
      const int64_t extra = at(output_padding_, i, 0);
      Require(w.kernel[i] > 0 && w.stride[i] > 0 && w.dilation[i] > 0 && extra >= 0, "kernel, strides and dilations must be positive");
      const int64_t extent = CheckedAdd(CheckedMul(w.kernel[i] - 1, w.dilation[i]), 1 + extra);
      const int64_t full = CheckedAdd(CheckedMul(w.stride[i], w.in[i] - 1), extent);
      const bool same = auto_pad_ == "SAME_UPPER" || auto_pad_ == "SAME_LOWER";
      int64_t begin = at(pads_, i, 0), end = at(pads_, w.rank + i, 0);
      if (!output_shape_.empty() || same) {
        w.out[i] = output_shape_.empty() ? CheckedMul(w.in[i], w.stride[i]) : output_shape_[skipped + i];
        const int64_t total = std::max<int64_t>(full - w.out[i], 0);
        begin = auto_pad_ == "SAME_UPPER" ? total / 2 : total - total / 2;
      } else {
        if (auto_pad_ == "VALID") begin = end = 0;
        w.out[i] = full - begin - end;
      }
      Require(w.out[i] >= 0 && w.out[i] <= INT32_MAX && begin >= INT32_MIN / 2 && begin <= INT32_MAX / 2,
              "spatial axis {} of the output would have {} elements", i, w.out[i]);
      w.pad[i] = begin;
    }
    return w;
  }

  Launchable kernel_;
  std::vector<int64_t> strides_, dilations_, pads_, output_padding_, output_shape_;
  std::string auto_pad_;
  int64_t group_;
};

}  // namespace

void RegisterConvTranspose(KernelRegistry& registry) {
  registry.Add(Op("ConvTranspose").Versions(1).Types(0, kReals).Make<ConvTranspose>());
}

}  // namespace tessera::opencl
