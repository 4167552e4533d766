// TensorScatter (24).

#include "base/cancellation.h"
#include "opencl/ops/scatter_slices.h"
#include "ops/movement/scatter.h"

namespace tessera::opencl {
namespace {

class TensorScatter final : public ScatterSlices {
 public:
  explicit TensorScatter(const KernelInfo& info) : ScatterSlices(info, 2), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& past = context.required_input(0);
    const Tensor& update = context.required_input(1);
    const Tensor* given = context.input(2);
    const Shape &dims = past.shape(), &fresh = update.shape();
    const size_t axis = attributes_.Check(past, update, given);
    const int64_t size = dims[axis], length = fresh[axis], inner = dims.SizeOfRange(axis + 1, dims.rank());
    const int64_t rows = dims.SizeOfRange(0, axis), per_batch = dims.SizeOfRange(1, axis);
    Scatter(context, past, update, rows * length, inner, [&](std::span<int64_t> offsets) {
      PacedCancellationPoint point(5);
      for (int64_t row = 0; row < rows; ++row) {
        point.Pass(length);
        int64_t at = given == nullptr ? 0 : given->data<int64_t>()[row / per_batch];
        at = (at % size + size) % size;
        for (int64_t i = 0; i < length; ++i)
          offsets[static_cast<size_t>(row * length + i)] = (row * size + (at + i) % size) * inner;
      }
    });
  }

 private:
  TensorScatterAttributes attributes_;
};

}  // namespace

void RegisterTensorScatter(KernelRegistry& registry) {
  registry.Add(Op("TensorScatter").Versions(24).Types(0, kMovable).HostInput(2).InPlace(0, 0).Make<TensorScatter>());
}

}  // namespace tessera::opencl
