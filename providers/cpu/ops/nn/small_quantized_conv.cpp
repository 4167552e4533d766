#include "cpu/ops/nn/small_quantized_conv.h"

#include "base/rounding.h"
#include "cpu/ops/nn/gemm_calls.h"
#include "cpu/ops/nn/image_rows.h"
#include "cpu/ops/nn/shared_weights.h"

namespace tessera::cpu {

SmallQuantizedConv::SmallQuantizedConv(const KernelInfo& info, const ConvInputs& inputs) : attributes_(info.node()) {
  const Tensor* w = info.constant_input(inputs.weights);
  weights_ = w->shape();
  const int64_t outputs = weights_[0], channels = weights_[1], k = w->num_elements() / outputs;
  packed_ = SharedWeights(info, *w, "u8s8_taps", [&] {
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

void SmallQuantizedConv::Run(KernelContext& context, const Window& window, Tensor& y) const {
  const ConvCall call = requantization_->Begin(context, window, y);
  ThreadPool& threads = context.threads();
  const int64_t images = call.x.shape()[0], outputs = weights_[0], channels = weights_[1],
                taps = window.kernel.num_elements();
  const int64_t pixels = window.output.num_elements(), plane = window.input.num_elements(),
                rows = CheckedMul(images, pixels);
  const auto allocate = [&](int64_t count, int64_t bytes) {
    return context.scratch<uint8_t>(static_cast<size_t>(CheckedMul(count, bytes))).data();
  };
  const auto* from = static_cast<const uint8_t*>(call.x.raw());
  if (plane > 1) {
    uint8_t* by_pixels = allocate(CheckedMul(images, plane), channels);
    TransposePlanes(threads, images, channels, plane, from, by_pixels);
    from = by_pixels;
  }
  const std::span<const int64_t> inputs = MeetingPixels(context, window);
  if (!AreRows(inputs, taps, plane)) {
    uint8_t* gathered = allocate(rows, CheckedMul(taps, channels));
    GatherRows(threads, inputs, taps, plane, channels, images, static_cast<uint8_t>(call.x_zero), from, gathered);
    from = gathered;
  }
  OutputStage store = call.Store(outputs);
  if (pixels > 1) store.data = allocate(rows, CheckedMul(outputs, store.size()));
  if (!weight_zeros_.empty()) store.weight_zeros = weight_zeros_.data();
  RunGemm(context, {.m = rows, .lhs = {from, call.x.is(ElementType::kInt8)}, .rhs = packed_.get(), .out = store});
  if (pixels == 1) return;
  if (store.kind == OutputStage::kAccumulators) {
    TransposePlanes(threads, images, pixels, outputs, static_cast<const int32_t*>(store.data), y.mutable_data<int32_t>());
  } else {
    TransposePlanes(threads, images, pixels, outputs, static_cast<const uint8_t*>(store.data),
                    static_cast<uint8_t*>(y.mutable_raw()));
  }
}

}  // namespace tessera::cpu
