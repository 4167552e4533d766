#pragma once

// What Einsum and FusedMatMul share: sums of products of dimensions in any order.

#include <array>
#include <optional>
#include <span>

#include "opencl/gemm/panel_gemm.h"

namespace tessera::opencl {

/// y = alpha * the sum over dimensions that y lacks of a * b.
class Contraction {
 public:
  /// A dimension of the whole computation; strides of 0 where an operand does not have it.
  struct Dim {
    int64_t size = 1;
    cl_long a = 0, b = 0, y = 0;
    bool in_a = false, in_b = false, in_y = false;

    int group() const { return !in_y ? 3 : in_a && in_b ? 0 : in_a ? 1 : 2; }
  };

  explicit Contraction(const KernelInfo& info);
  void Run(KernelContext& context, const Tensor& a, const Tensor* b, const Tensor& y, std::span<const Dim> dims,
           float alpha);

 private:
  struct Groups;

  /// Whether it is a stack of matmuls, those of the result one after the other.
  static bool IsMatMul(const Groups& groups, const std::array<int64_t, 4>& sizes);
  void ByPanels(KernelContext& context, const Tensor& a, const Tensor& b, const Tensor& y, const Groups& groups,
                const std::array<int64_t, 4>& sizes, float alpha);

  Launchable kernel_, zero_;
  std::optional<PanelGemm> panels_;  // on processors
};

}  // namespace tessera::opencl
