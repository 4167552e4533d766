// Identity (1, 13, 14, 16, 19, 21, 23, 24, 25): any kind of value, unchanged and not copied.

#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class Identity final : public Kernel {
 public:
  explicit Identity(const KernelInfo&) {}
  void Compute(KernelContext& context) override {
    const Value* input = context.input_value(0);
    context.set_output(0, input != nullptr ? *input : Value());
  }
};

}  // namespace

void RegisterIdentity(KernelRegistry& registry) { registry.Add(Op("Identity").Versions(1).Alias(0, 0).Make<Identity>()); }

}  // namespace tessera::cpu
