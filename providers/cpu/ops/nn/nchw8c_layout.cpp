// ToNchw8c, FromNchw8c, Nchw8cShape, Nchw8cScale, Nchw8cShift, Nchw8cGlobalAveragePool (ai.tessera 1): conversion from and
// to NCHW, and a number for each channel of an image.

#include "cpu/ops/nn/nchw8c_layout.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/ops/ops.h"
#include "ops/movement/shape.h"
#include "ops/movement/slice.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kPart = 1024;  // pixels that are moved at a time

/// Calls move(block, begin, end) for the pixels of all blocks.
template <class Move>
void ForPixels(KernelContext& context, int64_t blocks, int64_t pixels, const Move& move) {
  const int64_t parts = CeilDiv(pixels, kPart);
  const double cost = 10 + 4.0 * static_cast<double>(std::min(pixels, kPart));
  context.threads().ParallelFor(CheckedMul(blocks, parts), cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % parts * kPart;
      move(i / parts, first, std::min(first + kPart, pixels));
    }
  });
}

/// [N, C, spatial...] for an image in NCHW8c.
Shape PlainShape(const Shape& nchw8c, std::span<const int64_t> spatial) {
  Shape shape{nchw8c[0], CheckedMul(nchw8c[1], kChannelBlock)};
  for (const int64_t size : spatial) shape.Append(size);
  return shape;
}

/// [N, C, 1...].
Shape OnePixel(const Shape& nchw8c) { return PlainShape(nchw8c, Shape(SpatialDims(nchw8c).size(), 1).dims()); }

class ToNchw8c final : public Kernel {
 public:
  explicit ToNchw8c(const KernelInfo&) {}
  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape& shape = input.shape();
    Require(input.is(ElementType::kFloat) && shape.rank() > 2 && shape.rank() <= kSpatialAxes + 2 &&
                shape[1] % kChannelBlock == 0,
            "the input is {}, images of floats with a multiple of {} channels are expected", shape, kChannelBlock);
    Tensor* output = context.output(0, Nchw8cShape(shape[0], shape[1] / kChannelBlock, shape.dims().subspan(2)));
    if (output == nullptr || output->num_elements() == 0) return;
    const float* from = input.data<float>();
    float* to = output->mutable_data<float>();
    BringIntoBlocks(context, from, shape[0] * shape[1] / kChannelBlock, Pixels(output->shape()), to);
  }
};

/// To as many channels as attribute `channels` says, of which the last block may have fewer than eight; without it, to all.
class FromNchw8c final : public Kernel {
 public:
  explicit FromNchw8c(const KernelInfo& info) : channels_(info.attribute<int64_t>("channels", 0)) {}
  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    RequireNchw8c(input);
    const Shape& shape = input.shape();
    const int64_t blocks = shape[1];
    Shape plain = PlainShape(shape, SpatialDims(shape));
    const int64_t channels = channels_ == 0 ? plain[1] : channels_;
    Require(channels == plain[1] || (channels > plain[1] - kChannelBlock && channels < plain[1]),
            "{} blocks are no image of {} channels", blocks, channels);
    plain[1] = channels;
    Tensor* output = context.output(0, plain);
    if (output == nullptr || output->num_elements() == 0) return;
    const float* from = input.data<float>();
    float* to = output->mutable_data<float>();
    const int64_t pixels = Pixels(shape);
    ForPixels(context, shape[0] * blocks, pixels, [&](int64_t i, int64_t begin, int64_t end) {
      const int64_t first = i % blocks * kChannelBlock, count = std::min(kChannelBlock, channels - first);
      UnblockChannels(from + i * pixels * kChannelBlock, pixels, begin, end, count,
                      to + (i / blocks * channels + first) * pixels);
    });
  }

 private:
  int64_t channels_;  // 0: all
};

/// Shape (15) of the image with so many channels whose NCHW8c form the input is, or could be; other sizes are the input's.
class Nchw8cShapeOf final : public Kernel {
 public:
  explicit Nchw8cShapeOf(const KernelInfo& info)
      : channels_(info.attribute<int64_t>("channels")), attributes_(info.node()) {}
  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    RequireNchw8c(input);
    Shape plain = PlainShape(input.shape(), SpatialDims(input.shape()));
    plain[1] = channels_;
    const auto [first, last] = attributes_.Range(plain.rank());
    Tensor* output = context.output(0, Shape{static_cast<int64_t>(last - first)});
    if (output != nullptr) std::copy(plain.begin() + first, plain.begin() + last, output->mutable_data<int64_t>());
  }

 private:
  int64_t channels_;
  ShapeAttributes attributes_;
};

/// X times, or plus, a number for each channel, [N or 1, C, 1...].
template <auto kApply>
class ByChannel final : public Kernel {
 public:
  explicit ByChannel(const KernelInfo&) {}
  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Tensor& numbers = context.required_input(1);
    RequireNchw8c(input);
    const Shape& shape = input.shape();
    const bool shared = numbers.shape().rank() > 0 && numbers.shape()[0] == 1;
    Shape expected = OnePixel(shape);
    if (shared) expected[0] = 1;
    Require(numbers.is(ElementType::kFloat) && numbers.shape() == expected,
            "the numbers for channels are {}, the input is {}", numbers.shape(), shape);
    Tensor* output = context.output(0, shape);
    if (output == nullptr || output->num_elements() == 0) return;
    const int64_t pixels = Pixels(shape);
    const float* in = input.data<float>();
    const float* of_channels = numbers.data<float>();
    float* out = output->mutable_data<float>();
    context.threads().ParallelFor(shape[0] * shape[1], 10 + static_cast<double>(pixels), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = i * pixels * kChannelBlock;
        kApply(in + at, of_channels + (shared ? i % shape[1] : i) * kChannelBlock, pixels, 0, 1, out + at);
      }
    });
  }
};

using Nchw8cScale = ByChannel<ScaleNchw8c>;
using Nchw8cShift = ByChannel<ShiftNchw8c>;

/// To [N, C, 1...].
class Nchw8cGlobalAveragePool final : public Kernel {
 public:
  explicit Nchw8cGlobalAveragePool(const KernelInfo&) {}
  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    RequireNchw8c(input);
    const Shape& shape = input.shape();
    Tensor* output = context.output(0, OnePixel(shape));
    if (output == nullptr || output->num_elements() == 0) return;
    const int64_t pixels = Pixels(shape);
    const float* in = input.data<float>();
    float* out = output->mutable_data<float>();
    context.threads().ParallelFor(shape[0] * shape[1], 10 + static_cast<double>(pixels),
                                  [&](int64_t begin, int64_t end) { AverageNchw8c(in, pixels, begin, end, out); });
  }
};

}  // namespace

void BringIntoBlocks(KernelContext& context, const float* planes, int64_t blocks, int64_t pixels, float* to) {
  ForPixels(context, blocks, pixels, [&](int64_t block, int64_t begin, int64_t end) {
    const int64_t at = block * pixels * kChannelBlock;
    UseNchw8c(planes + at, pixels, begin, end, to + at);
  });
}

void RegisterToNchw8c(KernelRegistry& registry) {
  if (SuitsChannelBlocks()) registry.Add(Nchw8cOp("ToNchw8c").Make<ToNchw8c>());
}
void RegisterFromNchw8c(KernelRegistry& registry) {
  if (SuitsChannelBlocks()) registry.Add(Nchw8cOp("FromNchw8c").Make<FromNchw8c>());
}
void RegisterNchw8cShape(KernelRegistry& registry) {
  if (SuitsChannelBlocks()) registry.Add(Nchw8cOp("Nchw8cShape").Make<Nchw8cShapeOf>());
}
void RegisterNchw8cScale(KernelRegistry& registry) {
  if (SuitsChannelBlocks()) registry.Add(Nchw8cOp("Nchw8cScale").InPlace(0, 0).Make<Nchw8cScale>());
}
void RegisterNchw8cShift(KernelRegistry& registry) {
  if (SuitsChannelBlocks()) registry.Add(Nchw8cOp("Nchw8cShift").InPlace(0, 0).Make<Nchw8cShift>());
}
void RegisterNchw8cGlobalAveragePool(KernelRegistry& registry) {
  if (SuitsChannelBlocks()) registry.Add(Nchw8cOp("Nchw8cGlobalAveragePool").Make<Nchw8cGlobalAveragePool>());
}

}  // namespace tessera::cpu
