#pragma once

// What MatMul and Gemm share.

#include <memory>
#include <optional>

#include "opencl/gemm/panel_gemm.h"
#include "opencl/gemm/split_k_gemm.h"
#include "opencl/gemm/tile_gemm.h"

namespace tessera::opencl {

struct GemmOperand {
  const Tensor* tensor;
  cl_int row, column;  // strides
};

/// A size or stride as kernels count it.
cl_int Counted(int64_t size);

/// C = alpha A B + beta bias for a batch of matmuls, the way that suits the device.
class GemmCall {
 public:
  GemmCall(const KernelInfo& info, TileGemm::Layout layout, const std::optional<TileGemm::Expected>& expected);

  const Epilogue& epilogue() const noexcept { return epilogue_; }

  /// `stacks` of A and B have `stack`'s strides; `stacks_b`: how many different B there are, all in a row.
  void operator()(KernelContext& context, int64_t m, int64_t n, int64_t k, GemmOperand a, GemmOperand b, GemmOperand bias,
                  float alpha, float beta, const Strided& stack, int64_t stacks, int64_t stacks_b, const Tensor& y,
                  std::span<const Tensor* const> epilogue);

 private:
  /// A constant B is needed in panels only.
  void PackConstant(const KernelInfo& info, bool along_k);

  const Epilogue epilogue_;
  SplitKGemm split_k_;
  std::optional<TileGemm> tiles_;
  std::optional<PanelGemm> panels_;
  std::shared_ptr<const ConstantBlock> packed_b_;
};

}  // namespace tessera::opencl
