// Optional (15, 28). An empty optional is a value of kind kNone; a filled one is its element.

#include "cpu/ops/sequence/elements.h"

namespace tessera::cpu {
namespace {

class Optional final : public Kernel {
 public:
  explicit Optional(const KernelInfo&) {}
  void Compute(KernelContext& context) override {
    const Value* value = context.input_value(0);
    context.set_output(0, value == nullptr ? Value() : OwnedElement(context, *value));
  }
};

}  // namespace

void RegisterOptional(KernelRegistry& registry) { registry.Add(Op("Optional").Versions(15).Make<Optional>()); }

}  // namespace tessera::cpu
