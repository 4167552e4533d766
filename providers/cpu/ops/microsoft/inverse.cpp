// Inverse, com.microsoft, version 1: of the matrices in the last two dimensions.

#include <Eigen/LU>

#include "base/cancellation.h"
#include "engine/convert_row.h"
#include "ops/ops.h"
#include "simd/gemm.h"
#include "types.h"

namespace tessera::cpu {
namespace {

/// Large matrices: A X = 1 by Gaussian elimination with partial pivoting (P A = L U), block after block, so that nearly all of the work
/// is in matrix products, which have the threads' help and can be cancelled.
template <class C>
class BlockInverse {
 public:
  /// Row-major matrices of n rows; `a` is destroyed.
  BlockInverse(ThreadPool& threads, int64_t n, C* a, C* x) : threads_(threads), n_(n), a_(a), x_(x) {}

  void Run() {
    InCancellablePieces(0, n_, static_cast<double>(n_), [&](int64_t begin, int64_t end) {
      std::fill(x_ + begin * n_, x_ + end * n_, C{0});
      for (int64_t i = begin; i < end; ++i) x_[i * n_ + i] = C{1};
    });
    for (int64_t k = 0; k < n_; k += kBlock) Eliminate(k, std::min(k + kBlock, n_));
    // Rows of X from the last to the first: U X = Y, where Y has taken the place of X.
    for (int64_t k = (n_ - 1) / kBlock * kBlock; k >= 0; k -= kBlock) Substitute(k, std::min(k + kBlock, n_));
  }

 private:
  static constexpr int64_t kBlock = 64;

  /// Columns [k, end) of L and U; what is right of them, and X, as far as they take part.
  void Eliminate(int64_t k, int64_t end) {
    for (int64_t column = k; column < end; ++column) {
      Pivot(column);
      const C* from = a_ + column * n_;
      PacedCancellationPoint look(1);
      for (int64_t row = column + 1; row < n_; ++row) {
        look.Pass(end - column + 8);
        const C factor = a_[row * n_ + column] /= from[column];
        for (int64_t j = column + 1; j < end; ++j) a_[row * n_ + j] -= factor * from[j];
      }
    }
    ForwardRows(k, end, a_, end);
    ForwardRows(k, end, x_, 0);
    Subtract(end, n_, k, end, a_, end);
    Subtract(end, n_, k, end, x_, 0);
  }

  void Pivot(int64_t column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n_; ++row) {
      if (std::abs(a_[row * n_ + column]) > std::abs(a_[pivot * n_ + column])) pivot = row;
    }
    if (pivot == column) return;
    std::swap_ranges(a_ + pivot * n_, a_ + (pivot + 1) * n_, a_ + column * n_);
    std::swap_ranges(x_ + pivot * n_, x_ + (pivot + 1) * n_, x_ + column * n_);
  }

  /// Rows [k, end) of `to`, from column `first` on, become those that L's block leads to.
  void ForwardRows(int64_t k, int64_t end, C* to, int64_t first) {
    PacedCancellationPoint look(0.5);
    for (int64_t row = k; row < end; ++row) {
      for (int64_t i = k; i < row; ++i) {
        look.Pass(n_ - first);
        const C factor = a_[row * n_ + i];
        for (int64_t j = first; j < n_; ++j) to[row * n_ + j] -= factor * to[i * n_ + j];
      }
    }
  }

  /// Rows [row, last) of `to` less A's columns [k, end) times rows [k, end) of `to`, from column `first` on.
  void Subtract(int64_t row, int64_t last, int64_t k, int64_t end, C* to, int64_t first) {
    GemmArgs<C> args;
    args.m = last - row;
    args.n = n_ - first;
    args.k = end - k;
    args.a = a_ + row * n_ + k;
    args.a_row = n_;
    args.b = to + k * n_ + first;
    args.b_k = n_;
    args.c = to + row * n_ + first;
    args.c_row = n_;
    args.alpha = C{-1};
    args.accumulate = true;
    Gemm<C>(threads_, args);
  }

  void Substitute(int64_t k, int64_t end) {
    if (end < n_) Subtract(k, end, end, n_, x_, 0);
    PacedCancellationPoint look(0.5);
    for (int64_t row = end - 1; row >= k; --row) {
      C* to = x_ + row * n_;
      for (int64_t i = row + 1; i < end; ++i) {
        look.Pass(n_);
        const C factor = a_[row * n_ + i];
        for (int64_t j = 0; j < n_; ++j) to[j] -= factor * x_[i * n_ + j];
      }
      const C scale = C{1} / a_[row * n_ + row];
      for (int64_t j = 0; j < n_; ++j) to[j] *= scale;
    }
  }

  ThreadPool& threads_;
  const int64_t n_;
  C* const a_;
  C* const x_;
};

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
    n > kLarge ? InvertLarge(context, x, n, count, *y) : InvertSmall(context, x, n, count, *y);
  }

 private:
  static constexpr int64_t kLarge = 192;  // rows of a matrix that takes Eigen more than a millisecond

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

  static void InvertLarge(KernelContext& context, const Tensor& x, int64_t n, int64_t count, Tensor& y) {
    const int64_t size = n * n;
    const std::span<C> matrix = context.scratch<C>(static_cast<size_t>(size));
    const std::span<C> inverse = context.scratch<C>(static_cast<size_t>(size));
    for (int64_t i = 0; i < count; ++i) {
      context.threads().ParallelFor(size, 0.5, [&](int64_t begin, int64_t end) {
        LoadRow(x.data<T>() + i * size + begin, matrix.data() + begin, end - begin);
      });
      BlockInverse<C>(context.threads(), n, matrix.data(), inverse.data()).Run();
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
