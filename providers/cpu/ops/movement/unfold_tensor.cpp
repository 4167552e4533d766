// UnfoldTensor, com.microsoft, version 1: all slices of a size along a dimension, as PyTorch's unfold; the slices' elements
// come last.

#include "cpu/engine/indices.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class UnfoldTensor final : public Kernel {
 public:
  explicit UnfoldTensor(const KernelInfo& info)
      : dim_(info.attribute<int64_t>("dim", -1)),
        size_(info.attribute<int64_t>("size")),
        step_(info.attribute<int64_t>("step", 1)) {
    Require(size_ > 0 && step_ > 0, "size and step are {} and {}; positive numbers are expected", size_, step_);
  }

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape& shape = input.shape();
    const size_t dim = NormalizeAxis(dim_, shape.rank());
    Require(shape[dim] >= size_, "slices of {} do not fit into dimension {} of {}", size_, dim, shape);
    const int64_t slices = (shape[dim] - size_) / step_ + 1;
    Shape result = shape;
    result[dim] = slices;
    result.Append(size_);
    Tensor* output = context.output(0, result);
    if (output == nullptr || output->num_elements() == 0) return;
    const int64_t inner = shape.SizeOfRange(dim + 1, shape.rank());
    StridedCopy copy(KindOf(input.type()));
    copy.Add(shape.SizeOfRange(0, dim), shape[dim] * inner, slices * inner * size_);
    copy.Add(slices, slices > 1 ? step_ * inner : 0, inner * size_);
    copy.Add(inner, 1, size_);
    copy.Add(size_, inner, 1);
    copy.Run(context.threads(), input.raw(), output->mutable_raw());
  }

 private:
  int64_t dim_, size_, step_;
};

}  // namespace

void RegisterUnfoldTensor(KernelRegistry& registry) {
  registry.Add(Op("UnfoldTensor", "com.microsoft").Factory(MakeMovement<UnfoldTensor>));
}

}  // namespace tessera::cpu
