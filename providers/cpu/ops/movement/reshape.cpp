// Reshape (1, 5, 13, 14, 19, 21, 23, 24, 25): the same elements under another shape.

#include "ops/movement/reshape.h"
#include "base/check.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class Reshape final : public Kernel {
 public:
  explicit Reshape(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    context.set_output(0, data.Reshaped(attributes_.Resolve(data.shape(), Target(context))));
  }

 private:
  std::span<const int64_t> Target(const KernelContext& context) const {
    if (attributes_.from_attribute) return attributes_.shape;
    const Tensor& target = context.required_input(1);
    Require(target.is(ElementType::kInt64) && target.shape().rank() <= 1, "shape is {} {}, expected a list of int64",
            ElementTypeName(target.type()), target.shape());
    return target.values<int64_t>();
  }

  const ReshapeAttributes attributes_;
};

}  // namespace

void RegisterReshape(KernelRegistry& registry) { registry.Add(Op("Reshape").Versions(1).Alias(0, 0).Make<Reshape>()); }

}  // namespace tessera::cpu
