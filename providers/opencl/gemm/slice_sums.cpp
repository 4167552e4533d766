#include "opencl/gemm/slice_sums.h"

#include "base/checked.h"

namespace tessera::opencl {
namespace {

/// Of what a matmul of this type is summed in.
int64_t SumBytes(ElementType type) {
  if (type == ElementType::kFloat16 || type == ElementType::kBFloat16) return sizeof(cl_float);
  return BitWidth(type) / 8;
}

}  // namespace

SliceSums::SliceSums(Device& device, ElementType type, const Epilogue& epilogue)
    : sum_bytes_(SumBytes(type)), join_(device, "slice_sums", Computed('X', type) + epilogue.defines, "add_slices") {}

size_t SliceSums::Bytes(int64_t sums) const { return static_cast<size_t>(CheckedMul(sums, sum_bytes_)); }

void SliceSums::Join(KernelContext& context, BufferRange sums, const Tensor* bias, const Tensor& y,
                     const SliceSumsShape& shape, int64_t stacks, std::span<const Tensor* const> epilogue) {
  join_.Compile().Grid(context, shape.results, stacks, 1, sums, bias, y, shape, epilogue);
}

}  // namespace tessera::opencl
