// DynamicQuantizeLinear (11).

#include <algorithm>
#include <cmath>

#include "base/rounding.h"
#include "cpu/types.h"
#include "kernels/quantize/quantize.h"

namespace tessera::cpu {
namespace {

class DynamicQuantizeLinear final : public Kernel {
 public:
  explicit DynamicQuantizeLinear(const KernelInfo&) : loop_(FindQuantizeLoop(ElementType::kUInt8)) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    Require(x.type() == ElementType::kFloat, "input 0 is tensor({}), expected tensor(float)", ElementTypeName(x.type()));
    const auto [smallest, largest] = MinMax(context, x.values<float>());
    const float range = largest - smallest;
    const float scale = (range == 0 ? 1.0f : range) / 255.0f;
    float zero = std::nearbyint(-smallest / scale);
    zero = zero > 0 ? std::min(zero, 255.0f) : 0.0f;  // not a NaN, either

    if (Tensor* y_scale = context.output(1, ElementType::kFloat, Shape{})) *y_scale->mutable_data<float>() = scale;
    if (Tensor* y_zero = context.output(2, ElementType::kUInt8, Shape{})) {
      *y_zero->mutable_data<uint8_t>() = static_cast<uint8_t>(zero);
    }
    Tensor* y = context.output(0, ElementType::kUInt8, x.shape());
    if (y == nullptr) return;
    const float* source = x.data<float>();
    uint8_t* target = y->mutable_data<uint8_t>();
    context.threads().ParallelFor(x.num_elements(), 0.3, [&](int64_t begin, int64_t end) {
      loop_(source + begin, &scale, &zero, 0, 0.0f, 255.0f, target + begin, end - begin);
    });
  }

 private:
  struct Extremes {
    float smallest = 0;  // 0 always counts
    float largest = 0;
  };

  static Extremes MinMax(KernelContext& context, std::span<const float> x) {
    constexpr int64_t kChunk = 32768;
    const int64_t count = static_cast<int64_t>(x.size());
    const int64_t chunks = CeilDiv(count, kChunk);
    const auto parts = context.scratch<Extremes>(static_cast<size_t>(chunks));
    context.threads().ParallelFor(chunks, 0.15 * kChunk, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        parts[static_cast<size_t>(i)] = {};
        Extremes& part = parts[static_cast<size_t>(i)];
        JoinMinMax(x.data() + i * kChunk, std::min(kChunk, count - i * kChunk), part.smallest, part.largest);
      }
    });
    Extremes all;
    for (const Extremes& part : parts) {
      all.smallest = std::min(all.smallest, part.smallest);
      all.largest = std::max(all.largest, part.largest);
    }
    return all;
  }

  const QuantizeLoop loop_;
};

}  // namespace

void RegisterDynamicQuantizeLinear(KernelRegistry& registry) {
  registry.Add(Op("DynamicQuantizeLinear").Versions(11).Types(0, {ElementType::kFloat}).Make<DynamicQuantizeLinear>());
}

}  // namespace tessera::cpu
