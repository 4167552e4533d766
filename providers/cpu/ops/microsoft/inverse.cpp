// Inverse, com.microsoft, version 1: of the matrices in the last two dimensions.

#include <Eigen/LU>

#include "base/cancellation.h"
#include "cpu/engine/convert_row.h"
#include "cpu/engine/elimination.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

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
    const int64_t n = shape[rank - 1], count = shape.SizeOfRange(0, rank - 2);
    n > kLargestEigenMatrix ? InvertLarge(context, x, n, count, *y) : InvertSmall(context, x, n, count, *y);
  }

 private:
  static void InvertSmall(KernelContext& context, const Tensor& x, int64_t n, int64_t count, Tensor& y) {
    const int64_t size = n * n;
    context.threads().ParallelFor(count, static_cast<double>(size * n) + 100, [&](int64_t begin, int64_t end) {
      Matrix matrix(n, n);
      for (int64_t i = begin; i < end; ++i) {
        LoadRow(x.data<T>() + i * size, matrix.data(), size);
        const Matrix inverse = matrix.inverse();
        StoreRow(inverse.data(), y.mutable_data<T>() + i * size, size);
      }
    });
  }

  static void MakeUnit(int64_t n, C* x) {
    InCancellablePieces(0, n, static_cast<double>(n), [&](int64_t begin, int64_t end) {
      std::fill(x + begin * n, x + end * n, C{0});
      for (int64_t i = begin; i < end; ++i) x[i * n + i] = C{1};
    });
  }

  static void InvertLarge(KernelContext& context, const Tensor& x, int64_t n, int64_t count, Tensor& y) {
    const int64_t size = n * n;
    const std::span<C> matrix = context.scratch<C>(static_cast<size_t>(size));
    const std::span<C> inverse = context.scratch<C>(static_cast<size_t>(size));
    for (int64_t i = 0; i < count; ++i) {
      context.threads().ParallelFor(size, 0.5, [&](int64_t begin, int64_t end) {
        LoadRow(x.data<T>() + i * size + begin, matrix.data() + begin, end - begin);
      });
      MakeUnit(n, inverse.data());
      Elimination<C> elimination(context.threads(), n, matrix.data(), inverse.data());
      elimination.Run();
      elimination.Substitute();
      context.threads().ParallelFor(size, 0.5, [&](int64_t begin, int64_t end) {
        StoreRow(inverse.data() + begin, y.mutable_data<T>() + i * size + begin, end - begin);
      });
    }
  }
};

}  // namespace

void RegisterInverse(KernelRegistry& registry) {
  registry.Add(Op("Inverse", "com.microsoft")
                   .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kDouble})
                   .Factory(MakeTyped<Inverse, TypeList<float, Float16, double>>));
}

}  // namespace tessera::cpu
