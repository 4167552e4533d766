// Squeeze (1, 11: axes attribute; 13, 21, 23, 24, 25: axes input) and Unsqueeze (the same versions).

#include "ops/movement/squeeze.h"

#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class Squeeze final : public Kernel {
 public:
  explicit Squeeze(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    context.set_output(0, data.Reshaped(SqueezedShape(data.shape(), attributes_.Axes(context.input(1)))));
  }

 private:
  const SqueezeAttributes attributes_;
};

class Unsqueeze final : public Kernel {
 public:
  explicit Unsqueeze(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    context.set_output(0, data.Reshaped(UnsqueezedShape(data.shape(), attributes_.Axes(context.input(1)))));
  }

 private:
  const SqueezeAttributes attributes_;
};

}  // namespace

void RegisterSqueeze(KernelRegistry& registry) {
  registry.Add(Op("Squeeze").Versions(1).Alias(0, 0).Make<Squeeze>());
  registry.Add(Op("Unsqueeze").Versions(1).Alias(0, 0).Make<Unsqueeze>());
}

}  // namespace tessera::cpu
