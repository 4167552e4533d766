// Inverse, com.microsoft, version 1: of the matrices in the last two dimensions.

#include <Eigen/LU>

#include "engine/convert_row.h"
#include "ops/ops.h"
#include "types.h"

namespace tessera::cpu {
namespace {

template <class T>
class Inverse final : public Kernel {
  using C = ComputeType<T>;
  using Matrix = Eigen::Matrix<C, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

 public:
  explicit Inverse(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Shape& shape = x.shape();
    const size_t rank = shape.rank();
    Require(rank >= 2 && shape[rank - 2] == shape[rank - 1], "the input is {}; square matrices are expected", shape);
    Tensor* y = context.output(0, shape);
    if (y == nullptr || x.num_elements() == 0) return;
    const int64_t n = shape[rank - 1], size = n * n;
    context.threads().ParallelFor(shape.SizeOfRange(0, rank - 2), static_cast<double>(size * n) + 100, [&](int64_t begin, int64_t end) {
      Matrix matrix(n, n);
      for (int64_t i = begin; i < end; ++i) {
        LoadRow(x.data<T>() + i * size, matrix.data(), size);
        const Matrix inverse = matrix.inverse();
        StoreRow(inverse.data(), y->mutable_data<T>() + i * size, size);
      }
    });
  }
};

}  // namespace

void RegisterInverse(KernelRegistry& registry) {
  registry.Add(Op("Inverse", "com.microsoft")
                   .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kDouble})
                   .Factory(MakeTyped<Inverse, TypeList<float, Float16, double>>));
}

}  // namespace tessera::cpu
