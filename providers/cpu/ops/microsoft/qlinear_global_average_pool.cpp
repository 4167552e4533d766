// QLinearGlobalAveragePool, com.microsoft, version 1: means of 8-bit codes over all spatial axes.

#include <cmath>

#include "ops/microsoft/quantized_scalar.h"
#include "ops/ops.h"
#include "types.h"

namespace tessera::cpu {
namespace {

template <class T>
int64_t SumOf(const T* codes, int64_t count) {
  int64_t total = 0;
  while (count > 0) {  // 32 bits hold this many
    const int64_t some = std::min<int64_t>(count, 1 << 16);
    int32_t sum = 0;
    for (int64_t i = 0; i < some; ++i) sum += codes[i];
    total += sum;
    codes += some;
    count -= some;
  }
  return total;
}

class QLinearGlobalAveragePool final : public Kernel {
 public:
  explicit QLinearGlobalAveragePool(const KernelInfo& info) : channels_last_(info.attribute<int64_t>("channels_last", 0) != 0) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const size_t rank = x.shape().rank();
    Require(rank >= 2, "the input must have batch and channels, it is {}", x.shape().ToString());
    const QuantizedScalar in = ReadQuantizedScalar(context, 1), out = ReadQuantizedScalar(context, 3);
    Shape shape = x.shape();
    const size_t first = channels_last_ ? 1 : 2;
    int64_t pixels = 1;
    for (size_t i = first; i < first + rank - 2; ++i) {
      pixels *= shape[i];
      shape[i] = 1;
    }
    Tensor* y = context.output(0, shape);
    if (y == nullptr || y->num_elements() == 0) return;
    const int64_t channels = channels_last_ ? x.shape().back() : x.shape()[1];
    const bool is_signed = x.is(ElementType::kInt8);
    const auto* from = static_cast<const uint8_t*>(x.raw());
    auto* to = static_cast<uint8_t*>(y->mutable_raw());
    context.threads().ParallelFor(y->num_elements(), static_cast<double>(pixels) * (channels_last_ ? 1.0 : 0.1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t sum = channels_last_ ? Strided(from + i / channels * channels * pixels + i % channels, pixels, channels, is_signed)
                            : is_signed    ? SumOf(reinterpret_cast<const int8_t*>(from) + i * pixels, pixels)
                                           : SumOf(from + i * pixels, pixels);
        const auto mean = static_cast<float>(static_cast<double>(sum) / static_cast<double>(pixels)) - in.zero;  // NaN without pixels
        const float code = std::nearbyint(mean * in.scale / out.scale) + out.zero;
        const float low = is_signed ? -128.0f : 0.0f, high = is_signed ? 127.0f : 255.0f;
        to[i] = static_cast<uint8_t>(static_cast<int>(code >= low ? std::min(code, high) : low));
      }
    });
  }

 private:
  static int64_t Strided(const uint8_t* from, int64_t count, int64_t stride, bool is_signed) {
    int64_t sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += is_signed ? static_cast<int8_t>(from[i * stride]) : from[i * stride];
    return sum;
  }

  bool channels_last_;
};

}  // namespace

void RegisterQLinearGlobalAveragePool(KernelRegistry& registry) {
  constexpr TypeSet kBytes = {ElementType::kUInt8, ElementType::kInt8};
  registry.Add(Op("QLinearGlobalAveragePool", "com.microsoft").Types(0, kBytes).Make<QLinearGlobalAveragePool>());
}

}  // namespace tessera::cpu
