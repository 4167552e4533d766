#include "cpu/ops/nn/small_quantized_conv.h"

#include <algorithm>

#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/engine/slots.h"
#include "cpu/ops/nn/image_rows.h"
#include "cpu/ops/nn/shared_weights.h"
#include "kernels/conv/choose/batched.h"

namespace tessera::cpu {

SmallQuantizedConv::SmallQuantizedConv(const KernelInfo& info, const ConvInputs& inputs) : attributes_(info.node()) {
  const Tensor* w = info.constant_input(inputs.weights);
  weights_ = w->shape();
  const int64_t outputs = weights_[0], channels = weights_[1], k = w->num_elements() / outputs;
  packed_ = SharedWeights(info, *w, "u8s8_taps", {outputs, k, PanelLayout::kVectors}, [&] {
    std::vector<uint8_t> by_taps(static_cast<size_t>(w->num_elements()));
    TransposePlanes(info.threads(), outputs, channels, k / channels, static_cast<const uint8_t*>(w->raw()), by_taps.data());
    return PackWeightsS8(info.threads(), {by_taps.data(), w->is(ElementType::kInt8), outputs, k, k, 1},
                         PanelLayout::kVectors);
  });
  Require(packed_ != nullptr, "the weights cannot be packed here");
  std::vector<Requantization::Channel> packed_channels;
  Requantization::Append(*packed_, 0, packed_channels);
  packed_channels.resize(static_cast<size_t>(RoundUp(outputs, packed_->width)));
  weight_zeros_ =
      Requantization::SubtractZeroPoints(SignedZeros(*w, info.constant_input(inputs.w_zero), outputs), k, packed_channels);
  requantization_.emplace(info, std::move(packed_channels), outputs, info.input_type(0) == ElementType::kInt8 ? 128 : 0,
                          inputs);
  info.ReleaseConstant(inputs.weights);
}

/// One convolution's sizes and operands, and the memory that groups of images are computed in.
class SmallQuantizedConv::Call {
 public:
  Call(KernelContext& context, const SmallQuantizedConv& conv, const ConvCall& call)
      : context_(context),
        call_(call),
        weights_(*conv.packed_),
        weight_zeros_(conv.weight_zeros_.empty() ? nullptr : conv.weight_zeros_.data()),
        outputs_(conv.weights_[0]),
        channels_(conv.weights_[1]),
        taps_(call.window.kernel.num_elements()),
        pixels_(call.window.output.num_elements()),
        plane_(call.window.input.num_elements()),
        indices_(MeetingPixels(context, call.window)) {}

  void Run() {
    const int64_t batch = call_.x.shape()[0];
    const BatchedGroups groups = GroupImages(ConvTypes::kBytes, {batch, channels_, outputs_, taps_, pixels_, plane_},
                                             context_.threads().num_threads());
    if (!groups.shared) return Apart(batch, groups);
    Convolve(Allocate(batch), 0, batch);
  }

 private:
  struct Buffers {
    uint8_t *by_pixels, *gathered, *results;  // null: not needed
    std::byte* workspace;
  };

  GemmU8S8Problem Gemm(int64_t images) const {
    GemmU8S8Problem gemm{.m = images * pixels_,
                         .lhs = {nullptr, call_.x.is(ElementType::kInt8)},
                         .rhs = &weights_,
                         .out = call_.Store(outputs_)};
    gemm.out.weight_zeros = weight_zeros_;
    return gemm;
  }

  Buffers Allocate(int64_t images) const {
    const auto allocate = [&](bool needed, int64_t rows, int64_t bytes) {
      if (!needed) return static_cast<uint8_t*>(nullptr);
      return context_.scratch<uint8_t>(static_cast<size_t>(CheckedMul(CheckedMul(images, rows), bytes))).data();
    };
    const GemmU8S8Problem gemm = Gemm(images);
    return {allocate(plane_ > 1, plane_, channels_),
            allocate(!AreRows(indices_, taps_, plane_), pixels_, CheckedMul(taps_, channels_)),
            allocate(pixels_ > 1, pixels_, CheckedMul(outputs_, gemm.out.size())),
            context_.scratch<std::byte>(GemmWorkspaceSize(gemm)).data()};
  }

  void Apart(int64_t batch, const BatchedGroups& groups) {
    ParallelGroups(
        context_.threads(), batch, groups.images, groups.group_ns, [&] { return Allocate(groups.images); },
        [&](const Buffers& own, int64_t first, int64_t images) { Convolve(own, first, images); });
  }

  void Convolve(const Buffers& buffers, int64_t first, int64_t images) const {
    ThreadPool& threads = context_.threads();
    const uint8_t* from = static_cast<const uint8_t*>(call_.x.raw()) + first * channels_ * plane_;
    if (buffers.by_pixels != nullptr) {
      TransposePlanes(threads, images, channels_, plane_, from, buffers.by_pixels);
      from = buffers.by_pixels;
    }
    if (buffers.gathered != nullptr) {
      GatherRows(threads, indices_, taps_, plane_, channels_, images, static_cast<uint8_t>(call_.x_zero), from,
                 buffers.gathered);
      from = buffers.gathered;
    }
    GemmU8S8Problem gemm = Gemm(images);
    gemm.lhs.data = from;
    auto* to = static_cast<uint8_t*>(call_.y.mutable_raw()) + first * outputs_ * pixels_ * gemm.out.size();
    gemm.out.data = buffers.results != nullptr ? buffers.results : to;
    cpu::Gemm(threads, gemm, buffers.workspace);
    if (buffers.results == nullptr) return;
    if (gemm.out.kind == OutputStage::kAccumulators) {
      TransposePlanes(threads, images, pixels_, outputs_, reinterpret_cast<const int32_t*>(buffers.results),
                      reinterpret_cast<int32_t*>(to));
    } else {
      TransposePlanes(threads, images, pixels_, outputs_, buffers.results, to);
    }
  }

  KernelContext& context_;
  const ConvCall& call_;
  const PackedWeightsS8& weights_;
  const int32_t* const weight_zeros_;
  const int64_t outputs_, channels_, taps_, pixels_, plane_;
  const std::span<const int64_t> indices_;
};

void SmallQuantizedConv::Run(KernelContext& context, const Window& window, Tensor& y) const {
  const ConvCall call = requantization_->Begin(context, window, y);
  Call(context, *this, call).Run();
}

}  // namespace tessera::cpu
