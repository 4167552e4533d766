// DepthToSpace, SpaceToDepth (1, 13).

#include "ops/movement/depth_to_space.h"
#include "opencl/ops/strided.h"

namespace tessera::opencl {
namespace {

class DepthToSpace final : public StridedKernel {
 public:
  explicit DepthToSpace(const KernelInfo& info) : StridedKernel(info), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& s = x.shape();
    const Shape space = attributes_.SpaceShape(s);
    const int64_t channels = space[1], size = attributes_.block;
    Tensor& y = *context.output(0, space);
    if (attributes_.depth_last) {
      static constexpr size_t kPerm[] = {0, 1, 4, 2, 5, 3};
      CopyTransposed(context, x, Shape{s[0], channels, size, size, s[2], s[3]}, kPerm, y);
    } else {
      static constexpr size_t kPerm[] = {0, 3, 4, 1, 5, 2};
      CopyTransposed(context, x, Shape{s[0], size, size, channels, s[2], s[3]}, kPerm, y);
    }
  }

 private:
  DepthToSpaceAttributes attributes_;
};

class SpaceToDepth final : public StridedKernel {
 public:
  explicit SpaceToDepth(const KernelInfo& info) : StridedKernel(info), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& s = x.shape();
    const Shape depth = attributes_.DepthShape(s);
    const int64_t size = attributes_.block;
    Tensor& y = *context.output(0, depth);
    static constexpr size_t kBlocksFirst[] = {0, 3, 5, 1, 2, 4}, kChannelsFirst[] = {0, 1, 3, 5, 2, 4};
    CopyTransposed(context, x, Shape{s[0], s[1], depth[2], size, depth[3], size},
                   attributes_.depth_last ? kChannelsFirst : kBlocksFirst, y);
  }

 private:
  DepthToSpaceAttributes attributes_;
};

}  // namespace

void RegisterDepthToSpace(KernelRegistry& registry) {
  registry.Add(Op("DepthToSpace").Versions(1).Types(0, kMovable).Make<DepthToSpace>());
  registry.Add(Op("SpaceToDepth").Versions(1).Types(0, kMovable).Make<SpaceToDepth>());
}

}  // namespace tessera::opencl
