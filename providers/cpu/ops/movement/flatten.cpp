// Flatten (1, 9, 11, 13, 21, 23, 24, 25): a matrix whose rows are the dimensions before `axis`.

#include "cpu/engine/indices.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class Flatten final : public Kernel {
 public:
  explicit Flatten(const KernelInfo& info) : axis_(info.attribute<int64_t>("axis", 1)) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const size_t rank = input.shape().rank();
    const auto r = static_cast<int64_t>(rank);
    Require(axis_ >= -r && axis_ <= r, "axis {} is outside [{}, {}]", axis_, -r, r);
    const auto axis = static_cast<size_t>(axis_ < 0 ? axis_ + r : axis_);
    const Shape shape{input.shape().SizeOfRange(0, axis), input.shape().SizeOfRange(axis, rank)};
    context.set_output(0, input.Reshaped(shape));
  }

 private:
  const int64_t axis_;
};

}  // namespace

void RegisterFlatten(KernelRegistry& registry) { registry.Add(Op("Flatten").Versions(1).Alias(0, 0).Make<Flatten>()); }

}  // namespace tessera::cpu
