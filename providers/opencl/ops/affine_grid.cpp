// AffineGrid (20): the points that GridSample reads, of images and of volumes.

#include "ops/image/affine_grid.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

/// The same struct stands in affine_grid.cl.
struct Grid {
  cl_long depth = 1, height = 1, width = 1;
  cl_int axes = 2, align_corners = 0;
};

class AffineGrid final : public Kernel {
 public:
  explicit AffineGrid(const KernelInfo& info)
      : kernel_(DeviceOf(info), "affine_grid", Computed('X', info.input_type(0)), "affine_grid"),
        align_corners_(AffineGridAttributes(info.node()).align_corners) {}

  void Compute(KernelContext& context) override {
    const Tensor& theta = context.required_input(0);
    const Shape shape = AffineGridAttributes::ResultShape(theta.shape(), context.required_input(1));
    const size_t rank = shape.rank();
    const int64_t axes = shape.back();
    const Tensor& y = *context.output(0, shape);
    const Grid grid{axes == 3 ? shape[1] : 1, shape[rank - 3], shape[rank - 2], static_cast<cl_int>(axes), align_corners_};
    kernel_.Linear(context, shape.SizeOfRange(0, rank - 1), theta, y, grid);
  }

 private:
  Launchable kernel_;
  bool align_corners_;
};

}  // namespace

void RegisterAffineGrid(KernelRegistry& registry) {
  registry.Add(Op("AffineGrid").Versions(20).Types(0, kReals).HostInput(1).Make<AffineGrid>());
}

}  // namespace tessera::opencl
