// GatherElements (11-13).

#include "opencl/ops/gather_indices.h"
#include "ops/movement/gather.h"

namespace tessera::opencl {
namespace {

class GatherElements final : public Kernel {
 public:
  explicit GatherElements(const KernelInfo& info)
      : kernel_(DeviceOf(info), "gather", GatherTypes(info), "gather_elements"),
        indices_(info),
        axis_(GatherAttributes(info.node()).axis) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    const size_t axis = ElementsAxis(x.shape(), indices.shape(), axis_);
    Tensor& y = *context.output(0, indices.shape());
    if (y.num_elements() == 0) return;
    Strided s = Block(indices.shape());
    s.a = RowMajor(x.shape());
    indices_.With(context, indices, x.shape()[axis], [&](const BufferRange& sent) {
      kernel_.Linear(context, y.num_elements(), x, sent, y, s, static_cast<cl_int>(axis), cl_long{x.shape()[axis]});
    });
  }

 private:
  Launchable kernel_;
  Indices indices_;
  int64_t axis_;
};

}  // namespace

void RegisterGatherElements(KernelRegistry& registry) {
  registry.Add(Op("GatherElements").Versions(11).Types(0, kMovable).Types(1, kIndices).HostInput(1).Make<GatherElements>());
}

}  // namespace tessera::opencl
