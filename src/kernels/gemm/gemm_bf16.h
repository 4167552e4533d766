#pragma once

// GEMM whose operands are rounded to bfloat16, for the operators that a session lets do so:
// C[m,n] = epilogue(A[m,k] * B[k,n] (+ C)), accumulated in float32. Adjacent elements in k are multiplied in pairs; the
// last is one with a zero where k is odd.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/cpu_features.h"
#include "kernels/epilogue.h"
#include "kernels/gemm/gemm.h"
#include "tessera/numeric.h"
#include "tessera/provider/thread_pool.h"

namespace tessera::cpu {

struct GemmBf16Args {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  const BFloat16* a = nullptr;         // from RoundToPairs
  int64_t a_row = 0;                   // between rows, even; 0: PairedSize(k)
  const BFloat16* packed_b = nullptr;  // from PackGemmBf16
  int64_t packed_k = 0;                // rows of the whole packed matrix, when this GEMM reads some of them; 0: k
  float* c = nullptr;
  int64_t c_row = 0;
  float alpha = 1;
  bool accumulate = false;  // add to what C holds
  Epilogue<float> epilogue;
};

/// Whether the processor has the instructions, and this build kernels with them.
bool HasGemmBf16();
/// Whether they multiply faster than float32's.
inline bool GemmBf16Pays() { return HasGemmBf16() && HasFastAvx512Bf16(); }

/// Elements of `k` numbers in pairs.
constexpr int64_t PairedSize(int64_t k) { return k + k % 2; }

/// Rows of k numbers, one after the other, each as pairs.
void RoundToPairs(const float* rows, int64_t count, int64_t k, BFloat16* out);

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

void GemmBf16(ThreadPool& threads, const GemmBf16Args& args);

/// For one instruction set.
struct GemmBf16Kernels {
  bool available = false;
  int64_t width = 0;  // columns of a panel of B
  int64_t rows = 0;   // of a tile in registers
  /// Rows [m0, m1) and columns [n0, n1) of C; n0 is a multiple of the width.
  void (*multiply)(const GemmBf16Args& args, int64_t m0, int64_t m1, int64_t n0, int64_t n1) = nullptr;
};

/// Of the best instruction set here. Tests run those whose dot products are emulated.
GemmBf16Kernels KernelsBf16(bool emulated);
void GemmBf16By(const GemmBf16Kernels& kernels, ThreadPool& threads, const GemmBf16Args& args);

}  // namespace tessera::cpu
