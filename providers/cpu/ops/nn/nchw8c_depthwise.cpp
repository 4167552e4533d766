#include "cpu/ops/nn/nchw8c_depthwise.h"

#include <algorithm>

#include "base/checked.h"
#include "cpu/engine/slots.h"
#include "cpu/ops/nn/nchw8c_layout.h"

namespace tessera::cpu {
namespace {

/// The columns that windows read, with zeros around the image, so that no window asks where it ends.
struct PaddedRows {
  explicit PaddedRows(const Window& w)
      : rows(w.input[0]), width(w.input[1]), left(w.begin[1]), padded((w.output[1] - 1) * w.strides[1] + w.extent(1)) {}

  int64_t pixels() const { return rows * padded; }

  /// Eight planes, one after the other; what is outside the image stays as it is.
  void Block(const float* planes, float* to) const {
    const int64_t columns = std::clamp<int64_t>(padded - left, 0, width);
    for (int64_t row = 0; row < rows; ++row)
      UseNchw8c(planes + row * width, rows * width, 0, columns, to + (row * padded + left) * kChannelBlock);
  }

  int64_t rows, width, left, padded;
};

/// [channels][positions] to [blocks][positions][8].
std::span<const float> BlockWeights(KernelContext& context, const float* weights, int64_t channels, int64_t positions) {
  const auto packed = context.scratch<float>(static_cast<size_t>(channels * positions));
  for (int64_t block = 0; block < channels / kChannelBlock; ++block) {
    const int64_t at = block * kChannelBlock * positions;
    UseNchw8c(weights + at, positions, 0, positions, packed.data() + at);
  }
  return packed;
}

}  // namespace

void ConvolveDepthwiseByBlocks(KernelContext& context, const Window& window, int64_t batch, int64_t channels,
                               const DepthwiseTensors& tensors) {
  ThreadPool& threads = context.threads();
  const int64_t blocks = channels / kChannelBlock, items = batch * blocks;
  const int64_t out = window.output.num_elements(), positions = window.kernel.num_elements();
  const PaddedRows padded(window);
  Nchw8cWindow nchw8c = ToNchw8cWindow(window.WithRank(kSpatialAxes));
  nchw8c.x.input = padded.padded;
  nchw8c.x.pad = 0;
  const int64_t in = padded.pixels();
  const std::span<const float> weights = BlockWeights(context, tensors.weights, channels, positions);
  const double cost = static_cast<double>(out * (positions + 2) + 2 * in);
  const int64_t slots = SlotCount(threads, items, cost);
  const auto workspaces = context.scratch<float>(static_cast<size_t>(CheckedMul(slots, (in + out) * kChannelBlock)));
  ParallelSlots(threads, slots, items, cost, [&](int64_t slot, int64_t begin, int64_t end) {
    float* image = workspaces.data() + slot * (in + out) * kChannelBlock;
    float* result = image + in * kChannelBlock;
    std::fill_n(image, in * kChannelBlock, 0.0f);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t channel = i % blocks * kChannelBlock;
      padded.Block(tensors.input + i * kChannelBlock * window.input.num_elements(), image);
      ConvolveNchw8cDepthwise(nchw8c, image, weights.data() + channel * positions, 1, tensors.epilogue.From(channel, 0), 0,
                              nchw8c.z.output * nchw8c.y.output, result);
      UnblockChannels(result, out, 0, out, kChannelBlock, tensors.output + i * kChannelBlock * out);
    }
  });
}

}  // namespace tessera::cpu
