// Gather (1-13).

#include "ops/movement/gather.h"
#include "opencl/ops/gather_indices.h"

namespace tessera::opencl {
namespace {

class Gather final : public Kernel {
 public:
  explicit Gather(const KernelInfo& info)
      : kernel_(DeviceOf(info), "gather", GatherTypes(info), "gather"),
        indices_(info),
        axis_(GatherAttributes(info.node()).axis) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    const size_t axis = NormalizeAxis(axis_, x.shape().rank());
    Tensor& y = *context.output(0, GatherAttributes::ResultShape(x.shape(), indices.shape(), axis));
    if (y.num_elements() == 0) return;
    indices_.With(context, indices, x.shape()[axis], [&](const BufferRange& sent) {
      kernel_.Linear(context, y.num_elements(), x, sent, y, cl_long{x.shape()[axis]}, cl_long{indices.num_elements()},
                     cl_long{x.shape().SizeOfRange(axis + 1, x.shape().rank())});
    });
  }

 private:
  Launchable kernel_;
  Indices indices_;
  int64_t axis_;
};

}  // namespace

void RegisterGather(KernelRegistry& registry) {
  registry.Add(Op("Gather").Versions(1).Types(0, kMovable).Types(1, kIndices).HostInput(1).Make<Gather>());
}

}  // namespace tessera::opencl
