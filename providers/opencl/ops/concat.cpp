// Concat (1-13): a copy for each input.

#include "ops/movement/concat.h"
#include "opencl/ops/strided.h"

namespace tessera::opencl {
namespace {

class Concat final : public StridedKernel {
 public:
  explicit Concat(const KernelInfo& info) : StridedKernel(info), axis_(ConcatAttributes(info.node()).axis) {}

  void Compute(KernelContext& context) override {
    Shape result = context.required_input(0).shape();
    const size_t axis = NormalizeAxis(axis_, result.rank());
    for (size_t i = 1; i < context.num_inputs(); ++i)
      ConcatAttributes::Join(result, context.required_input(i).shape(), axis);
    Tensor& y = *context.output(0, result);
    const auto strides = RowMajor(result);
    int64_t at = 0;
    for (size_t i = 0; i < context.num_inputs(); ++i) {
      const Tensor& x = context.required_input(i);
      Strided block = Block(x.shape());
      block.a = RowMajor(x.shape());
      block.b = strides;
      Copy(context, x, y, block, 0, at * strides[axis]);
      at += x.shape()[axis];
    }
  }

 private:
  int64_t axis_;
};

}  // namespace

void RegisterConcat(KernelRegistry& registry) { registry.Add(Op("Concat").Versions(1).Types(0, kMovable).Make<Concat>()); }

}  // namespace tessera::opencl
