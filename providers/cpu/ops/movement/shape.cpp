// Shape (1, 13: the whole shape; 15, 19, 21, 23, 24, 25: dimensions [start, end)). The data is never touched.

#include "ops/movement/shape.h"

#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class ShapeOf final : public Kernel {
 public:
  explicit ShapeOf(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Shape& dims = context.required_input(0).shape();
    const auto [first, last] = attributes_.Range(dims.rank());
    Tensor* output = context.output(0, {static_cast<int64_t>(last - first)});
    std::copy(dims.begin() + first, dims.begin() + last, output->mutable_data<int64_t>());
  }

 private:
  const ShapeAttributes attributes_;
};

}  // namespace

void RegisterShape(KernelRegistry& registry) { registry.Add(Op("Shape").Versions(1).Make<ShapeOf>()); }

}  // namespace tessera::cpu
