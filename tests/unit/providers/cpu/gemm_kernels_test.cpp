// Every row of kernels.inc beside plain loops, on every instruction set of this machine: sizes around the edges of tiles,
// panels and steps in k, on one thread and as a whole.

#include <gtest/gtest.h>

#include "gemm_operands.h"
#include "on_each_target.h"
#include "runtime/threads/thread_pools.h"

namespace tessera::cpu {
namespace {

template <class Lhs, class Rhs, class T>
void CheckGemm(ThreadPool& threads, const GemmKernel<T>& kernel, int64_t m, int64_t n, int64_t k) {
  GemmOperands<Lhs, Rhs, T> operands(threads, kernel.panels, m, n, k);
  kernel.multiply(operands.problem, 0, m, 0, n);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T expected = 0;
      for (int64_t p = 0; p < k; ++p)
        expected += static_cast<T>(operands.a[static_cast<size_t>(i * k + p)]) *
                    static_cast<T>(operands.b[static_cast<size_t>(p * n + j)]);
      ASSERT_EQ(operands.c[static_cast<size_t>(i * n + j)], expected)
          << m << " by " << n << " by " << k << ", row " << i << ", column " << j;
    }
  }
}

template <class Lhs, class Rhs, class T>
void CheckKernel(const char* name) {
  const auto threads = MakeSerialPool();
  const RunScope scope(*threads);
  bool ran = false;
  testing::OnEachTarget([&] {
    const GemmKernel<T>* kernel = KernelNamed<Lhs, T>(name);
    if (kernel == nullptr) return;
    ran = true;
    for (const int64_t m : {1, 2, 5, 13, 37}) {
      for (const int64_t n : {1, 15, 33, 131}) {
        for (const int64_t k : {1, 2, 7, 66, 517}) CheckGemm<Lhs, Rhs, T>(*threads, *kernel, m, n, k);
      }
    }
  });
  if (!ran) GTEST_SKIP() << "no such instructions here";
}

#define TESSERA_GEMM_KERNEL(name, needs, Lhs, Rhs, T, rows, wide_rows, unroll, panels) \
  TEST(GemmKernels, name) { CheckKernel<Lhs, Rhs, T>(#name); }
#include "kernels/gemm/kernels.inc"

}  // namespace
}  // namespace tessera::cpu
