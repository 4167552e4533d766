#pragma once

// GEMM with few results of very long rows and columns: see split_k_gemm.cl.

#include "opencl/device/kernel.h"
#include "opencl/gemm/slice_sums.h"

namespace tessera::opencl {

/// The same struct stands in split_k_gemm.cl.
struct SplitKShape {
  cl_int m = 0, n = 0, k = 0, row_a = 0, col_a = 0, row_b = 0, col_b = 0;
  cl_int slices = 0, slice = 0, step = 0;  // Multiply decides
};

/// What is added to the products: beta * bias, to alpha * A B.
struct SplitKBias {
  const Tensor* bias = nullptr;
  cl_int row = 0, column = 0;  // its strides
  cl_float alpha = 1, beta = 1;
};

/// Other matmuls share k among no two work items (panels) or a group of them (tiles): one row times one column would be
/// one item's work, and could not be stopped. These add slices of k apart and then their sums.
class SplitKGemm {
 public:
  explicit SplitKGemm(const KernelInfo& info);

  /// Whether m x n results in each of `stacks` matmuls over k are few and long enough.
  static bool Pays(int64_t m, int64_t n, int64_t k, int64_t stacks) noexcept;

  /// `stack`: from matmul to matmul of A, B; Y's follow one another.
  void Multiply(KernelContext& context, const Tensor& a, const Tensor& b, const SplitKBias& bias, const Tensor& y,
                std::span<const Tensor* const> epilogue, SplitKShape shape, const Strided& stack, int64_t stacks);

 private:
  const bool strided_slices_;  // neighbouring items read neighbouring elements, as GPUs like it
  LazyLaunchable sum_;
  SliceSums slices_;
};

}  // namespace tessera::opencl
