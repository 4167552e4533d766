// Conv (1-22), one to three spatial dimensions.

#include <optional>

#include "base/checked.h"
#include "product.h"
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
      : kernel_(DeviceOf(info), "convolution", Computed('X', info.input_type(0)) + fmt::format("#define PER {}\n", kPer),
                "convolve"),
        window_(info),
        group_(info.attribute<int64_t>("group", 1)),
        stored_as_computed_(info.input_type(0) == ElementType::kFloat || info.input_type(0) == ElementType::kDouble) {
    if (!PanelProduct::Suits(DeviceOf(info))) return;
    const std::string defines = Computed('X', info.input_type(0));
    panels_.emplace(info);
    pack_image_.emplace(DeviceOf(info), "product", defines, "pack_image");
    depthwise_.emplace(DeviceOf(info), "product", defines, "depthwise");
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& w = context.required_input(1);
    const Shape &xs = x.shape(), &ws = w.shape();
    Require(xs.rank() >= 3 && xs.rank() <= 5 && ws.rank() == xs.rank(),
            "input {} and weights {} need the same 3 to 5 dimensions", xs.ToString(), ws.ToString());
    Require(group_ > 0 && xs[1] == ws[1] * group_ && ws[0] % group_ == 0, "input {} in group {} does not fit weights {}",
            xs.ToString(), group_, ws.ToString());
    const Tensor* bias = context.input(2);
    Require(bias == nullptr || bias->num_elements() == ws[0], "the bias has {} elements for {} filters",
            bias ? bias->num_elements() : 0, ws[0]);
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
    if (y.num_elements() == 0) return;
    if (depthwise_ && ws[1] == 1 && window.rank <= 2 && positions > kPanel / 2) {
      const auto columns = static_cast<size_t>(PanelProduct::Panels(g.out[2]));
      return (*depthwise_)(context, {columns, static_cast<size_t>(g.out[1]), static_cast<size_t>(xs[0] * ws[0])}, {1, 1, 1},
                           x, w, bias, y, g);
    }
    constexpr cl_int kFewestFilters = 3;  // of a group: register tiles have rows for six
    if (panels_ && g.group_out >= kFewestFilters) return ByPanels(context, x, w, bias, y, window, g, xs[0], positions);
    const int64_t blocks = group_ * ((g.group_out + kPer - 1) / kPer);
    kernel_.Grid(context, positions, blocks, xs[0], x, w, bias, y, g);
  }

 private:
  /// As a product of the filters and the image's windows, so many panels of windows at a time as `kScratchBytes` hold.
  void ByPanels(KernelContext& context, const Tensor& x, const Tensor& w, const Tensor* bias, const Tensor& y,
                const Window& window, const Geometry& g, int64_t batch, int64_t n) {
    constexpr int64_t kScratchBytes = 8 << 20;
    const int64_t taps = w.shape().SizeOfRange(2, w.shape().rank()), k = CheckedMul<int64_t>(g.group_in, taps);
    const int64_t per_image = PanelProduct::Panels(n);
    Strided stack;
    stack.rank = 1;
    stack.dims[0] = group_;
    stack.a[0] = g.group_out * k;
    stack.c[0] = g.group_out;
    PanelProductShape shape{.b_panel = 0,
                            .b_image = 0,
                            .y_image = g.filters * n,
                            .m = g.group_out,
                            .n = static_cast<cl_int>(n),
                            .k = static_cast<cl_int>(k),
                            .row_a = static_cast<cl_int>(k),
                            .col_a = 1,
                            .b_row = static_cast<cl_int>(n),
                            .b_column = 0,
                            .panels = static_cast<cl_int>(per_image),
                            .first = 0,
                            .row_bias = 1,
                            .col_bias = 0,
                            .alpha = 1,
                            .beta = 1};
    if (taps == 1 && window.IsIdentity() && n % kPanel == 0 && stored_as_computed_) {  // the image is the matrix
      stack.b[0] = g.group_in * n;
      shape.b_image = g.channels * n;
      shape.b_column = 1;
      return panels_->Multiply(context, {w, DeviceAllocator::Find(x.raw()), bias, y}, shape, batch * per_image, stack,
                               group_);
    }
    const int64_t panel_bytes = CheckedMul(CheckedMul(k, kPanel * group_), static_cast<int64_t>(panels_->element_bytes()));
    const int64_t together = std::clamp<int64_t>(kScratchBytes / std::max<int64_t>(panel_bytes, 1), 1, batch * per_image);
    shape.b_panel = k * kPanel;
    shape.b_row = kPanel;
    for (int64_t first = 0; first < batch * per_image; first += together) {
      const int64_t here = std::min(together, batch * per_image - first);
      const DeviceScratch scratch(context, static_cast<size_t>(CheckedMul(panel_bytes, here)));
      shape.first = static_cast<cl_int>(first);
      stack.b[0] = here * k * kPanel;
      (*pack_image_)(context, {static_cast<size_t>(k), static_cast<size_t>(here), static_cast<size_t>(group_)}, {1, 1, 1},
                     x, scratch.range(), g, static_cast<cl_int>(per_image), shape.first);
      panels_->Multiply(context, {w, scratch.range(), bias, y}, shape, here, stack, group_);
    }
  }

  Launchable kernel_;
  std::optional<PanelProduct> panels_;  // on processors
  std::optional<Launchable> pack_image_, depthwise_;
  WindowAttributes window_;
  int64_t group_;
  bool stored_as_computed_;
};

}  // namespace

void RegisterConvolution(KernelRegistry& registry) { registry.Add(Op("Conv").Versions(1).Types(0, kReals).Make<Conv>()); }

}  // namespace tessera::opencl
