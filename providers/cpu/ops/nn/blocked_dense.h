#pragma once

// Convolutions over blocks of channels whose outputs sum over many channels, as sums over steps of neighbouring inputs.

#include "base/window.h"
#include "simd/blocked.h"
#include "tessera/kernel.h"

namespace tessera::cpu {

class BlockedDense {
 public:
  BlockedDense() = default;
  /// `plain_input`: one group that reads an image plane by plane, with the given dilation along rows.
  BlockedDense(const Shape& weights, int64_t group, bool plain_input, int64_t dilation_x);

  /// As many elements as the weights have.
  void Pack(ThreadPool& threads, const float* weights, float* packed) const;

  void Convolve(KernelContext& context, const Window& window, int64_t batch, const float* packed, const float* input,
                const BlockedEpilogue& epilogue, float* output) const;

 private:
  struct Region;
  class Regions;

  int64_t outputs() const { return weights_[0]; }
  int64_t channels() const { return weights_[1] * group_; }
  int64_t positions() const { return weights_[2] * weights_[3]; }
  int64_t depth() const { return weights_[1] * positions(); }
  int64_t group_outputs() const { return outputs() / group_; }
  /// Elements of a pixel in one plane.
  int64_t unit() const { return plain_input_ ? 1 : kChannelBlock; }
  int64_t planes() const { return channels() / unit(); }

  BlockedProduct Start(const Window& window, const BlockedEpilogue& epilogue) const;
  /// The product of an image's group.
  BlockedProduct Part(const BlockedProduct& first, int64_t image, int64_t group, const float* packed,
                      int64_t image_size) const;
  size_t WriteSteps(const Window& window, const Region& taps, int64_t plane_width, int64_t plane_pixels,
                    BlockedStep* steps) const;
  void ByRegions(KernelContext& context, const Window& window, const Regions& regions, int64_t batch, const float* packed,
                 const float* input, const BlockedEpilogue& epilogue, float* output) const;
  void Whole(KernelContext& context, const Window& window, int64_t batch, const float* packed, const float* input,
             const BlockedEpilogue& epilogue, float* output) const;
  void RunImages(KernelContext& context, const BlockedProduct& first, int64_t images, int64_t image_size,
                 const float* packed) const;

  Shape weights_;
  int64_t group_ = 1;
  bool plain_input_ = false;
  int64_t step_ = kChannelBlock;
};

}  // namespace tessera::cpu
