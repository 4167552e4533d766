// QLinearAdd and QLinearMul, com.microsoft, version 1.

#include "engine/broadcast.h"
#include "ops/microsoft/quantized_scalar.h"
#include "ops/ops.h"
#include "simd/quantize.h"
#include "types.h"

namespace tessera::cpu {
namespace {

/// What the loop over a span needs to know.
struct Quantized {
  DequantizeLoop dequantize;
  QuantizeLoop quantize;
  QuantizedScalar a, b, c;
  float low, high;
  bool multiplies;
};

void Span(const void* const* inputs, unsigned advancing, void* output, int64_t count, const void* params) {
  const auto& q = *static_cast<const Quantized*>(params);
  constexpr int64_t kChunk = 512;
  float a[kChunk], b[kChunk];
  const auto* left = static_cast<const uint8_t*>(inputs[0]);
  const auto* right = static_cast<const uint8_t*>(inputs[1]);
  auto* out = static_cast<uint8_t*>(output);
  const auto read = [&](const QuantizedScalar& how, const uint8_t* from, bool advances, int64_t begin, int64_t size, float* to) {
    q.dequantize(advances ? from + begin : from, &how.scale, &how.zero, 0, to, advances ? size : 1);
    if (!advances) std::fill_n(to + 1, size - 1, to[0]);
  };
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t size = std::min(kChunk, count - begin);
    read(q.a, left, (advancing & 1) != 0, begin, size, a);
    read(q.b, right, (advancing & 2) != 0, begin, size, b);
    if (q.multiplies) {
      for (int64_t i = 0; i < size; ++i) a[i] *= b[i];
    } else {
      for (int64_t i = 0; i < size; ++i) a[i] += b[i];
    }
    q.quantize(a, &q.c.scale, &q.c.zero, 0, q.low, q.high, out + begin, size);
  }
}

template <bool kMultiplies>
class QLinearBinary final : public Kernel {
 public:
  explicit QLinearBinary(const KernelInfo& info)
      : is_signed_(info.input_type(0) == ElementType::kInt8),
        dequantize_(FindDequantizeLoop(info.input_type(0))),
        quantize_(FindQuantizeLoop(info.input_type(0))) {}

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor& b = context.required_input(3);
    const Shape shape = BroadcastShape(a.shape(), b.shape());
    const Quantized how = {dequantize_, quantize_, ReadQuantizedScalar(context, 1), ReadQuantizedScalar(context, 4), ReadQuantizedScalar(context, 6),
                           is_signed_ ? -128.0f : 0.0f, is_signed_ ? 127.0f : 255.0f, kMultiplies};
    Tensor* c = context.output(0, shape);
    if (c == nullptr || c->num_elements() == 0) return;
    const Operand operands[] = {{a.raw(), &a.shape(), 1}, {b.raw(), &b.shape(), 1}};
    Broadcast(operands, shape, c->mutable_raw(), 1, Span, &how, 1.0, context.threads());
  }

 private:
  bool is_signed_;
  DequantizeLoop dequantize_;
  QuantizeLoop quantize_;
};

constexpr TypeSet kBytes = {ElementType::kUInt8, ElementType::kInt8};

}  // namespace

void RegisterQLinearAdd(KernelRegistry& registry) {
  registry.Add(Op("QLinearAdd", "com.microsoft").Types(0, kBytes).Make<QLinearBinary<false>>());
}
void RegisterQLinearMul(KernelRegistry& registry) {
  registry.Add(Op("QLinearMul", "com.microsoft").Types(0, kBytes).Make<QLinearBinary<true>>());
}

}  // namespace tessera::cpu
