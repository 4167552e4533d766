// Flatten (1-25).

#include "ops/movement/flatten.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

class Flatten final : public Kernel {
 public:
  explicit Flatten(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    context.set_output(0, x.Reshaped(attributes_.ResultShape(x.shape())));
  }

 private:
  FlattenAttributes attributes_;
};

}  // namespace

void RegisterFlatten(KernelRegistry& registry) { registry.Add(Op("Flatten").Versions(1).Alias(0, 0).Make<Flatten>()); }

}  // namespace tessera::opencl
