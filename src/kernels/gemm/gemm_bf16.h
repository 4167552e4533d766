#pragma once

// GEMM whose operands are rounded to bfloat16, for the operators that a session lets do so, and accumulated in float32.
// Adjacent elements in k are multiplied in pairs; the last is one with a zero where k is odd.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/cpu_features.h"
#include "kernels/gemm/gemm_kernels.h"
#include "tessera/numeric.h"
#include "tessera/provider/thread_pool.h"

namespace tessera::cpu {

/// Whether the processor has the instructions, and this build kernels with them.
bool HasGemmBf16();
/// Whether they multiply faster than float32's.
inline bool GemmBf16Pays() { return HasGemmBf16() && HasFastAvx512Bf16(); }

/// Elements of `k` numbers in pairs.
constexpr int64_t PairedSize(int64_t k) { return k + k % 2; }

/// Rows of k numbers, one after the other, each as pairs.
void RoundToPairs(const float* rows, int64_t count, int64_t k, BFloat16* out);
void RoundToPairs(ThreadPool& threads, const float* rows, int64_t count, int64_t k, BFloat16* out);

/// Elements of a packed B.
size_t PackedGemmBf16Size(int64_t k, int64_t n);
/// Rounds and packs `width` columns of a matrix of float, float16 or bfloat16 at any address, at most
/// GemmPanelWidth<float>(), whose rows (`transposed`: columns) are `row` elements apart.
template <class S>
void PackGemmBf16Panel(const S* b, int64_t row, bool transposed, int64_t k, int64_t width, BFloat16* packed);
extern template void PackGemmBf16Panel(const float*, int64_t, bool, int64_t, int64_t, BFloat16*);
extern template void PackGemmBf16Panel(const Float16*, int64_t, bool, int64_t, int64_t, BFloat16*);
extern template void PackGemmBf16Panel(const BFloat16*, int64_t, bool, int64_t, int64_t, BFloat16*);
/// Whole transposed matrices, [n, k].
template <class S>
void PackGemmBf16(ThreadPool& threads, int64_t k, int64_t n, const S* b, BFloat16* packed) {
  const int64_t width = GemmPanelWidth<float>();
  threads.ParallelFor((n + width - 1) / width, static_cast<double>(k * width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * width; i < std::min(n, end * width); i += width) {
      PackGemmBf16Panel(b + i * k, k, true, k, std::min(width, n - i), packed + i * PairedSize(k));
    }
  });
}

/// A GEMM whose A is pairs, by one of GemmKernelsBf16().
void GemmBf16(const GemmKernel<float>& kernel, ThreadPool& threads, const GemmProblem<float>& args);
void GemmBf16(ThreadPool& threads, const GemmProblem<float>& args);

}  // namespace tessera::cpu
