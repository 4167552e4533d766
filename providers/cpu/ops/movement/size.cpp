// Size (1, 13, 19, 21, 23, 24, 25): the number of elements. The data is never touched.

#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class Size final : public Kernel {
 public:
  explicit Size(const KernelInfo&) {}
  void Compute(KernelContext& context) override {
    const int64_t count = context.required_input(0).num_elements();
    *context.output(0, Shape())->mutable_data<int64_t>() = count;
  }
};

}  // namespace

void RegisterSize(KernelRegistry& registry) { registry.Add(Op("Size").Versions(1).Make<Size>()); }

}  // namespace tessera::cpu
