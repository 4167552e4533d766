// Det (11, 22): determinants by P A = L U, in double.

#include <Eigen/LU>
#include <cmath>

#include "base/cancellation.h"
#include "cpu/engine/elimination.h"
#include "cpu/ops/nn/float_view.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

template <class T, int kRows>
using Square = Eigen::Matrix<T, kRows, kRows, Eigen::RowMajor>;

/// The product of U's diagonal. A zero there is the result, also where others are too large for a product; NaN is
/// stronger.
double DiagonalProduct(const double* u, int64_t n, double sign) {
  double product = sign;
  bool singular = false;
  for (int64_t i = 0; i < n; ++i) {
    const double pivot = u[i * (n + 1)];
    if (std::isnan(pivot)) return pivot;
    singular |= pivot == 0;
    product *= pivot;
  }
  return singular ? 0 : product;
}

template <class T>
class Det final : public Kernel {
 public:
  explicit Det(const KernelInfo&) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const size_t rank = input.shape().rank();
    Require(rank >= 2 && input.shape()[rank - 1] == input.shape()[rank - 2], "the input {} holds no square matrices",
            input.shape());
    const int64_t n = input.shape()[rank - 1];
    Tensor* output = context.output(0, Shape(input.shape().dims().first(rank - 2)));
    if (output == nullptr || output->num_elements() == 0) return;
    const C* in = ComputeView<T>(context, &input);
    ComputeResult<T> result(context, *output);
    const std::span<C> determinants(result.data(), static_cast<size_t>(output->num_elements()));
    if (n > kLargestEigenMatrix) {
      OfLarge(context, in, n, determinants);
    } else if (n == 2) {
      OfSmall<2>(context, in, n, determinants);
    } else if (n == 3) {
      OfSmall<3>(context, in, n, determinants);
    } else if (n == 4) {
      OfSmall<4>(context, in, n, determinants);
    } else {
      OfSmall<Eigen::Dynamic>(context, in, n, determinants);
    }
    result.Finish();
  }

 private:
  using C = ComputeType<T>;

  /// kRows: n, or Eigen::Dynamic.
  template <int kRows>
  static void OfSmall(KernelContext& context, const C* in, int64_t n, std::span<C> results) {
    const double cost = 100 + static_cast<double>(n * n) * static_cast<double>(n) * 0.1;
    context.threads().ParallelFor(std::ssize(results), cost, [&](int64_t begin, int64_t end) {
      Eigen::PartialPivLU<Square<double, kRows>> lu(n);
      PacedCancellationPoint look(cost);
      for (int64_t i = begin; i < end; ++i) {
        look.Pass();
        lu.compute(Eigen::Map<const Square<C, kRows>>(in + i * n * n, n, n).template cast<double>());
        const double sign = lu.permutationP().determinant();
        results[static_cast<size_t>(i)] = static_cast<C>(DiagonalProduct(lu.matrixLU().data(), n, sign));
      }
    });
  }

  static void OfLarge(KernelContext& context, const C* in, int64_t n, std::span<C> results) {
    const int64_t size = n * n;
    const std::span<double> matrix = context.scratch<double>(static_cast<size_t>(size));
    for (C& result : results) {
      context.threads().ParallelFor(
          size, 0.5, [&](int64_t begin, int64_t end) { std::copy(in + begin, in + end, matrix.data() + begin); });
      Elimination<double> elimination(context.threads(), n, matrix.data(), nullptr);
      elimination.Run();
      result = static_cast<C>(DiagonalProduct(matrix.data(), n, elimination.sign()));
      in += size;
    }
  }
};

}  // namespace

void RegisterDet(KernelRegistry& registry) {
  registry.Add(Op("Det").Types(0, kFloats).Factory(MakeTyped<Det, FloatTypes>));
}

}  // namespace tessera::cpu
