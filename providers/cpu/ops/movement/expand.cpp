// Expand (8, 13): broadcasts to the common shape of the input and `shape`.

#include "cpu/engine/indices.h"
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
    const Integers wanted(context.required_input(1), "shape");
    const Shape& dims = input.shape();
    const size_t rank = std::max(dims.rank(), wanted.size());
    const size_t skip_input = rank - dims.rank(), skip_wanted = rank - wanted.size();
    Shape shape(rank);
    for (size_t i = 0; i < rank; ++i) {
      const int64_t have = i < skip_input ? 1 : dims[i - skip_input];
      const int64_t want = i < skip_wanted ? 1 : wanted[i - skip_wanted];
      Require(want >= 0 && (have == want || have == 1 || want == 1), "dimension {} of shape {} cannot be broadcast to {}",
              i, dims, want);
      shape[i] = have == 1 ? want : have;
    }
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
