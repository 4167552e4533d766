#include "product.h"

namespace tessera::opencl {
namespace {

/// Of what is computed in.
size_t ElementBytes(const KernelInfo& info) {
  return info.input_type(0) == ElementType::kDouble ? sizeof(cl_double) : sizeof(cl_float);
}

}  // namespace

PanelProduct::PanelProduct(const KernelInfo& info)
    : multiply_(DeviceOf(info), "product",
                Computed('X', info.input_type(0)) + EpilogueOf(info).defines +
                    fmt::format("#define ROWS {}\n#define LANES {}\n", kRows, 32 / ElementBytes(info)),
                "multiply"),
      pack_(DeviceOf(info), "product", Computed('X', info.input_type(0)), "pack_matrix"),
      element_bytes_(ElementBytes(info)) {}

void PanelProduct::Multiply(KernelContext& context, const PanelOperands& operands, const PanelProductShape& shape,
                            int64_t panels, const Strided& stack, int64_t stacks) {
  constexpr size_t kTogether = 4;  // blocks of rows in a group: enough to pay for starting one
  const auto blocks = static_cast<size_t>((shape.m + kRows - 1) / kRows);
  multiply_(context,
            {(blocks + kTogether - 1) / kTogether * kTogether, static_cast<size_t>(panels), static_cast<size_t>(stacks)},
            {kTogether, 1, 1}, operands.a, operands.b, operands.bias, operands.y, shape, stack, operands.epilogue);
}

void PanelProduct::Pack(KernelContext& context, const Tensor& b, BufferRange packed, int64_t k, int64_t n, cl_int row,
                        cl_int column, int64_t stacks) {
  pack_(context, {static_cast<size_t>(k), static_cast<size_t>(Panels(n)), static_cast<size_t>(stacks)}, {1, 1, 1}, b,
        packed, static_cast<cl_int>(k), static_cast<cl_int>(n), row, column, cl_long{k * n});
}

}  // namespace tessera::opencl
