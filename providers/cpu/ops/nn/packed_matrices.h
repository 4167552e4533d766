#pragma once

// Constant rhs of GEMMs, packed once and shared by every session of the process. Floats that need no
// more than 16 bits, as those do that a model stores so or was trained with, are kept in 16 bits: GEMMs of few rows,
// which are bound by reading the matrix, are twice as fast.

#include <memory>

#include "cpu/ops/nn/packed_weights.h"
#include "kernels/gemm/gemm.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Element types of panels of floats, the panels of such a type, and back.
inline constexpr ElementType kPanelElements[] = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16};
constexpr PanelType PanelTypeOf(ElementType element) {
  return element == ElementType::kFloat16    ? PanelType::kFloat16
         : element == ElementType::kBFloat16 ? PanelType::kBFloat16
                                             : PanelType::kWhole;
}
constexpr ElementType ElementOf(PanelType type) {
  return type == PanelType::kFloat16    ? ElementType::kFloat16
         : type == PanelType::kBFloat16 ? ElementType::kBFloat16
                                        : ElementType::kFloat;
}

/// Matrices of one size, one after the other.
class PackedMatrices {
 public:
  PackedMatrices() = default;
  explicit PackedMatrices(std::shared_ptr<const Tensor> panels)
      : PackedMatrices(panels, panels ? PanelTypeOf(panels->type()) : PanelType()) {}
  PackedMatrices(std::shared_ptr<const Tensor> panels, PanelType type) : panels_(std::move(panels)), type_(type) {}

  explicit operator bool() const { return panels_ != nullptr; }

  /// The i-th, for a GEMM.
  template <class C>
  GemmRhs<C> Rhs(int64_t i = 0) const {
    const auto element = static_cast<int64_t>(panels_->byte_size()) / panels_->num_elements();
    return {.packed = static_cast<const std::byte*>(panels_->raw()) + i * panels_->shape()[1] * element, .type = type_};
  }

 private:
  std::shared_ptr<const Tensor> panels_;  // [matrices, elements]
  PanelType type_{};
};

/// The narrowest panels that hold the numbers of matrices of float, float16 or bfloat16.
PanelType PanelTypeFor(ThreadPool& threads, const Tensor& matrices);

/// One matrix [k, n] (`transposed`: [n, k]) as panels of a type that holds its numbers. Elements may have any address.
template <class S>
void PackMatrix(ThreadPool& threads, int64_t k, int64_t n, const S* b, bool transposed, PanelType type, void* packed);
extern template void PackMatrix(ThreadPool&, int64_t, int64_t, const float*, bool, PanelType, void*);
extern template void PackMatrix(ThreadPool&, int64_t, int64_t, const Float16*, bool, PanelType, void*);
extern template void PackMatrix(ThreadPool&, int64_t, int64_t, const BFloat16*, bool, PanelType, void*);

/// Matrices [count, k, n] (`transposed`: [count, n, k]) of float, float16 or bfloat16 as panels of the narrowest type that
/// holds their numbers. Elements may have any address.
Tensor PackAsPanels(ThreadPool& threads, const Tensor& matrices, int64_t count, int64_t k, int64_t n, bool transposed);

/// The float, float16 or bfloat16 matrices [count, k, n] (`transposed`: [count, n, k]) of constant input `i`: bfloat16
/// where the node rounds its weights, pairs of it where it rounds both operands. None when the input is computed in the run
/// or is empty.
PackedMatrices PackFloatMatrices(const KernelInfo& info, size_t i, int64_t count, int64_t k, int64_t n, bool transposed);

/// The same for GEMMs computed in C: double matrices, and none of integers.
template <class C>
PackedMatrices PackMatrices(const KernelInfo& info, size_t i, int64_t count, int64_t k, int64_t n, bool transposed) {
  if constexpr (std::is_same_v<C, float>) {
    return PackFloatMatrices(info, i, count, k, n, transposed);
  } else {
    return PackedMatrices(PackConstantInput<C>(info, i, count, k, n, transposed));
  }
}

}  // namespace tessera::cpu
