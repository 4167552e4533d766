// QLinearSigmoid and QLinearLeakyRelu, com.microsoft, version 1: a table of the 256 results, then a look-up for each
// element.

#include <cmath>

#include "cpu/ops/microsoft/byte_table.h"
#include "cpu/ops/microsoft/quantized_scalar.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/activation/activation.h"

namespace tessera::cpu {
namespace {

class QLinearUnary : public Kernel {
 public:
  explicit QLinearUnary(const KernelInfo& info) : is_signed_(info.input_type(0) == ElementType::kInt8) {}

  void Compute(KernelContext& context) final {
    const Tensor& x = context.required_input(0);
    const QuantizedScalar in = ReadQuantizedScalar(context, 1), out = ReadQuantizedScalar(context, 3);
    Tensor* y = context.output(0, x.shape());
    if (y == nullptr) return;
    uint8_t table[256];
    const float low = is_signed_ ? -128.0f : 0.0f, high = is_signed_ ? 127.0f : 255.0f;
    for (int value = 0; value < 256; ++value) {
      const float number = is_signed_ ? static_cast<float>(static_cast<int8_t>(value)) : static_cast<float>(value);
      const float result = std::nearbyint(Map((number - in.zero) * in.scale) / out.scale) + out.zero;
      const float clamped = result >= low ? std::min(result, high) : low;  // NaN as the lowest
      table[value] = static_cast<uint8_t>(static_cast<int>(clamped));
    }
    LookUp(context, table, x, *y);
  }

 protected:
  virtual float Map(float x) const = 0;

 private:
  bool is_signed_;
};

class QLinearSigmoid final : public QLinearUnary {
 public:
  using QLinearUnary::QLinearUnary;

 private:
  float Map(float x) const override { return 1 / (1 + std::exp(-x)); }
};

class QLinearLeakyRelu final : public QLinearUnary {
 public:
  explicit QLinearLeakyRelu(const KernelInfo& info) : QLinearUnary(info), alpha_(ActivationAttributes(info.node()).alpha) {}

 private:
  float Map(float x) const override { return x >= 0 ? x : alpha_ * x; }

  float alpha_;
};

}  // namespace

void RegisterQLinearSigmoid(KernelRegistry& registry) {
  registry.Add(Op("QLinearSigmoid", "com.microsoft").Types(0, kBytes).InPlace(0, 0).Make<QLinearSigmoid>());
}
void RegisterQLinearLeakyRelu(KernelRegistry& registry) {
  registry.Add(Op("QLinearLeakyRelu", "com.microsoft").Types(0, kBytes).InPlace(0, 0).Make<QLinearLeakyRelu>());
}

}  // namespace tessera::cpu
