// QuantizedLookup, of the optimizer alone: a table of bytes, looked up by the bytes of a tensor.

#include "base/check.h"
#include "cpu/ops/microsoft/byte_table.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "graph/private_names.h"

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
    LookUp(context, held.data<uint8_t>(), x, *y);
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
