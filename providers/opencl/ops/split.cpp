// Split (2-18): a copy for each output.

#include <optional>

#include "opencl/ops/strided.h"
#include "ops/movement/split.h"

namespace tessera::opencl {
namespace {

class Split final : public StridedKernel {
 public:
  explicit Split(const KernelInfo& info) : StridedKernel(info), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const size_t axis = NormalizeAxis(attributes_.axis, x.shape().rank());
    const Tensor* given = context.input(1);
    const auto sizes = context.scratch<int64_t>(context.num_outputs());
    attributes_.FindParts(x.shape()[axis], given != nullptr ? std::optional(given->values<int64_t>()) : std::nullopt,
                          sizes);
    const auto strides = RowMajor(x.shape());
    int64_t at = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      Shape part = x.shape();
      part[axis] = sizes[i];
      Strided block = Block(part);
      block.a = strides;
      block.b = RowMajor(part);
      if (Tensor* y = context.output(i, part)) Copy(context, x, *y, block, at * strides[axis]);
      at += part[axis];
    }
  }

 private:
  SplitAttributes attributes_;
};

}  // namespace

void RegisterSplit(KernelRegistry& registry) {
  registry.Add(Op("Split").Versions(2).Types(0, kMovable).HostInput(1).Make<Split>());
}

}  // namespace tessera::opencl
