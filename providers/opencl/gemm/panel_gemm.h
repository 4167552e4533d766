#pragma once

// Matmuls on devices that are processors (pocl): see panel_gemm.cl.

#include <memory>

#include "base/rounding.h"
#include "opencl/device/constants.h"
#include "opencl/device/kernel.h"
#include "tessera/provider/function_ref.h"

namespace tessera::opencl {

inline constexpr int64_t kPanel = 16;  // columns

/// The same struct stands in panel_gemm.cl. What is left out says that B is one packed matrix.
struct PanelGemmShape {
  cl_long b_panel, b_image = 0, y_image = 0;
  cl_int m, n, k, row_a = 0, col_a = 1, b_row = kPanel, b_column = 0;
  cl_int panels = 0;  // of an image: Multiply counts them
  cl_int first = 0, row_bias = 0, col_bias = 1;
  cl_int together = 1, across = 0;  // Multiply decides
  cl_float alpha = 1, beta = 1;
  cl_int padding = 0;

  /// B is no panels, but rows of so many elements.
  void SetRowsOfB(cl_int row) {
    b_panel = 0;
    b_row = row;
    b_column = 1;
  }
};

/// What an operand of a matmul points to.
struct PanelOperands {
  BufferRange a;
  BufferRange b;
  const Tensor* bias;
  BufferRange y;
  std::span<const Tensor* const> epilogue = {};
  std::span<const BufferRange> more = {};  // that results or panels are made with
};

/// Rows of A in a block.
inline constexpr int64_t kBlockRows = 6;

/// What panel_gemm.cl needs to know of the type of A, by default that of a node's first input.
std::string PanelDefines(ElementType type);
inline std::string PanelDefines(const KernelInfo& info) { return PanelDefines(info.input_type(0)); }
/// What block.cl needs, and its text.
std::string BlockDefines(ElementType type, std::string_view left, int64_t rows = kBlockRows);
inline std::string BlockDefines(const KernelInfo& info, std::string_view left) {
  return BlockDefines(info.input_type(0), left);
}

class PanelGemm {
 public:
  /// How A lies.
  enum class Left : int8_t { kStrided, kAlongK, kPacked };

  PanelGemm(const KernelInfo& info, Left left);
  /// The same with `results`, what becomes of the accumulators, in place of the node's epilogue.
  PanelGemm(const KernelInfo& info, Left left, const std::string& results);
  /// Of operands that the caller packs: `block` is BlockDefines() of their type, `results` what becomes of the
  /// accumulators.
  PanelGemm(const KernelInfo& info, ElementType type, const std::string& block, const std::string& results);

  /// Columns [first, first + panels) of every image's panels, for each entry of `stack` (a, b and c: A, B and bias).
  void Multiply(KernelContext& context, const PanelOperands& operands, PanelGemmShape shape, int64_t panels,
                const Strided& stack, int64_t stacks);
  /// A times the windows of `batch` images, group by group. pack(scratch, first, panels) makes so many panels of each group
  /// at a time as a scratch memory holds.
  void MultiplyWindows(KernelContext& context, PanelOperands operands, PanelGemmShape shape, int64_t batch, Strided stack,
                       int64_t groups, FunctionRef<void(BufferRange, cl_int, int64_t)> pack);
  /// B [stacks][k, n] with these strides to packed panels; without `stack`, one matrix follows the other.
  void Pack(KernelContext& context, const Tensor& b, BufferRange packed, int64_t k, int64_t n, cl_int row, cl_int column,
            int64_t stacks, std::optional<cl_long> stack = {});
  /// The same of a constant on the host, done on return. Null where there is nothing to pack.
  std::shared_ptr<const ConstantBlock> PackRight(const KernelInfo& info, const Tensor& b, int64_t k, int64_t n, cl_int row,
                                                 cl_int column, int64_t stacks);
  /// A constant A [stacks][m, k] on the host to blocks of rows, of which PackedRows() are in a stack. `steps`: from row to
  /// row and from column to column; by default those of rows along k.
  static std::shared_ptr<const ConstantBlock> PackLeft(const KernelInfo& info, const Tensor& a, int64_t m, int64_t k,
                                                       int64_t stacks, std::optional<std::array<int64_t, 2>> steps = {});
  /// Compiles what packs a B that is not constant.
  void PreparePack() { pack_.Compile(); }
  static int64_t PackedRows(int64_t m) { return RoundUp(m, kBlockRows); }
  /// Bytes of an element in a panel.
  size_t element_bytes() const noexcept { return element_bytes_; }

  static int64_t Panels(int64_t n) { return CeilDiv(n, kPanel); }
  /// Whether B may also be read where it stands (SetRowsOfB): what is computed in is what is stored.
  static bool ReadsInPlace(ElementType type) { return type == ElementType::kFloat || type == ElementType::kDouble; }

 private:
  Device& device_;
  Launchable multiply_;
  LazyLaunchable pack_;
  size_t element_bytes_;
};

}  // namespace tessera::opencl
