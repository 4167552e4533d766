#pragma once

// Matmuls with few results over a long k: slices of k are summed apart, then their sums are added: see slice_sums.cl.

#include "opencl/device/kernel.h"

namespace tessera::opencl {

/// Sum s of result i, of all matmuls, is at i * result_step + s * slice_step. The same struct stands in slice_sums.cl.
struct SliceSumsShape {
  cl_long results = 0, result_step = 1, slice_step = 1;  // of a matmul
  cl_int n = 0, slices = 0, row_bias = 0, col_bias = 0;
  cl_float alpha = 1, beta = 1;
};

class SliceSums {
 public:
  /// Of matmuls of this type.
  SliceSums(Device& device, ElementType type, const Epilogue& epilogue);

  /// Bytes of so many sums.
  size_t Bytes(int64_t sums) const;
  /// Adds the sums of `stacks` matmuls, whose results follow one another.
  void Join(KernelContext& context, BufferRange sums, const Tensor* bias, const Tensor& y, const SliceSumsShape& shape,
            int64_t stacks, std::span<const Tensor* const> epilogue);

 private:
  const int64_t sum_bytes_;
  LazyLaunchable join_;
};

}  // namespace tessera::opencl
