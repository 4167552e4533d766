// Expand (8, 13): broadcasts to the common shape of the input and `shape`.

#include "ops/movement/expand.h"

#include "cpu/engine/on_bytes.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class Expand final : public Kernel {
 public:
  explicit Expand(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Shape& dims = input.shape();
    const Shape shape = ExpandedShape(dims, context.required_input(1));
    const size_t rank = shape.rank(), skip_input = rank - dims.rank();
    if (shape.num_elements() == input.num_elements()) return context.set_output(0, input.Reshaped(shape));
    const ElementKind element = KindOf(input.type());
    Tensor* output = context.output(0, input.type(), shape);
    int64_t dst_stride = output->num_elements(), src_stride = input.num_elements();
    if (dst_stride == 0) return;
    StridedCopy copy(element);
    for (size_t i = 0; i < rank; ++i) {
      const int64_t have = i < skip_input ? 1 : dims[i - skip_input];
      src_stride /= have;
      dst_stride /= shape[i];
      copy.Add(shape[i], have == 1 ? 0 : src_stride, dst_stride);
    }
    copy.Run(context.threads(), input.raw(), output->mutable_raw());
  }
};

}  // namespace

void RegisterExpand(KernelRegistry& registry) { registry.Add(Op("Expand").Versions(8).Factory(MakeMovement<Expand>)); }

}  // namespace tessera::cpu
