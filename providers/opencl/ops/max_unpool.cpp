// MaxUnpool (9-22): values go back where MaxPool's indices found them. The host reads the indices and checks them.

#include "ops/nn/max_unpool.h"

#include <vector>

#include "opencl/ops/slices.h"

namespace tessera::opencl {
namespace {

class MaxUnpool final : public Kernel {
 public:
  explicit MaxUnpool(const KernelInfo& info)
      : fill_(DeviceOf(info), "fill", Moved('X', info.input_type(0)), "fill"),
        place_(DeviceOf(info), "max_unpool", Moved('X', info.input_type(0)), "max_unpool"),
        plan_(info, 1),
        unpooling_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    Require(indices.is(ElementType::kInt64) && indices.shape() == x.shape(), "the indices are {}, the input is {}",
            indices.shape(), x.shape());
    const Tensor* wanted = context.input(2);
    const Shape pooled = unpooling_.Pooled(x.shape()),
                shape = wanted == nullptr ? pooled : CheckUnpooled(HostIntegers(*wanted), pooled);
    const Tensor& y = *context.output(0, shape);
    fill_.Linear(context, y.num_elements(), y, cl_ulong{0});
    Shape key = shape;
    for (const int64_t dim : pooled) key.Append(dim);
    const int64_t count = x.num_elements();
    if (count == 0) return;
    const SentData sent = plan_.Send(context, key, count, [&](std::span<int64_t> targets) {
      FindTargets(indices.values<int64_t>(), pooled, shape, targets);
    });
    place_.Linear(context, count, x, sent.range(), y);
  }

 private:
  /// Of several values in one place the last one stays. -1: nowhere.
  static void FindTargets(std::span<const int64_t> indices, const Shape& pooled, const Shape& result,
                          std::span<int64_t> targets) {
    const UnpooledIndices found(pooled, result);
    std::vector<bool> taken(static_cast<size_t>(result.num_elements()));
    for (size_t i = indices.size(); i-- > 0;) {
      const int64_t target = found.Find(indices[i]);
      const bool free = target >= 0 && !taken[static_cast<size_t>(target)];
      if (free) taken[static_cast<size_t>(target)] = true;
      targets[i] = free ? target : -1;
    }
  }

  Launchable fill_, place_;
  SentIntegers plan_;
  Unpooling unpooling_;
};

}  // namespace

void RegisterMaxUnpool(KernelRegistry& registry) {
  registry.Add(Op("MaxUnpool").Versions(9).Types(0, kReals).HostInput(1).HostInput(2).Make<MaxUnpool>());
}

}  // namespace tessera::opencl
