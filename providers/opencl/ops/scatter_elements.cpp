// ScatterElements (11-18), Scatter (9).

#include "base/cancellation.h"
#include "opencl/ops/scatter_slices.h"
#include "ops/movement/scatter.h"

namespace tessera::opencl {
namespace {

class ScatterElements final : public ScatterSlices {
 public:
  explicit ScatterElements(const KernelInfo& info) : ScatterSlices(info, 1), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    const Tensor& indices = context.required_input(1);
    const Tensor& updates = context.required_input(2);
    const Shape &dims = data.shape(), &walked = indices.shape();
    const size_t axis = attributes_.Check(data, indices, updates);
    Scatter(context, data, updates, indices.num_elements(), 1, [&](std::span<int64_t> offsets) {
      const HostIndices index(indices);
      const auto strides = RowMajor(dims);
      PacedCancellationPoint point(10);
      for (size_t i = 0; i < offsets.size(); ++i) {
        point.Pass();
        auto rest = static_cast<int64_t>(i);
        offsets[i] = CheckedIndex(index[rest], dims[axis]) * strides[axis];
        for (size_t d = dims.rank(); d-- > 0;) {
          if (d != axis) offsets[i] += rest % walked[d] * strides[d];
          rest /= walked[d];
        }
      }
    });
  }

 private:
  ScatterElementsAttributes attributes_;
};

}  // namespace

void RegisterScatterElements(KernelRegistry& registry) {
  registry.Add(Op("ScatterElements")
                   .Versions(11)
                   .Types(0, kMovable)
                   .HostInput(1)
                   .InPlace(0, 0)
                   .Unless(ReductionRefusal)
                   .Make<ScatterElements>());
  registry.Add(Op("Scatter")
                   .Versions(9)
                   .Types(0, kMovable)
                   .HostInput(1)
                   .InPlace(0, 0)
                   .Unless(ReductionRefusal)
                   .Make<ScatterElements>());
}

}  // namespace tessera::opencl
