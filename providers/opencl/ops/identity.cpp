// Identity (1-25).

#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

class Identity final : public Kernel {
 public:
  explicit Identity(const KernelInfo&) {}
  void Compute(KernelContext& context) override { context.set_output(0, context.required_input(0)); }
};

}  // namespace

void RegisterIdentity(KernelRegistry& registry) { registry.Add(Op("Identity").Versions(1).Alias(0, 0).Make<Identity>()); }

}  // namespace tessera::opencl
