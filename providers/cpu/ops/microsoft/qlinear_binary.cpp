// QLinearAdd and QLinearMul, com.microsoft, version 1.

#include <algorithm>
#include <cstring>

#include "cpu/engine/broadcast.h"
#include "cpu/ops/microsoft/quantized_scalar.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "kernels/quantize/quantize.h"

namespace tessera::cpu {
namespace {

/// `advancing`: see SpanLoop.
void Span(const void* const* inputs, unsigned advancing, void* output, int64_t count, const void* params) {
  const auto& how = *static_cast<const QuantizedArithmetic*>(params);
  if ((advancing & 3) == 3 || count == 1) {
    CombineQuantized(how, inputs[0], inputs[1], output, count);
    return;
  }
  constexpr int64_t kChunk = 512;
  uint8_t repeated[2][kChunk];
  const auto* left = static_cast<const uint8_t*>(inputs[0]);
  const auto* right = static_cast<const uint8_t*>(inputs[1]);
  const bool left_stays = (advancing & 1) == 0, right_stays = (advancing & 2) == 0;
  if (left_stays) std::memset(repeated[0], *left, kChunk);
  if (right_stays) std::memset(repeated[1], *right, kChunk);
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    CombineQuantized(how, left_stays ? repeated[0] : left + begin, right_stays ? repeated[1] : right + begin,
                     static_cast<uint8_t*>(output) + begin, std::min(kChunk, count - begin));
  }
}

template <bool kMultiplies>
class QLinearBinary final : public Kernel {
 public:
  explicit QLinearBinary(const KernelInfo& info) : is_signed_(info.input_type(0) == ElementType::kInt8) {}

  void Compute(KernelContext& context) override {
    const Tensor& a = context.required_input(0);
    const Tensor& b = context.required_input(3);
    const Shape shape = BroadcastShape(a.shape(), b.shape());
    const QuantizedArithmetic how =
        Arithmetic(ReadQuantizedScalar(context, 1), ReadQuantizedScalar(context, 4), ReadQuantizedScalar(context, 6));
    Tensor* c = context.output(0, shape);
    if (c == nullptr || c->num_elements() == 0) return;
    const Operand operands[] = {{a.raw(), &a.shape(), 1}, {b.raw(), &b.shape(), 1}};
    Broadcast(operands, shape, c->mutable_raw(), 1, Span, &how, 0.2, context.threads());
  }

 private:
  QuantizedArithmetic Arithmetic(const QuantizedScalar& a, const QuantizedScalar& b, const QuantizedScalar& c) const {
    QuantizedArithmetic how{.is_signed = is_signed_,
                            .multiplies = kMultiplies,
                            .a_zero = a.zero,
                            .b_zero = b.zero,
                            .zero = static_cast<int32_t>(c.zero)};
    const double a_scale = a.scale, b_scale = b.scale, c_scale = c.scale;
    if (kMultiplies) {
      how.a_scale = static_cast<float>(a_scale * b_scale / c_scale);
    } else {
      how.a_scale = static_cast<float>(a_scale / c_scale);
      how.b_scale = static_cast<float>(b_scale / c_scale);
      how.offset = static_cast<float>(-(a.zero * a_scale + b.zero * b_scale) / c_scale);
    }
    return how;
  }

  bool is_signed_;
};

}  // namespace

void RegisterQLinearAdd(KernelRegistry& registry) {
  registry.Add(Op("QLinearAdd", "com.microsoft").Types(0, kBytes).Make<QLinearBinary<false>>());
}
void RegisterQLinearMul(KernelRegistry& registry) {
  registry.Add(Op("QLinearMul", "com.microsoft").Types(0, kBytes).Make<QLinearBinary<true>>());
}

}  // namespace tessera::cpu
