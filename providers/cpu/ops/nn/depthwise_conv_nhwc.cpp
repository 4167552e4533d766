// DepthwiseConvNhwc (ai.tessera 1): depthwise Conv of float images in NHWC, each channel with a window
// of its own. The weights [C, 1, kH, kW] are as in Conv, and constant.

#include <vector>

#include "base/checked.h"
#include "cpu/ops/ops.h"
#include "graph/private_names.h"
#include "kernels/conv/depthwise/depthwise_nhwc.h"
#include "ops/nn/window.h"

namespace tessera::cpu {
namespace {

class DepthwiseConvNhwc final : public Kernel {
 public:
  explicit DepthwiseConvNhwc(const KernelInfo& info) : attributes_(info.node()) {
    const Tensor* w = info.constant_input(1);
    Require(w != nullptr && w->is(ElementType::kFloat) && w->shape().rank() == 4 && w->shape()[1] == 1 &&
                w->shape()[0] >= kDepthwisePixelChannels,
            "the weights must be constant floats [C, 1, kH, kW] of {} channels at least", kDepthwisePixelChannels);
    kernel_ = {w->shape()[2], w->shape()[3]};
    channels_ = w->shape()[0];
    const int64_t taps = kernel_[0] * kernel_[1];
    by_tap_.resize(static_cast<size_t>(w->num_elements()));
    const float* from = w->data<float>();
    for (int64_t c = 0; c < channels_; ++c) {
      for (int64_t t = 0; t < taps; ++t) by_tap_[static_cast<size_t>(t * channels_ + c)] = from[c * taps + t];
    }
    info.ReleaseConstant(1);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor* bias = context.input(2);
    const Shape& shape = x.shape();
    Require(shape.rank() == 4 && shape[3] == channels_, "x is {}; [N, H, W, {}] is expected", shape, channels_);
    Require(bias == nullptr || (bias->shape().rank() == 1 && bias->shape()[0] == channels_),
            "the bias must have {} elements", channels_);
    const Window window = attributes_.Fit(std::array{shape[1], shape[2]}, kernel_.dims());
    Tensor* y = context.output(0, {shape[0], window.output[0], window.output[1], channels_});
    if (y == nullptr || y->num_elements() == 0) return;
    std::span<float> zeros = context.scratch<float>(bias == nullptr ? static_cast<size_t>(channels_) : 0);
    std::fill(zeros.begin(), zeros.end(), 0.0f);
    const Call call{window, x.data<float>(), bias == nullptr ? zeros.data() : bias->data<float>(),
                    y->mutable_data<float>()};
    const int64_t taps = kernel_[0] * kernel_[1];
    const double line_ns = 0.02 * static_cast<double>(window.output[1] * channels_ * taps) + 20;
    context.threads().ParallelFor(shape[0] * window.output[0], line_ns, [&](int64_t begin, int64_t end) {
      const auto pointers = context.scratch<const float*>(static_cast<size_t>(2 * taps));
      for (int64_t out_row = begin; out_row < end; ++out_row)
        OutputRow(call, out_row, pointers.data(), pointers.data() + taps);
    });
  }

 private:
  struct Call {
    const Window& window;
    const float* x;
    const float* bias;
    float* y;
  };

  /// One row of the output: the pixels in its middle have all columns of the window inside the image.
  void OutputRow(const Call& call, int64_t out_row, const float** taps, const float** weights) const {
    const int64_t width = call.window.output[1];
    const auto [first, last] = call.window.inner(1);
    for (int64_t x = 0; x < width;) {
      const int64_t count = x == first && last > first ? last - first : 1;
      Pixels(call, out_row, x, count, taps, weights);
      x += count;
    }
  }

  void Pixels(const Call& call, int64_t out_row, int64_t first, int64_t count, const float** taps,
              const float** weights) const {
    const Window& window = call.window;
    const int64_t image = out_row / window.output[0], row = out_row % window.output[0];
    int64_t used = 0;
    for (int64_t ky = 0; ky < kernel_[0]; ++ky) {
      const int64_t y = row * window.strides[0] + ky * window.dilations[0] - window.begin[0];
      if (y < 0 || y >= window.input[0]) continue;
      for (int64_t kx = 0; kx < kernel_[1]; ++kx) {
        const int64_t x = first * window.strides[1] + kx * window.dilations[1] - window.begin[1];
        if (x < 0 || x >= window.input[1]) continue;
        taps[used] = call.x + ((image * window.input[0] + y) * window.input[1] + x) * channels_;
        weights[used++] = by_tap_.data() + (ky * kernel_[1] + kx) * channels_;
      }
    }
    ComputeDepthwisePixels({taps, weights, used, window.strides[1] * channels_, count, channels_, call.bias,
                            call.y + (out_row * window.output[1] + first) * channels_});
  }

  WindowAttributes attributes_;
  Shape kernel_;
  int64_t channels_ = 0;
  std::vector<float> by_tap_;  // [taps, channels]
};

}  // namespace

void RegisterDepthwiseConvNhwc(KernelRegistry& registry) {
  registry.Add(Op("DepthwiseConvNhwc", kTesseraDomain)
                   .Types(0, {ElementType::kFloat})
                   .Types(1, {ElementType::kFloat})
                   .Make<DepthwiseConvNhwc>());
}

}  // namespace tessera::cpu
