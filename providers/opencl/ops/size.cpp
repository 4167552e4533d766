// Size (1-25).

#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

class Size final : public Kernel {
 public:
  explicit Size(const KernelInfo&) {}
  void Compute(KernelContext& context) override {
    *context.output(0, Shape{})->mutable_data<int64_t>() = context.required_input(0).num_elements();
  }
};

}  // namespace

void RegisterSize(KernelRegistry& registry) { registry.Add(Op("Size").Versions(1).HostOutput(0).Make<Size>()); }

}  // namespace tessera::opencl
