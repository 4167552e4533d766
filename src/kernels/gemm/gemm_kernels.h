#pragma once

// What the files of micro-kernels offer to those that split GEMMs among threads, and to tests and benchmarks.

#include <span>
#include <type_traits>

#include "kernels/gemm/gemm.h"

namespace tessera::cpu {

/// A row of kernels.inc, for one instruction set.
template <class T>
struct GemmKernel {
  const char* name;
  PanelType panels;
  int64_t rows, columns;  // of a tile; panels are as wide
  int64_t unroll;         // steps in k
  bool available;         // on this processor
  bool emulated;          // for tests
  /// Rows [m0, m1) and columns [n0, n1) of C; n0 is a multiple of the panels' width. Null where the instruction set has
  /// none.
  void (*multiply)(const GemmProblem<T>& args, int64_t m0, int64_t m1, int64_t n0, int64_t n1);
};

template <class T>
using GemmKernelRows = std::span<const GemmKernel<T>>;

/// The first that multiplies panels of the type here, null: none.
template <class T>
const GemmKernel<T>* FindGemmKernel(GemmKernelRows<T> rows, PanelType panels) {
  for (const GemmKernel<T>& row : rows) {
    if (row.panels == panels && row.available && !row.emulated) return &row;
  }
  return nullptr;
}

/// Of GEMMs of float and double.
template <class T>
struct GemmKernels {
  int64_t panel_width;     // columns of a panel of B
  int64_t row_block;       // rows of a register tile
  int64_t packed_columns;  // of B that a tile packs at a time, where B is not packed
  int64_t copied_rows;     // of A that a tile copies at a time; it reads B once for each time
  double copy_cost;        // time to copy an element of A, relative to that of a multiply-add
  double read_cost;        // and to read one of B
  GemmKernelRows<T> rows;
  /// One panel: rows [0, k) of columns [0, width); columns up to the panel width become zero.
  void (*pack)(const T* b, int64_t b_k, int64_t b_col, int64_t k, int64_t width, T* out);
  /// NarrowGemmPanel, of floats; null where there are no panels of the type.
  void (*to_float16)(const T* panel, int64_t rows, uint16_t* out);
  void (*to_bfloat16)(const T* panel, int64_t rows, uint16_t* out);
  /// out[i * out_stride] = epilogue(alpha * dot(x, b + i * b_col)), i in [n0, n1): contiguous k.
  void (*dots)(const GemmProblem<T>& args, int64_t n0, int64_t n1);
  /// One row times row-major B, columns [n0, n1).
  void (*row_times_matrix)(const GemmProblem<T>& args, int64_t n0, int64_t n1);
};

struct GemmChoice;

/// Gemm, by a choice that may be another than ChooseGemm's; `workspace` where it packs B.
template <class T>
void RunGemm(ThreadPool& threads, const GemmProblem<T>& args, const GemmChoice& choice, T* workspace);
extern template void RunGemm<float>(ThreadPool&, const GemmProblem<float>&, const GemmChoice&, float*);
extern template void RunGemm<double>(ThreadPool&, const GemmProblem<double>&, const GemmChoice&, double*);

// Of the best instruction set here.
const GemmKernels<float>& GemmKernelsF32();
const GemmKernels<double>& GemmKernelsF64();
template <class T>
const GemmKernels<T>& GemmKernelsOf() {
  if constexpr (std::is_same_v<T, float>) {
    return GemmKernelsF32();
  } else {
    return GemmKernelsF64();
  }
}
GemmKernelRows<float> GemmKernelsBf16();  // of pairs
GemmKernelRows<int32_t> GemmKernelsInt32();

}  // namespace tessera::cpu
