#include "cpu/ops/nn/small_images.h"

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "base/weight_memory.h"
#include "cpu/engine/slots.h"
#include "cpu/ops/nn/image_rows.h"
#include "cpu/ops/nn/packed_weights.h"
#include "kernels/conv/choose/batched.h"
#include "kernels/gemm/gemm.h"
#include "runtime/memory/packed_store.h"

namespace tessera::cpu {
namespace {

/// [outputs, channels, taps] as panels of a matrix [taps, channels] by outputs.
void PackByTaps(ThreadPool& threads, const Tensor& weights, float* packed) {
  const Shape& shape = weights.shape();
  const int64_t outputs = shape[0], channels = shape[1], taps = shape.SizeOfRange(2, shape.rank());
  if (taps == 1) {
    PackGemmBInStrips<float>(threads, channels, outputs, weights.unaligned_data<float>(), true, packed);
    return;
  }
  std::vector<float> by_taps(static_cast<size_t>(weights.num_elements()));
  TransposePlanes(threads, outputs, channels, taps, weights.unaligned_data<float>(), by_taps.data());
  PackGemmB<float>(threads, taps * channels, outputs, by_taps.data(), 1, taps * channels, packed);
}

}  // namespace

SmallImagesConv::SmallImagesConv(const KernelInfo& info) {
  const Tensor* weights = info.constant_input(1);
  const Shape& shape = weights_shape_ = weights->shape();
  const Shape size{static_cast<int64_t>(PackedGemmBSize<float>(shape.SizeOfRange(1, shape.rank()), shape[0]))};
  packed_ = SharedTensor(info, *weights, "small_images", ElementType::kFloat, size, [&] {
    auto packed = std::make_shared<Tensor>(ElementType::kFloat, size, WeightMemory());
    PackByTaps(info.threads(), *weights, packed->mutable_data<float>());
    return packed;
  });
  info.ReleaseConstant(1);
}

/// One convolution's sizes and operands, and the memory that groups of images are computed in.
class SmallImagesConv::Call {
 public:
  Call(KernelContext& context, const SmallImagesConv& conv, const Window& window, const float* input,
       const Epilogue<float>& epilogue, float* output)
      : context_(context),
        outputs_(conv.weights_shape_[0]),
        channels_(conv.weights_shape_[1]),
        taps_(window.kernel.num_elements()),
        pixels_(window.output.num_elements()),
        plane_(window.input.num_elements()),
        indices_(MeetingPixels(context, window)),
        input_(input),
        output_(output) {
    gemm_.n = outputs_;
    gemm_.k = CheckedMul(taps_, channels_);
    gemm_.lhs.row = gemm_.k;
    gemm_.rhs.packed = conv.packed_->data<float>();
    gemm_.out.row = outputs_;
    gemm_.epilogue = epilogue;
  }

  void Run(int64_t batch) {
    const BatchedGroups groups = GroupImages(ConvTypes::kFloat, {batch, channels_, outputs_, taps_, pixels_, plane_},
                                             context_.threads().num_threads());
    groups.shared ? Together(batch, groups.images) : Apart(batch, groups);
  }

 private:
  struct Buffers {
    float *by_pixels, *gathered, *results;  // null: not needed
  };

  Buffers Allocate(int64_t images) const {
    const auto allocate = [&](bool needed, int64_t rows, int64_t columns) {
      if (!needed) return static_cast<float*>(nullptr);
      return context_.scratch<float>(static_cast<size_t>(CheckedMul(CheckedMul(images, rows), columns))).data();
    };
    return {allocate(plane_ > 1, plane_, channels_), allocate(!AreRows(indices_, taps_, plane_), pixels_, gemm_.k),
            allocate(pixels_ > 1, pixels_, outputs_)};
  }

  void Together(int64_t batch, int64_t together) {
    const Buffers buffers = Allocate(together);
    GemmProblem<float> most = gemm_;
    most.m = together * pixels_;
    const size_t size = GemmWorkspaceSize(most, context_.threads().num_threads());
    float* workspace = size == 0 ? nullptr : context_.scratch<float>(size).data();
    for (int64_t i = 0; i < batch; i += together) {
      Convolve(buffers, i, std::min(together, batch - i),
               [&](const GemmProblem<float>& args) { Gemm(context_.threads(), args, workspace); });
    }
  }

  void Apart(int64_t batch, const BatchedGroups& groups) {
    ParallelGroups(
        context_.threads(), batch, groups.images, groups.group_ns, [&] { return Allocate(groups.images); },
        [&](const Buffers& own, int64_t first, int64_t images) { Convolve(own, first, images, GemmSerial<float>); });
  }

  template <class Multiply>
  void Convolve(const Buffers& buffers, int64_t first, int64_t images, const Multiply& multiply) const {
    ThreadPool& threads = context_.threads();
    const float* from = input_ + first * channels_ * plane_;
    if (buffers.by_pixels != nullptr) {
      TransposePlanes(threads, images, channels_, plane_, from, buffers.by_pixels);
      from = buffers.by_pixels;
    }
    if (buffers.gathered != nullptr)
      GatherRows(threads, indices_, taps_, plane_, channels_, images, 0.0f, from, buffers.gathered);
    GemmProblem<float> args = gemm_;
    float* to = output_ + first * outputs_ * pixels_;
    args.m = images * pixels_;
    args.lhs.data = buffers.gathered != nullptr ? buffers.gathered : from;
    args.out.data = buffers.results != nullptr ? buffers.results : to;
    multiply(args);
    if (buffers.results != nullptr) TransposePlanes(threads, images, pixels_, outputs_, buffers.results, to);
  }

  KernelContext& context_;
  const int64_t outputs_, channels_, taps_, pixels_, plane_;
  const std::span<const int64_t> indices_;
  const float* const input_;
  float* const output_;
  GemmProblem<float> gemm_;
};

void SmallImagesConv::Convolve(KernelContext& context, const Window& window, int64_t batch, const float* input,
                               const Epilogue<float>& epilogue, float* output) const {
  Call(context, *this, window, input, epilogue, output).Run(batch);
}

}  // namespace tessera::cpu
