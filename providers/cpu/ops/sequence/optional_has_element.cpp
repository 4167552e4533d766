// OptionalHasElement (15, 18, 28). An empty optional is a value of kind kNone.

#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class OptionalHasElement final : public Kernel {
 public:
  explicit OptionalHasElement(const KernelInfo&) {}
  void Compute(KernelContext& context) override {
    const Value* value = context.input_value(0);
    context.output(0, Shape{})->mutable_data<bool>()[0] = value != nullptr && !value->is_none();
  }
};

}  // namespace

void RegisterOptionalHasElement(KernelRegistry& registry) {
  registry.Add(Op("OptionalHasElement").Versions(15).Make<OptionalHasElement>());
}

}  // namespace tessera::cpu
