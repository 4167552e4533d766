// QuantizedLookup, of the optimizer alone: a table of bytes, looked up by the bytes of a tensor.

#include "base/check.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "graph/private_names.h"
#include "kernels/quantize/lookup.h"

namespace tessera::cpu {
namespace {

class QuantizedLookup final : public Kernel {
 public:
  explicit QuantizedLookup(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& held = context.required_input(1);
    Require(held.num_elements() == 256, "the table has {} values, 256 are expected", held.num_elements());
    Tensor* y = context.output(0, x.shape());
    if (y == nullptr) return;
    const auto* table = held.data<uint8_t>();
    const auto* from = static_cast<const uint8_t*>(x.raw());
    auto* to = static_cast<uint8_t*>(y->mutable_raw());
    context.threads().ParallelFor(x.num_elements(), 0.3, [&](int64_t begin, int64_t end) {
      LookUpBytes(table, from + begin, end - begin, to + begin);
    });
  }
};

}  // namespace

void RegisterQuantizedLookup(KernelRegistry& registry) {
  registry.Add(Op("QuantizedLookup", kTesseraDomain)
                   .Types(0, kBytes)
                   .Types(1, {ElementType::kUInt8})
                   .OutputTypes(0, kBytes)
                   .InPlace(0, 0)
                   .Make<QuantizedLookup>());
}

}  // namespace tessera::cpu
