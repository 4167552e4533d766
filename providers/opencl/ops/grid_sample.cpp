// GridSample (16-22), one to three spatial dimensions.

#include "ops/image/grid_sample.h"
#include "opencl/claims/refusals.h"
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
        attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& grid = context.required_input(1);
    const Shape &xs = x.shape(), &gs = grid.shape();
    Require(xs.rank() <= 5, "X is {}: one to three spatial axes are sampled", xs);
    const Shape result = GridSampleAttributes::ResultShape(xs, gs);
    Sampling s;
    s.rank = static_cast<cl_int>(xs.rank() - 2);
    s.channels = xs[1];
    s.points = gs.SizeOfRange(1, gs.rank() - 1);
    // Modes and paddings have the same numbers in grid_sample.cl.
    s.mode = static_cast<cl_int>(attributes_.mode);
    s.padding = static_cast<cl_int>(attributes_.padding);
    s.align_corners = attributes_.align_corners;
    for (size_t i = 2; i < xs.rank(); ++i) s.in[i - 2] = xs[i];
    const Tensor& y = *context.output(0, result);
    kernel_.Linear(context, y.num_elements(), x, grid, y, s);
  }

 private:
  Launchable kernel_;
  GridSampleAttributes attributes_;
};

}  // namespace

void RegisterGridSample(KernelRegistry& registry) {
  registry.Add(Op("GridSample").Versions(16).Types(0, kReals).Types(1, kReals).Unless(SpatialRefusal).Make<GridSample>());
}

}  // namespace tessera::opencl
