#pragma once

// Gaussian elimination of matrices that are too large for Eigen's, which nothing can interrupt.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/cancellation.h"
#include "kernels/gemm/gemm.h"
#include "tessera/provider/thread_pool.h"

namespace tessera::cpu {

/// Rows of a matrix that takes Eigen more than a millisecond.
inline constexpr int64_t kLargestEigenMatrix = 192;

/// P A = L U with partial pivoting, block after block, so that nearly all of the work is in matmuls, which have the
/// threads' help and can be cancelled. Row-major matrices of n rows.
template <class C>
class Elimination {
 public:
  /// U and below it L take the place of `a`. `x`, n columns that rows are exchanged and subtracted in, too: L^-1 P takes
  /// the place of its product with them; null: none.
  Elimination(ThreadPool& threads, int64_t n, C* a, C* x) : threads_(threads), n_(n), a_(a), x_(x) {}

  void Run() {
    for (int64_t k = 0; k < n_; k += kBlock) Eliminate(k, std::min(k + kBlock, n_));
  }
  /// X of U X = Y, where it takes the place of Y: rows from the last to the first.
  void Substitute() {
    for (int64_t k = (n_ - 1) / kBlock * kBlock; k >= 0; k -= kBlock) Substitute(k, std::min(k + kBlock, n_));
  }
  /// Of P: 1 or -1.
  int sign() const noexcept { return sign_; }

 private:
  static constexpr int64_t kBlock = 64;

  /// Columns [k, end) of L and U; what is right of them, and X, as far as they take part.
  void Eliminate(int64_t k, int64_t end) {
    for (int64_t column = k; column < end; ++column) {
      Pivot(column);
      const C* from = a_ + column * n_;
      const C divisor = from[column] == 0 ? C{1} : from[column];  // where it is 0, the column has nothing else
      PacedCancellationPoint look(1);
      for (int64_t row = column + 1; row < n_; ++row) {
        look.Pass(end - column + 8);
        const C factor = a_[row * n_ + column] /= divisor;
        for (int64_t j = column + 1; j < end; ++j) a_[row * n_ + j] -= factor * from[j];
      }
    }
    Update(k, end, a_, end);
    if (x_ != nullptr) Update(k, end, x_, 0);
  }

  void Update(int64_t k, int64_t end, C* to, int64_t first) {
    ForwardRows(k, end, to, first);
    Subtract(end, n_, k, end, to, first);
  }

  void Pivot(int64_t column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n_; ++row) {
      if (std::abs(a_[row * n_ + column]) > std::abs(a_[pivot * n_ + column])) pivot = row;
    }
    if (pivot == column) return;
    sign_ = -sign_;
    std::swap_ranges(a_ + pivot * n_, a_ + (pivot + 1) * n_, a_ + column * n_);
    if (x_ != nullptr) std::swap_ranges(x_ + pivot * n_, x_ + (pivot + 1) * n_, x_ + column * n_);
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
    GemmProblem<C> args;
    args.m = last - row;
    args.n = n_ - first;
    args.k = end - k;
    args.lhs = {.data = a_ + row * n_ + k, .row = n_};
    args.rhs = {.data = to + k * n_ + first, .k = n_};
    args.out = {.data = to + row * n_ + first, .row = n_};
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
  int sign_ = 1;
};

}  // namespace tessera::cpu
