// Squeeze, Unsqueeze (1-25).

#include "ops/movement/squeeze.h"
#include "opencl/device/kernel.h"

namespace tessera::opencl {
namespace {

class Squeeze final : public Kernel {
 public:
  explicit Squeeze(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    context.set_output(0, x.Reshaped(SqueezedShape(x.shape(), attributes_.Axes(context.input(1)))));
  }

 private:
  SqueezeAttributes attributes_;
};

class Unsqueeze final : public Kernel {
 public:
  explicit Unsqueeze(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    context.set_output(0, x.Reshaped(UnsqueezedShape(x.shape(), attributes_.Axes(context.input(1)))));
  }

 private:
  SqueezeAttributes attributes_;
};

}  // namespace

void RegisterSqueeze(KernelRegistry& registry) {
  registry.Add(Op("Squeeze").Versions(1).HostInput(1).Alias(0, 0).Make<Squeeze>());
  registry.Add(Op("Unsqueeze").Versions(1).HostInput(1).Alias(0, 0).Make<Unsqueeze>());
}

}  // namespace tessera::opencl
