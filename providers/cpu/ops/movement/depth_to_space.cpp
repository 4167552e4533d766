// DepthToSpace (1: depth first; 11, 13, 28: mode) and SpaceToDepth (1, 13: depth first; 28: mode).

#include "base/checked.h"
#include "cpu/engine/indices.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

/// Blocks of the image's plane are the outermost part of the channels (DCR) or the innermost one (CRD).
class BlockMove : public Kernel {
 public:
  explicit BlockMove(const KernelInfo& info) : block_(info.attribute<int64_t>("blocksize")) {
    Require(block_ > 0, "blocksize is {}, a positive number is expected", block_);
    area_ = CheckedMul(block_, block_);
    const auto mode = info.attribute<std::string>("mode", "DCR");
    Require(mode == "DCR" || mode == "CRD", "mode is '{}', expected DCR or CRD", mode);
    depth_last_ = mode == "CRD";
  }

 protected:
  static const Tensor& Image(const KernelContext& context) {
    const Tensor& input = context.required_input(0);
    Require(input.shape().rank() == 4, "input has shape {}, expected [N, C, H, W]", input.shape());
    return input;
  }

  int64_t block_, area_;
  bool depth_last_;
};

class DepthToSpace final : public BlockMove {
 public:
  using BlockMove::BlockMove;

  void Compute(KernelContext& context) override {
    const Tensor& input = Image(context);
    const int64_t n = input.shape()[0], depth = input.shape()[1], h = input.shape()[2], w = input.shape()[3];
    Require(depth % area_ == 0, "{} channels cannot be shared out to blocks of {}", depth, area_);
    const int64_t c = depth / area_, b = block_;
    Tensor* output = context.output(0, input.type(), Shape{n, c, CheckedMul(h, b), CheckedMul(w, b)});
    if (output->num_elements() == 0) return;
    const int64_t plane = h * w;
    const int64_t channel = depth_last_ ? area_ * plane : plane, part = depth_last_ ? plane : c * plane;
    StridedCopy copy(KindOf(input.type()));
    copy.Add(n, depth * plane, depth * plane);
    copy.Add(c, channel, area_ * plane);
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
    const Tensor& input = Image(context);
    const int64_t n = input.shape()[0], c = input.shape()[1], height = input.shape()[2], width = input.shape()[3];
    Require(height % block_ == 0 && width % block_ == 0, "{} is not made of blocks of {}", input.shape(), block_);
    const int64_t b = block_, h = height / b, w = width / b;
    Tensor* output = context.output(0, input.type(), Shape{n, CheckedMul(c, area_), h, w});
    if (output->num_elements() == 0) return;
    const int64_t plane = h * w, image = height * width;
    StridedCopy copy(KindOf(input.type()));
    copy.Add(n, c * image, c * image);
    if (depth_last_) copy.Add(c, image, image);
    copy.Add(b, width, b * plane * (depth_last_ ? 1 : c));
    copy.Add(b, 1, plane * (depth_last_ ? 1 : c));
    if (!depth_last_) copy.Add(c, image, plane);
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
