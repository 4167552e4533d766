#pragma once

// Convolution of an 8-bit image with constant 8-bit weights, packed at load, whose accumulators are requantized while
// they are stored, or stored as they are.

#include <memory>
#include <optional>
#include <vector>

#include "cpu/ops/nn/integer_conv.h"
#include "cpu/ops/nn/requantization.h"
#include "kernels/conv/choose/choose.h"
#include "kernels/gemm/gemm_u8s8.h"

namespace tessera::cpu {

/// The algorithm of QLinearConv or ConvInteger, by what is known when the kernel is made.
ConvAlgorithm ChooseQuantizedConv(const KernelInfo& info, const ConvInputs& inputs);

class QuantizedConv {
 public:
  /// Gives the weights' memory back. The convolution is one that kernels/conv/choose offers im2col of bytes for, or
  /// `tap_by_tap` a direct or depthwise kernel.
  QuantizedConv(const KernelInfo& info, const ConvInputs& inputs, bool tap_by_tap);

  int64_t outputs() const { return weights_[0]; }
  Window Fit(const Shape& x, const Tensor* bias) const { return attributes_.Fit(x, weights_, bias); }

  void Run(KernelContext& context, const Window& window, Tensor& y) const;

 private:
  /// `zeros`: those of the weights as int8, by channel; empty: none.
  std::vector<Requantization::Channel> PackTaps(const Tensor& weights, const std::vector<int32_t>& zeros);
  std::vector<Requantization::Channel> PackGroups(const KernelInfo& info, const Tensor& weights,
                                                  const std::vector<int32_t>& zeros);
  void RunTapByTap(KernelContext& context, const ConvCall& call) const;

  /// What a group of an image is divided into: `chunks` of so many panels of pixels, and these into `parts` of its outputs.
  struct Pieces {
    int64_t panels, chunks, parts, panel_bytes;
    int64_t count() const { return chunks * parts; }
  };
  /// `items`: groups of all images; `k`: bytes that an output pixel reads.
  Pieces Divide(int64_t items, int64_t pixels, int64_t k, int64_t threads) const;
  /// A group of an image. `flat`: its pixels lie in a row.
  struct Group {
    const ConvInput& layout;
    const PixelSource& source;
    const PackedWeightsS8& weights;
    const OutputStage& store;
    int64_t pixels;
    bool flat;
  };
  static void RunPiece(const Group& group, const Pieces& pieces, int64_t piece, uint8_t* packed);

  ConvAttributes attributes_;
  int64_t group_;
  Shape weights_;
  std::vector<int32_t> weight_zeros_;  // what the pixels' sums are multiplied with, by output channel; empty: the weights
                                       // have no zero points
  std::vector<std::shared_ptr<const PackedWeightsS8>> groups_;
  bool tap_by_tap_;
  Tensor taps_;  // of each output channel, widened
  std::optional<Requantization> requantization_;
};

}  // namespace tessera::cpu
