#pragma once

// Convolutions in NCHW8c whose outputs accumulate over many channels, as GEMM over steps of adjacent inputs.

#include "kernels/conv/nchw8c/nchw8c.h"
#include "kernels/conv/nchw8c/regions.h"
#include "ops/nn/window.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

class Nchw8cDense {
 public:
  Nchw8cDense() = default;
  /// `channels` of a group; `window`, here and later: with kSpatialAxes, and now without an input. `layout`: one of NCHW8c.
  Nchw8cDense(int64_t outputs, int64_t channels, const Window& window, int64_t group, ConvLayout layout);

  /// As many elements as the weights have.
  void Pack(ThreadPool& threads, const float* weights, float* packed) const;

  void Convolve(KernelContext& context, const Window& window, int64_t batch, const float* packed, const float* input,
                const Epilogue<float>& epilogue, float* output) const;

 private:
  /// The input is read in place.
  bool ReadsRegions() const { return layout_ == ConvLayout::kNchw8c && positions_ > 1; }
  int64_t depth() const { return group_channels_ * positions_; }
  int64_t group_outputs() const { return outputs_ / group_; }
  /// Elements of a pixel in one plane.
  int64_t unit() const { return layout_ == ConvLayout::kNchw8cFromPlanes ? 1 : kChannelBlock; }
  int64_t planes() const { return group_channels_ * group_ / unit(); }

  Nchw8cGemm Start(const Window& window, const Epilogue<float>& epilogue) const;
  /// The GEMM of an image's group.
  Nchw8cGemm Part(const Nchw8cGemm& first, int64_t image, int64_t group, const float* packed, int64_t image_size) const;
  size_t WriteSteps(const Window& window, const Nchw8cRegion& taps, std::span<const int64_t> plane,
                    Nchw8cStep* steps) const;
  void ByRegions(KernelContext& context, const Window& window, const Nchw8cRegions& regions, int64_t batch,
                 const float* packed, const float* input, const Epilogue<float>& epilogue, float* output) const;
  void Whole(KernelContext& context, const Window& window, int64_t batch, const float* packed, const float* input,
             const Epilogue<float>& epilogue, float* output) const;
  void RunImages(KernelContext& context, const Nchw8cGemm& first, int64_t images, int64_t image_size,
                 const float* packed) const;

  int64_t outputs_ = 0, group_channels_ = 0;
  int64_t positions_ = 1;  // of the kernel
  int64_t group_ = 1;
  ConvLayout layout_ = ConvLayout::kNchw8c;
  int64_t step_ = kChannelBlock;
};

}  // namespace tessera::cpu
