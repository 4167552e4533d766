#include "opencl/ops/gemm_call.h"

#include <limits>

#include "base/checked.h"
#include "opencl/device/scratch.h"

namespace tessera::opencl {
namespace {

constexpr int64_t kMostInPlace = 192;  // rows of A, for which B is read once where it stands

}  // namespace

cl_int Counted(int64_t size) {
  Require(size <= std::numeric_limits<cl_int>::max(),
          "a matmul has a side of {}; kernels count to {}: split it, or leave the node to another provider", size,
          std::numeric_limits<cl_int>::max());
  return static_cast<cl_int>(size);
}

GemmCall::GemmCall(const KernelInfo& info, TileGemm::Layout layout, const std::optional<TileGemm::Expected>& expected)
    : epilogue_(EpilogueOf(info)), split_k_(info) {
  if (SettingsOf(info).tiles || !kReals.contains(info.input_type(0))) {
    tiles_.emplace(info, layout, expected);
  } else {
    panels_.emplace(info, layout.along_k_a ? PanelGemm::Left::kAlongK : PanelGemm::Left::kStrided);
    PackConstant(info, layout.along_k_b);
    if (packed_b_ == nullptr) panels_->PreparePack();
  }
}

void GemmCall::operator()(KernelContext& context, int64_t m, int64_t n, int64_t k, GemmOperand a, GemmOperand b,
                          GemmOperand bias, float alpha, float beta, const Strided& stack, int64_t stacks, int64_t stacks_b,
                          const Tensor& y, std::span<const Tensor* const> epilogue) {
  if (y.num_elements() == 0) return;
  const auto mm = Counted(m), nn = Counted(n), kk = Counted(k);
  if (packed_b_ == nullptr && SplitKGemm::Pays(m, n, k, stacks)) {
    const SplitKShape shape{
        .m = mm, .n = nn, .k = kk, .row_a = a.row, .col_a = a.column, .row_b = b.row, .col_b = b.column};
    const SplitKBias added{bias.tensor, bias.row, bias.column, alpha, beta};
    return split_k_.Multiply(context, *a.tensor, *b.tensor, added, y, epilogue, shape, stack, stacks);
  }
  if (tiles_) {
    const TileGemmShape shape{mm, nn, kk, a.row, a.column, b.row, b.column, bias.row, bias.column, alpha, beta};
    return tiles_->Multiply(context, {RangeOf(*a.tensor), RangeOf(*b.tensor), bias.tensor, RangeOf(y), epilogue}, shape,
                            stack, stacks);
  }
  const int64_t panels = PanelGemm::Panels(n), packed = CheckedMul(CheckedMul(panels, kPanel), k);
  Strided packed_stack = stack;
  for (cl_long& stride : packed_stack.b) stride = k == 0 ? 0 : stride / (k * n) * packed;
  PanelGemmShape shape{.b_panel = k * kPanel,
                       .m = mm,
                       .n = nn,
                       .k = kk,
                       .row_a = a.row,
                       .col_a = a.column,
                       .row_bias = bias.row,
                       .col_bias = bias.column,
                       .alpha = alpha,
                       .beta = beta};
  const BufferRange left = DeviceAllocator::Find(a.tensor->raw());
  if (packed_b_ != nullptr) {
    return panels_->Multiply(context, {left, packed_b_->range(), bias.tensor, RangeOf(y), epilogue}, shape, panels,
                             packed_stack, stacks);
  }
  if (b.column == 1 && m <= kMostInPlace && PanelGemm::ReadsInPlace(b.tensor->type())) {
    shape.SetRowsOfB(b.row);
    return panels_->Multiply(context, {left, RangeOf(*b.tensor), bias.tensor, RangeOf(y), epilogue}, shape, panels, stack,
                             stacks);
  }
  const auto bytes =
      static_cast<size_t>(CheckedMul(CheckedMul(packed, stacks_b), static_cast<int64_t>(panels_->element_bytes())));
  const DeviceScratch scratch(context, bytes);
  if (bytes > 0) panels_->Pack(context, *b.tensor, scratch.range(), k, n, b.row, b.column, stacks_b);
  panels_->Multiply(context, {left, scratch.range(), bias.tensor, RangeOf(y), epilogue}, shape, panels, packed_stack,
                    stacks);
}

void GemmCall::PackConstant(const KernelInfo& info, bool along_k) {
  const Tensor* b = info.constant_input(1);
  if (b == nullptr || b->shape().rank() == 0 || b->num_elements() == 0) return;
  const Shape shape = b->shape().rank() == 1 ? Shape{b->shape()[0], 1} : b->shape();
  const int64_t rows = shape[shape.rank() - 2], columns = shape.back(), k = along_k ? columns : rows,
                n = along_k ? rows : columns;
  if (SplitKGemm::Pays(1, n, k, 1)) return;  // A will have few rows, too: so many weights are none of a network's
  const auto kk = Counted(k), nn = Counted(n);
  packed_b_ =
      panels_->PackRight(info, *b, k, n, along_k ? 1 : nn, along_k ? kk : 1, shape.SizeOfRange(0, shape.rank() - 2));
  info.ReleaseConstant(1);
}

}  // namespace tessera::opencl
