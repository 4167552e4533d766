// Optional (15, 28), OptionalHasElement, OptionalGetElement (15, 18, 28). An empty optional is a value of kind kNone; a
// filled one is its element.

#include "base/check.h"
#include "cpu/ops/sequence/elements.h"
#include "tessera/provider/kernel.h"

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

class OptionalHasElement final : public Kernel {
 public:
  explicit OptionalHasElement(const KernelInfo&) {}
  void Compute(KernelContext& context) override {
    const Value* value = context.input_value(0);
    context.output(0, Shape{})->mutable_data<bool>()[0] = value != nullptr && !value->is_none();
  }
};

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

void RegisterOptional(KernelRegistry& registry) {
  registry.Add(Op("Optional").Versions(15).Make<Optional>());
  registry.Add(Op("OptionalHasElement").Versions(15).Make<OptionalHasElement>());
  registry.Add(Op("OptionalGetElement").Versions(15).Alias(0, 0).Make<OptionalGetElement>());
}

}  // namespace tessera::cpu
