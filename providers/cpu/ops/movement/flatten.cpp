// Flatten (1, 9, 11, 13, 21, 23, 24, 25): a matrix whose rows are the dimensions before `axis`.

#include "ops/movement/flatten.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class Flatten final : public Kernel {
 public:
  explicit Flatten(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    context.set_output(0, input.Reshaped(attributes_.ResultShape(input.shape())));
  }

 private:
  const FlattenAttributes attributes_;
};

}  // namespace

void RegisterFlatten(KernelRegistry& registry) { registry.Add(Op("Flatten").Versions(1).Alias(0, 0).Make<Flatten>()); }

}  // namespace tessera::cpu
