// GridSample (16-22), one to three spatial dimensions.

#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

/// The same struct stands in grid_sample.cl.
struct Sampling {
  cl_long in[3] = {1, 1, 1}, channels = 0, points = 0;
  cl_int rank = 0, mode = 0, padding = 0, align_corners = 0;
};

class GridSample final : public Kernel {
 public:
  explicit GridSample(const KernelInfo& info)
      : kernel_(DeviceOf(info), "grid_sample", Computed('X', info.input_type(0)) + Computed('G', info.input_type(1)),
                "grid_sample"),
        align_corners_(info.attribute<int64_t>("align_corners", 0) != 0) {
    const auto mode = info.attribute<std::string>("mode", info.since_version() < 20 ? "bilinear" : "linear");
    const auto padding = info.attribute<std::string>("padding_mode", "zeros");
    mode_ = mode == "nearest" ? 0 : mode == "linear" || mode == "bilinear" ? 1 : 2;
    padding_ = padding == "zeros" ? 0 : padding == "border" ? 1 : 2;
    Require(mode_ < 2 || mode == "cubic" || mode == "bicubic", "mode '{}' is unknown", mode);
    Require(padding_ < 2 || padding == "reflection", "padding_mode '{}' is unknown", padding);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& grid = context.required_input(1);
    const Shape &xs = x.shape(), &gs = grid.shape();
    Require(xs.rank() >= 3 && xs.rank() <= 5 && gs.rank() == xs.rank() && gs[0] == xs[0] &&
                gs.back() == static_cast<int64_t>(xs.rank()) - 2,
            "the grid is {} for an input {}", gs, xs);
    Sampling s;
    s.rank = static_cast<cl_int>(xs.rank() - 2);
    s.channels = xs[1];
    s.points = gs.SizeOfRange(1, gs.rank() - 1);
    s.mode = mode_;
    s.padding = padding_;
    s.align_corners = align_corners_;
    Shape result{xs[0], xs[1]};
    for (size_t i = 1; i + 1 < gs.rank(); ++i) result.Append(gs[i]);
    for (size_t i = 2; i < xs.rank(); ++i) s.in[i - 2] = xs[i];
    const Tensor& y = *context.output(0, result);
    Require(y.num_elements() == 0 || x.num_elements() > 0, "an empty image {} has no samples", xs);
    kernel_.Linear(context, y.num_elements(), x, grid, y, s);
  }

 private:
  Launchable kernel_;
  cl_int mode_, padding_;
  bool align_corners_;
};

}  // namespace

void RegisterGridSample(KernelRegistry& registry) {
  registry.Add(Op("GridSample").Versions(16).Types(0, kReals).Types(1, kReals).Make<GridSample>());
}

}  // namespace tessera::opencl
