// Nchw8cConvTranspose (ai.tessera 1): ConvTranspose in one group in NCHW8c, with its epilogue.
// Inputs X, W (constant), B, R, which is added to the result before the activation, and S, the slopes of PRelu. Pixels
// alternate between taps that are a stride apart, so that a tile is computed as a convolution's: nchw8c_winograd has the
// windows that it knows.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "cpu/fused_activation.h"
#include "cpu/ops/nn/nchw8c_layout.h"
#include "cpu/ops/nn/nchw8c_winograd.h"
#include "cpu/ops/ops.h"
#include "kernels/conv/choose/choose.h"
#include "kernels/conv/winograd/fit.h"
#include "ops/nn/conv_transpose.h"
#include "runtime/memory/packed_store.h"

namespace tessera::cpu {
namespace {

class Nchw8cConvTranspose final : public Kernel {
 public:
  explicit Nchw8cConvTranspose(const KernelInfo& info) : attributes_(info.node()), activation_(FusedActivation(info)) {
    const Tensor* weights = info.constant_input(1);
    Require(weights != nullptr && weights->is(ElementType::kFloat) &&
                (weights->shape().rank() == 4 || weights->shape().rank() == 5),
            "the weights must be constant floats with two or three spatial axes");
    weights_shape_ = weights->shape();
    Require(attributes_.group == 1 && weights->num_elements() > 0 && channels() % kChannelBlock == 0 &&
                outputs() % kChannelBlock == 0,
            "the weights {} in {} groups do not divide into blocks", weights_shape_, attributes_.group);
    const ConvCandidates ranked = RankConvAlgorithms({.layout = ConvLayout::kNchw8c,
                                                      .transposed = true,
                                                      .batch = LikelyBatch(info),
                                                      .channels = channels(),
                                                      .outputs = outputs(),
                                                      .window = LikelyWindow(info)});
    Require(!ranked.empty(), "no window of {} with these strides and pads is computed in blocks", weights_shape_);
    form_ = ranked.front().form;
    const Shape shape{1, form_.num_weights(), outputs(),
                      weights_shape_.SizeOfRange(2, weights_shape_.rank() - 2) * channels()};
    const std::string key = fmt::format("nchw8c_transposed {}", static_cast<int>(form_.y));
    transformed_ = SharedTensor(info, *weights, key, ElementType::kFloat, shape, [&] {
      return PackNchw8cWinograd(info.threads(), form_, 1, Transposed(info.threads(), *weights));
    });
    info.ReleaseConstant(1);
  }

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape& from = input.shape();
    RequireNchw8c(input);
    Require(from.rank() == weights_shape_.rank() + 1 && from[1] * kChannelBlock == channels(),
            "the input is {}, the weights are {}", from, weights_shape_);
    const Window fitted = Fit(SpatialDims(from)), window = fitted.WithRank(kSpatialAxes);
    Require(FitsForm(Upright(window), form_), "the pads differ from those that were known at load");
    const Shape shape = Nchw8cShape(from[0], outputs() / kChannelBlock, fitted.output.dims());
    Tensor* output = context.output(0, shape);
    const Epilogue<float> epilogue = EpilogueOf(activation_, context, shape);
    if (output == nullptr || output->num_elements() == 0) return;
    ConvolveNchw8cWinograd(context, form_, window, Channels(from[0]), transformed_->data<float>(), input.data<float>(),
                           epilogue, output->mutable_data<float>());
  }

 private:
  int64_t channels() const { return weights_shape_[0]; }
  int64_t outputs() const { return weights_shape_[1]; }
  std::span<const int64_t> kernel() const { return weights_shape_.dims().subspan(2); }
  Nchw8cChannels Channels(int64_t batch) const { return {batch, 1, channels(), outputs()}; }

  /// From the input's size to the output's.
  Window Fit(std::span<const int64_t> image) const {
    Window window = attributes_.FitImage(image, kernel());
    std::swap(window.input, window.output);
    return window;
  }

  /// Over the image as far as it is known.
  Window LikelyWindow(const KernelInfo& info) const {
    constexpr int64_t kLikelySide = 32;
    Shape image(kernel().size(), kLikelySide);
    const auto& shape = info.input_info(0).shape;
    for (size_t i = 0; shape && shape->size() == image.rank() + 3 && i < image.rank(); ++i) {
      if ((*shape)[i + 2].known()) image[i] = (*shape)[i + 2].value;
    }
    return Fit(image.dims()).WithRank(kSpatialAxes);
  }
  int64_t LikelyBatch(const KernelInfo& info) const {
    const auto& shape = info.input_info(0).shape;
    return shape && !shape->empty() && shape->front().known() ? shape->front().value : 1;
  }

  /// The weights with outputs before channels.
  Tensor Transposed(ThreadPool& threads, const Tensor& weights) const {
    Shape shape = weights_shape_;
    std::swap(shape[0], shape[1]);
    Tensor transposed(ElementType::kFloat, shape);
    const int64_t taps = shape.SizeOfRange(2, shape.rank());
    const float* from = weights.unaligned_data<float>();
    float* to = transposed.mutable_data<float>();
    threads.ParallelFor(outputs(), static_cast<double>(channels() * taps), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        for (int64_t c = 0; c < channels(); ++c) {
          std::memcpy(to + (o * channels() + c) * taps, from + (c * outputs() + o) * taps,
                      static_cast<size_t>(taps) * sizeof(float));
        }
      }
    });
    return transposed;
  }

  ConvTransposeAttributes attributes_;
  Activation<float> activation_;
  Shape weights_shape_;
  WinogradForm form_{};
  std::shared_ptr<const Tensor> transformed_;  // for `form_`
};

}  // namespace

void RegisterNchw8cConvTranspose(KernelRegistry& registry) {
  if (SuitsChannelBlocks()) registry.Add(Nchw8cOp("Nchw8cConvTranspose").Make<Nchw8cConvTranspose>());
}

}  // namespace tessera::cpu
