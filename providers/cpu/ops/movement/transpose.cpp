// Transpose (1, 13, 21, 23, 24, 25): dimensions in the order of `perm`, reversed by default.

#include "ops/movement/transpose.h"
#include "cpu/engine/indices.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"

namespace tessera::cpu {
namespace {

class Transpose final : public Kernel {
 public:
  explicit Transpose(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& data = context.required_input(0);
    const Shape& dims = data.shape();
    const size_t rank = dims.rank();
    attributes_.Check(rank);
    Shape shape(rank);
    Shape strides(rank);
    bool in_order = true;
    size_t last = 0;
    for (size_t i = 0; i < rank; ++i) {
      const size_t from = attributes_.From(i, rank);
      shape[i] = dims[from];
      if (dims[from] != 1) {
        in_order &= from >= last;
        last = from;
      }
    }
    if (in_order) return context.set_output(0, data.Reshaped(shape));
    StridedCopy copy(KindOf(data.type()));
    Tensor* output = context.output(0, data.type(), shape);
    if (output->num_elements() == 0) return;
    int64_t stride = 1;
    for (size_t i = rank; i-- > 0; stride *= dims[i]) strides[i] = stride;
    for (size_t i = 0; i < rank; ++i) {
      stride /= shape[i];
      copy.Add(shape[i], strides[attributes_.From(i, rank)], stride);
    }
    copy.Run(context.threads(), data.raw(), output->mutable_raw());
  }

 private:
  const TransposeAttributes attributes_;
};

}  // namespace

void RegisterTranspose(KernelRegistry& registry) {
  registry.Add(Op("Transpose").Versions(1).Factory(MakeMovement<Transpose>));
}

}  // namespace tessera::cpu
