// Transpose (1-25).

#include <array>

#include "opencl/ops/strided.h"
#include "ops/movement/transpose.h"

namespace tessera::opencl {
namespace {

class Transpose final : public StridedKernel {
 public:
  explicit Transpose(const KernelInfo& info) : StridedKernel(info), attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const size_t rank = x.shape().rank();
    attributes_.Check(rank);
    Require(rank <= kMostDims, "{} dimensions; OpenCL kernels take at most {}", rank, kMostDims);
    std::array<size_t, kMostDims> perm{};
    Shape result(rank);
    for (size_t i = 0; i < rank; ++i) {
      perm[i] = attributes_.From(i, rank);
      result[i] = x.shape()[perm[i]];
    }
    CopyTransposed(context, x, x.shape(), std::span(perm).first(rank), *context.output(0, result));
  }

 private:
  TransposeAttributes attributes_;
};

}  // namespace

void RegisterTranspose(KernelRegistry& registry) {
  registry.Add(Op("Transpose").Versions(1).Types(0, kMovable).Make<Transpose>());
}

}  // namespace tessera::opencl
