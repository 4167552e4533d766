// AffineGrid (20): the points that GridSample reads, of images and of volumes.

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
        align_corners_(info.attribute<int64_t>("align_corners", 0) != 0) {}

  void Compute(KernelContext& context) override {
    const Tensor& theta = context.required_input(0);
    const Shape size = HostIntegers(context.required_input(1));
    Require(size.rank() == 4 || size.rank() == 5, "size has {} numbers, 4 or 5 are expected", size.rank());
    for (const int64_t dim : size) Require(dim >= 0, "size {} is negative", dim);
    const auto axes = static_cast<int64_t>(size.rank()) - 2;
    const Shape expected{size[0], axes, axes + 1};
    Require(theta.shape() == expected, "theta is {}, {} is expected", theta.shape(), expected);
    Shape points{size[0]};
    for (size_t i = 2; i < size.rank(); ++i) points.Append(size[i]);
    Shape shape = points;
    shape.Append(axes);
    const Tensor& y = *context.output(0, shape);
    const Grid grid{axes == 3 ? size[2] : 1, size[size.rank() - 2], size.back(), static_cast<cl_int>(axes), align_corners_};
    kernel_.Linear(context, points.num_elements(), theta, y, grid);
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
