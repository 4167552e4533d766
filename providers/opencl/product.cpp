#include "product.h"

#include "base/checked.h"

namespace tessera::opencl {
namespace {

/// Of what is computed in.
size_t ElementBytes(const KernelInfo& info) {
  return info.input_type(0) == ElementType::kDouble ? sizeof(cl_double) : sizeof(cl_float);
}

}  // namespace

std::string PanelDefines(const KernelInfo& info) {
  return Computed('X', info.input_type(0)) + fmt::format("#define BYTES {}\n", BitWidth(info.input_type(0)) / 8);
}

namespace {

const char* Name(PanelProduct::Left left) {
  switch (left) {
    case PanelProduct::Left::kAlongK:
      return "#define ALONG_K_A\n";
    case PanelProduct::Left::kPacked:
      return "#define PACKED_A\n";
    case PanelProduct::Left::kStrided:
      break;
  }
  return "";
}

}  // namespace

PanelProduct::PanelProduct(const KernelInfo& info, Left left)
    : multiply_(DeviceOf(info), "product",
                PanelDefines(info) + EpilogueOf(info).defines + Name(left) +
                    fmt::format("#define ROWS {}\n#define LANES {}\n", kRows, 32 / ElementBytes(info)),
                "multiply"),
      pack_(DeviceOf(info), "product", PanelDefines(info), "pack_matrix"),
      element_bytes_(ElementBytes(info)) {}

std::unique_ptr<PackedConstant> PanelProduct::PackRight(const KernelInfo& info, const Tensor& b, int64_t k, int64_t n, cl_int row,
                                                        cl_int column, int64_t stacks) {
  const int64_t elements = CheckedMul(CheckedMul(CheckedMul(Panels(n), kPanel), k), stacks);
  if (elements == 0) return nullptr;
  auto packed = std::make_unique<PackedConstant>(ConstantsOf(info), static_cast<size_t>(elements) * element_bytes_);
  const Buffer from = DeviceOf(info).ViewOf(b.raw(), b.byte_size());
  const std::array<size_t, 3> global = {static_cast<size_t>(k), static_cast<size_t>(Panels(n)), static_cast<size_t>(stacks)};
  pack_.Compile().On(QueueOf(info), global, {1, 1, 1}, BufferRange{from.get(), 0}, packed->range(), static_cast<cl_int>(k),
                     static_cast<cl_int>(n), row, column, cl_long{k * n});
  Check(clFinish(QueueOf(info)), "clFinish");
  return packed;
}

std::unique_ptr<PackedConstant> PanelProduct::PackLeft(const KernelInfo& info, const Tensor& a, int64_t m, int64_t k, int64_t stacks) {
  const int64_t elements = CheckedMul(CheckedMul(PackedRows(m), k), stacks);
  if (elements == 0) return nullptr;
  auto packed = std::make_unique<PackedConstant>(ConstantsOf(info), static_cast<size_t>(elements) * ElementBytes(info));
  const Buffer from = DeviceOf(info).ViewOf(a.raw(), a.byte_size());
  Launchable pack(DeviceOf(info), "product", PanelDefines(info) + fmt::format("#define ROWS {}\n", kRows), "pack_rows");
  const std::array<size_t, 3> global = {static_cast<size_t>(k), static_cast<size_t>(PackedRows(m) / kRows), static_cast<size_t>(stacks)};
  pack.On(QueueOf(info), global, {1, 1, 1}, BufferRange{from.get(), 0}, packed->range(), static_cast<cl_int>(m), static_cast<cl_int>(k),
          cl_long{m * k});
  Check(clFinish(QueueOf(info)), "clFinish");
  return packed;
}

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
  pack_.Compile()(context, {static_cast<size_t>(k), static_cast<size_t>(Panels(n)), static_cast<size_t>(stacks)}, {1, 1, 1}, b,
        packed, static_cast<cl_int>(k), static_cast<cl_int>(n), row, column, cl_long{k * n});
}

}  // namespace tessera::opencl
