// Det (11, 22): determinants by Gaussian elimination with partial pivoting.

#include <cmath>
#include <utility>

#include "base/cancellation.h"
#include "ops/nn/float_view.h"
#include "ops/ops.h"
#include "types.h"

namespace tessera::cpu {
namespace {

/// Destroys `a`, an n by n matrix. Sums in double.
double Determinant(double* a, int64_t n) {
  double result = 1;
  PacedCancellationPoint look(0.5);
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    look.Pass(n - column);
    for (int64_t row = column + 1; row < n; ++row) {
      if (std::abs(a[row * n + column]) > std::abs(a[pivot * n + column])) pivot = row;
    }
    const double value = a[pivot * n + column];
    if (value == 0) return 0;
    if (pivot != column) {
      for (int64_t j = column; j < n; ++j) std::swap(a[pivot * n + j], a[column * n + j]);
      result = -result;
    }
    result *= value;
    for (int64_t row = column + 1; row < n; ++row) {
      const double factor = a[row * n + column] / value;
      look.Pass(n - column);
      if (factor == 0) continue;
      for (int64_t j = column + 1; j < n; ++j) a[row * n + j] -= factor * a[column * n + j];
    }
  }
  return result;
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
    const ComputeType<T>* in = ComputeView<T>(context, &input);
    ComputeResult<T> result(context, *output);
    const int64_t size = n * n;
    const auto work = context.scratch<double>(static_cast<size_t>(input.num_elements()));
    const double cost = 10 + static_cast<double>(size) * static_cast<double>(n) * 0.3;
    context.threads().ParallelFor(output->num_elements(), cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double* matrix = work.data() + i * size;
        InCancellablePieces(0, size, 1.0, [&](int64_t from, int64_t to) {
          for (int64_t j = from; j < to; ++j) matrix[j] = static_cast<double>(in[i * size + j]);
        });
        result.data()[i] = static_cast<ComputeType<T>>(Determinant(matrix, n));
      }
    });
    result.Finish();
  }
};

}  // namespace

void RegisterDet(KernelRegistry& registry) {
  registry.Add(Op("Det").Types(0, kFloats).Factory(MakeTyped<Det, FloatTypes>));
}

}  // namespace tessera::cpu
