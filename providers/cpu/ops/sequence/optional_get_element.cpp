// OptionalGetElement (15, 18, 28). A filled optional is its element.

#include "base/check.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class OptionalGetElement final : public Kernel {
 public:
  explicit OptionalGetElement(const KernelInfo&) {}
  void Compute(KernelContext& context) override {
    const Value* value = context.input_value(0);
    Require(value != nullptr && !value->is_none(), "the optional is empty; ask OptionalHasElement first");
    context.set_output(0, *value);
  }
};

}  // namespace

void RegisterOptionalGetElement(KernelRegistry& registry) {
  registry.Add(Op("OptionalGetElement").Versions(15).Alias(0, 0).Make<OptionalGetElement>());
}

}  // namespace tessera::cpu
