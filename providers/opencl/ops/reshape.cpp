// Reshape (5-25): the same buffer under another shape.

#include "ops/movement/reshape.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

class Reshape final : public Kernel {
 public:
  explicit Reshape(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape target = HostIntegers(context.required_input(1));
    context.set_output(0, x.Reshaped(attributes_.Resolve(x.shape(), target.dims())));
  }

 private:
  ReshapeAttributes attributes_;
};

}  // namespace

void RegisterReshape(KernelRegistry& registry) {
  registry.Add(Op("Reshape").Versions(5).HostInput(1).Alias(0, 0).Make<Reshape>());
}

}  // namespace tessera::opencl
