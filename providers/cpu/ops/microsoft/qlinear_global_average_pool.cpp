// QLinearGlobalAveragePool, com.microsoft, version 1: means of 8-bit quantized values over all spatial axes.

#include <algorithm>
#include <cmath>

#include "cpu/ops/microsoft/quantized_scalar.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "kernels/reduce/sum_bytes.h"
#include "ops/quantization/qlinear_global_average_pool.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kTogether = 64;  // channels

/// Of each of `count` channels that lie side by side, pixel after pixel.
template <class T>
void SumInterleaved(const T* quantized, int64_t pixels, int64_t channels, int64_t count, int64_t* totals) {
  std::fill_n(totals, count, int64_t{0});
  for (int64_t first = 0; first < pixels; first += 1 << 16) {  // 32 bits hold this many
    int32_t sums[kTogether] = {};
    const int64_t last = std::min<int64_t>(pixels, first + (1 << 16));
    for (int64_t p = first; p < last; ++p) {
      const T* pixel = quantized + p * channels;
      for (int64_t i = 0; i < count; ++i) sums[i] += pixel[i];
    }
    for (int64_t i = 0; i < count; ++i) totals[i] += sums[i];
  }
}

class QLinearGlobalAveragePool final : public Kernel {
 public:
  explicit QLinearGlobalAveragePool(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const auto [shape, channels, pixels] = attributes_.Infer(x.shape());
    const QuantizedScalar in = ReadQuantizedScalar(context, 1), out = ReadQuantizedScalar(context, 3);
    Tensor* y = context.output(0, shape);
    if (y == nullptr || y->num_elements() == 0) return;
    const bool is_signed = x.is(ElementType::kInt8);
    const auto* from = static_cast<const uint8_t*>(x.raw());
    auto* to = static_cast<uint8_t*>(y->mutable_raw());
    const QuantizedMean how{is_signed, pixels, in.zero, in.scale, out.scale, out.zero};
    const auto quantized_of = [&](int64_t sum) {
      const auto mean =
          static_cast<float>(static_cast<double>(sum) / static_cast<double>(pixels)) - in.zero;  // NaN without pixels
      const float rounded = std::nearbyint(mean * in.scale / out.scale) + out.zero;
      const float low = is_signed ? -128.0f : 0.0f, high = is_signed ? 127.0f : 255.0f;
      return static_cast<uint8_t>(static_cast<int>(rounded >= low ? std::min(rounded, high) : low));
    };
    context.threads().ParallelFor(
        y->num_elements(), 5 + static_cast<double>(pixels) * 0.05, [&](int64_t begin, int64_t end) {
          int64_t sums[kTogether];
          for (int64_t i = begin, count = 0; i < end; i += count) {
            if (attributes_.channels_last) {
              count = std::min({end - i, kTogether, channels - i % channels});
              const uint8_t* first = from + i / channels * channels * pixels + i % channels;
              is_signed ? SumInterleaved(reinterpret_cast<const int8_t*>(first), pixels, channels, count, sums)
                        : SumInterleaved(first, pixels, channels, count, sums);
            } else {
              count = std::min(end - i, kTogether);
              SumBytes(from + i * pixels, is_signed, count, pixels, sums);
            }
            if (pixels <= kMostOfQuantizedMean) {
              QuantizeMeans(how, sums, count, to + i);
            } else {
              for (int64_t j = 0; j < count; ++j) to[i + j] = quantized_of(sums[j]);
            }
          }
        });
  }

 private:
  QLinearGlobalAveragePoolAttributes attributes_;
};

}  // namespace

void RegisterQLinearGlobalAveragePool(KernelRegistry& registry) {
  registry.Add(Op("QLinearGlobalAveragePool", "com.microsoft").Types(0, kBytes).Make<QLinearGlobalAveragePool>());
}

}  // namespace tessera::cpu
