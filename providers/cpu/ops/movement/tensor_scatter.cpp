// TensorScatter (24): writes new positions into a cache along its sequence axis, per batch at its own index.

#include "base/checked.h"
#include "cpu/engine/indices.h"
#include "cpu/engine/on_bytes.h"
#include "cpu/engine/strided_copy.h"
#include "cpu/ops/ops.h"
#include "ops/movement/scatter.h"

namespace tessera::cpu {
namespace {

class TensorScatter final : public Kernel {
 public:
  explicit TensorScatter(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& past = context.required_input(0);
    const Tensor& update = context.required_input(1);
    const Tensor* write_indices = context.input(2);
    const Shape &dims = past.shape(), &new_dims = update.shape();
    const size_t axis = attributes_.Check(past, update, write_indices);
    const int64_t size = dims[axis], length = new_dims[axis];
    const ElementKind element = KindOf(past.type());
    Tensor* present = context.output(0, past.type(), dims);
    CopyUnlessInPlace(context.threads(), past, *present);
    if (update.num_elements() == 0) return;
    const int64_t block = dims.SizeOfRange(axis + 1, dims.rank()) * element.bytes;
    const int64_t rows = dims.SizeOfRange(0, axis), rows_per_batch = rows / dims[0], count = block / element.bytes;
    const double cost = CopyCost(element) * static_cast<double>(length * count) + 2;
    context.threads().ParallelFor(rows, cost, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t wanted = write_indices != nullptr ? write_indices->data<int64_t>()[row / rows_per_batch] : 0;
        const int64_t at = attributes_.circular ? (wanted % size + size) % size : wanted;
        const int64_t before_end = std::min(length, size - at);
        std::byte* to = Bytes(*present) + row * size * block;
        const std::byte* from = Bytes(update) + row * length * block;
        CopyElements(to + at * block, from, before_end * count, element);
        CopyElements(to, from + before_end * block, (length - before_end) * count, element);
      }
    });
  }

 private:
  const TensorScatterAttributes attributes_;
};

}  // namespace

void RegisterTensorScatter(KernelRegistry& registry) {
  registry.Add(Op("TensorScatter").Versions(24).InPlace(0, 0).Factory(MakeMovement<TensorScatter>));
}

}  // namespace tessera::cpu
