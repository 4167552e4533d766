#pragma once

// GEMMs of any element type an operator may have: floats through the packed engine, integers (which wrap, so they
// are given as unsigned types) through plain loops.

#include <algorithm>
#include <type_traits>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_u8s8.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Rows [m0, m1) of an integer GEMM. Alpha and the epilogue do not apply.
template <class T>
void IntegerGemmRows(const GemmProblem<T>& args, int64_t m0, int64_t m1) {
  static_assert(std::is_unsigned_v<T>);
  // Narrow types would be promoted to int, where overflow is undefined.
  using Sum = std::conditional_t<(sizeof(T) < 4), uint32_t, T>;
  for (int64_t i = m0; i < m1; ++i) {
    T* c = args.out.data + i * args.out.row;
    if (!args.accumulate) std::fill_n(c, args.n, T{0});
    const T* a = args.lhs.data + i * args.lhs.row;
    if (args.rhs.col == 1) {
      for (int64_t p = 0; p < args.k; ++p) {
        const Sum x = a[p * args.lhs.k];
        const T* b = args.rhs.data + p * args.rhs.k;
        for (int64_t j = 0; j < args.n; ++j) c[j] = static_cast<T>(c[j] + x * b[j]);
      }
      continue;
    }
    for (int64_t j = 0; j < args.n; ++j) {
      const T* b = args.rhs.data + j * args.rhs.col;
      Sum sum = 0;
      for (int64_t p = 0; p < args.k; ++p) sum += static_cast<Sum>(a[p * args.lhs.k]) * static_cast<Sum>(b[p * args.rhs.k]);
      c[j] = static_cast<T>(c[j] + sum);
    }
  }
}

/// `count` GEMMs of one shape, in parallel.
template <class C>
void RunGemms(KernelContext& context, int64_t count, FunctionRef<GemmProblem<C>(int64_t)> gemm_args) {
  if (count == 0) return;
  const GemmProblem<C> first = gemm_args(0);
  if (first.m == 0 || first.n == 0) return;
  ThreadPool& threads = context.threads();
  if constexpr (std::is_floating_point_v<C>) {
    if (count > 1) {
      GemmBatch<C>(threads, count, first, gemm_args);
      return;
    }
    const size_t size = GemmWorkspaceSize(first, threads.num_threads());
    Gemm(threads, first, size == 0 ? nullptr : context.scratch<C>(size).data());
  } else {
    const double cost = static_cast<double>(first.n) * static_cast<double>(first.k) * 0.2;
    threads.ParallelFor(count * first.m, cost, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t row = begin % first.m;
        const int64_t rows = std::min(first.m - row, end - begin);
        IntegerGemmRows(gemm_args(begin / first.m), row, row + rows);
        begin += rows;
      }
    });
  }
}

/// One of bytes.
inline void RunGemm(KernelContext& context, const GemmU8S8Problem& problem) {
  Gemm(context.threads(), problem, context.scratch<std::byte>(GemmWorkspaceSize(problem)).data());
}

}  // namespace tessera::cpu
