// Expand (8, 13).

#include "ops/movement/expand.h"
#include "opencl/ops/strided.h"

namespace tessera::opencl {
namespace {

class Expand final : public StridedKernel {
 public:
  using StridedKernel::StridedKernel;

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape result = ExpandedShape(x.shape(), context.required_input(1));
    Tensor& y = *context.output(0, result);
    Strided block = Block(result);
    block.a = BroadcastStrides(x.shape(), result);
    block.b = RowMajor(result);
    Copy(context, x, y, block);
  }
};

}  // namespace

void RegisterExpand(KernelRegistry& registry) {
  registry.Add(Op("Expand").Versions(8).Types(0, kMovable).HostInput(1).Make<Expand>());
}

}  // namespace tessera::opencl
