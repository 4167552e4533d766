// ScatterND (11-18).

#include "opencl/ops/scatter_slices.h"
#include "ops/movement/scatter.h"

namespace tessera::opencl {
namespace {

class ScatterND final : public ScatterSlices {
 public:
  explicit ScatterND(const KernelInfo& info) : ScatterSlices(info, 1) {}

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    const Tensor& updates = context.required_input(2);
    const int64_t depth = CheckScatterND(data, indices, updates);
    const Shape &dims = data.shape(), &index_dims = indices.shape();
    const int64_t tuples = index_dims.SizeOfRange(0, index_dims.rank() - 1);
    Scatter(context, data, updates, tuples, dims.SizeOfRange(static_cast<size_t>(depth), dims.rank()),
            [&](std::span<int64_t> offsets) { TupleOffsets(dims.dims(), depth, indices.values<int64_t>(), offsets); });
  }
};

}  // namespace

void RegisterScatterND(KernelRegistry& registry) {
  registry.Add(Op("ScatterND")
                   .Versions(11)
                   .Types(0, kMovable)
                   .HostInput(1)
                   .InPlace(0, 0)
                   .Unless(ReductionRefusal)
                   .Make<ScatterND>());
}

}  // namespace tessera::opencl
