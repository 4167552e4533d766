// Slice (1, 10, 11, 13).

#include <algorithm>

#include "opencl/ops/strided.h"
#include "ops/movement/slice.h"

namespace tessera::opencl {
namespace {

class Slice final : public StridedKernel {
 public:
  explicit Slice(const KernelInfo& info) : StridedKernel(info), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    Strided block = Block(shape);
    block.a = RowMajor(shape);
    const auto [starts, result, steps] = attributes_.Ranges(shape, GivenSlicesOf(context));
    int64_t from = 0;
    for (size_t i = 0; i < shape.rank(); ++i) {
      from += starts[i] * block.a[i];
      block.a[i] *= result[i] > 1 ? steps[i] : 0;
    }
    Tensor& y = *context.output(0, result);
    std::copy(result.begin(), result.end(), block.dims.begin());
    block.b = RowMajor(result);
    Copy(context, x, y, block, from);
  }

 private:
  SliceAttributes attributes_;
};

}  // namespace

void RegisterSlice(KernelRegistry& registry) {
  registry.Add(
      Op("Slice").Versions(1).Types(0, kMovable).HostInput(1).HostInput(2).HostInput(3).HostInput(4).Make<Slice>());
}

}  // namespace tessera::opencl
