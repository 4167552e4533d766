// DepthToSpace (1: depth first; 11, 13, 28: mode) and SpaceToDepth (1, 13: depth first; 28: mode).

#include "ops/movement/depth_to_space.h"
#include "cpu/engine/indices.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

/// Blocks of the image's plane are the outermost part of the channels (DCR) or the innermost one (CRD).
class BlockMove : public Kernel {
 public:
  explicit BlockMove(const KernelInfo& info) : attributes_(info.node()) {}

 protected:
  const DepthToSpaceAttributes attributes_;
};

class DepthToSpace final : public BlockMove {
 public:
  using BlockMove::BlockMove;

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape space = attributes_.SpaceShape(input.shape());
    const int64_t n = space[0], c = space[1], b = attributes_.block, area = attributes_.area;
    const int64_t depth = input.shape()[1], h = input.shape()[2], w = input.shape()[3];
    Tensor* output = context.output(0, input.type(), space);
    if (output->num_elements() == 0) return;
    const int64_t plane = h * w;
    const bool depth_last = attributes_.depth_last;
    const int64_t channel = depth_last ? area * plane : plane, part = depth_last ? plane : c * plane;
    StridedCopy copy(KindOf(input.type()));
    copy.Add(n, depth * plane, depth * plane);
    copy.Add(c, channel, area * plane);
    copy.Add(h, w, b * w * b);
    copy.Add(b, b * part, w * b);
    copy.Add(w, 1, b);
    copy.Add(b, part, 1);
    copy.Run(context.threads(), input.raw(), output->mutable_raw());
  }
};

class SpaceToDepth final : public BlockMove {
 public:
  using BlockMove::BlockMove;

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape blocks = attributes_.DepthShape(input.shape());
    const int64_t n = input.shape()[0], c = input.shape()[1], height = input.shape()[2], width = input.shape()[3];
    const int64_t b = attributes_.block, h = blocks[2], w = blocks[3];
    const bool depth_last = attributes_.depth_last;
    Tensor* output = context.output(0, input.type(), blocks);
    if (output->num_elements() == 0) return;
    const int64_t plane = h * w, image = height * width;
    StridedCopy copy(KindOf(input.type()));
    copy.Add(n, c * image, c * image);
    if (depth_last) copy.Add(c, image, image);
    copy.Add(b, width, b * plane * (depth_last ? 1 : c));
    copy.Add(b, 1, plane * (depth_last ? 1 : c));
    if (!depth_last) copy.Add(c, image, plane);
    copy.Add(h, b * width, w);
    copy.Add(w, b, 1);
    copy.Run(context.threads(), input.raw(), output->mutable_raw());
  }
};

}  // namespace

void RegisterDepthToSpace(KernelRegistry& registry) {
  registry.Add(Op("DepthToSpace").Versions(1).Factory(MakeMovement<DepthToSpace>));
  registry.Add(Op("SpaceToDepth").Versions(1).Factory(MakeMovement<SpaceToDepth>));
}

}  // namespace tessera::cpu
