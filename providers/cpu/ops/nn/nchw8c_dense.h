#pragma once

// Convolutions in NCHW8c whose outputs accumulate over many channels, as GEMM over steps of adjacent inputs.

#include "kernels/conv/nchw8c/nchw8c.h"
#include "ops/nn/window.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

class Nchw8cDense {
 public:
  /// What an image is, and how it is read.
  enum class Source : uint8_t {
    kBlocks,
    kPlanes,          // plane by plane; of one group
    kPlanesToBlocks,  // converted to NCHW8c where padding copies it anyway
  };

  Nchw8cDense() = default;
  /// `channels` of a group; `window`, here and later: with kSpatialAxes, and now without an input.
  Nchw8cDense(int64_t outputs, int64_t channels, const Window& window, int64_t group, Source source);

  /// As many elements as the weights have.
  void Pack(ThreadPool& threads, const float* weights, float* packed) const;

  /// The share of the multiplications of a plane's outputs with all the window's taps that are computed: fewer where many
  /// would read padding.
  double ShareOfPlane(const Window& window) const;

  void Convolve(KernelContext& context, const Window& window, int64_t batch, const float* packed, const float* input,
                const Epilogue<float>& epilogue, float* output) const;

 private:
  struct Region;
  class Regions;

  /// The input is read in place.
  bool ReadsRegions() const { return source_ == Source::kBlocks && positions_ > 1; }
  int64_t depth() const { return group_channels_ * positions_; }
  int64_t group_outputs() const { return outputs_ / group_; }
  /// Elements of a pixel in one plane.
  int64_t unit() const { return source_ == Source::kPlanes ? 1 : kChannelBlock; }
  int64_t planes() const { return group_channels_ * group_ / unit(); }

  Nchw8cGemm Start(const Window& window, const Epilogue<float>& epilogue) const;
  /// The GEMM of an image's group.
  Nchw8cGemm Part(const Nchw8cGemm& first, int64_t image, int64_t group, const float* packed, int64_t image_size) const;
  size_t WriteSteps(const Window& window, const Region& taps, std::span<const int64_t> plane, Nchw8cStep* steps) const;
  void ByRegions(KernelContext& context, const Window& window, const Regions& regions, int64_t batch, const float* packed,
                 const float* input, const Epilogue<float>& epilogue, float* output) const;
  void Whole(KernelContext& context, const Window& window, int64_t batch, const float* packed, const float* input,
             const Epilogue<float>& epilogue, float* output) const;
  void RunImages(KernelContext& context, const Nchw8cGemm& first, int64_t images, int64_t image_size,
                 const float* packed) const;

  int64_t outputs_ = 0, group_channels_ = 0;
  int64_t positions_ = 1;  // of the kernel
  int64_t group_ = 1;
  Source source_ = Source::kBlocks;
  int64_t step_ = kChannelBlock;
};

}  // namespace tessera::cpu
