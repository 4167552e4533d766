// GroupNormalization (18, 21), InstanceNormalization (6, 22).

#include "ops/normalization/group_normalization.h"
#include "opencl/ops/standardize.h"

namespace tessera::opencl {
namespace {

class GroupNormalization final : public Standardize {
 public:
  explicit GroupNormalization(const KernelInfo& info)
      : GroupNormalization(info, GroupNormalizationAttributes(info.node())) {}

  void Compute(KernelContext& context) override {
    const Shape& shape = context.required_input(0).shape();
    const int64_t groups = attributes_.Groups(shape), channels = shape[1], spatial = shape.SizeOfRange(2, shape.rank());
    const Tensor& y = *context.output(0, shape);
    if (y.num_elements() == 0) return;
    const int64_t size = channels / groups * spatial;
    if (attributes_.scales_groups) return Launch(context, {size, groups, 1, size}, y);
    Launch(context, {size, groups, channels / groups, spatial}, y);
  }

 private:
  GroupNormalization(const KernelInfo& info, const GroupNormalizationAttributes& attributes)
      : Standardize(info, attributes.epsilon, true), attributes_(attributes) {}

  GroupNormalizationAttributes attributes_;
};

}  // namespace

void RegisterGroupNormalization(KernelRegistry& registry) {
  registry.Add(Op("GroupNormalization").Versions(18).Types(0, kReals).Make<GroupNormalization>());
  registry.Add(Op("InstanceNormalization").Versions(6).Types(0, kReals).Make<GroupNormalization>());
}

}  // namespace tessera::opencl
