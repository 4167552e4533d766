#include "opencl/ops/strided.h"

#include "base/rounding.h"

namespace tessera::opencl {

StridedKernel::StridedKernel(const KernelInfo& info)
    : by_rows_(!SettingsOf(info).tiles),
      copy_(DeviceOf(info), "strided", Moved('X', info.input_type(0)) + (by_rows_ ? Launchable::RowPieceDefines() : ""),
            by_rows_ ? "copy_rows" : "copy") {}

void StridedKernel::Copy(KernelContext& context, const Tensor& x, const Tensor& y, Strided block, int64_t from,
                         int64_t to) {
  cl_long count = 1;
  for (size_t i = 0; i < static_cast<size_t>(block.rank); ++i) count *= block.dims[i];
  block.Coalesce();
  if (by_rows_ && count > 0) return CopyRows(context, count, x, y, block, from, to);
  copy_.Linear(context, count, x, y, block, static_cast<cl_long>(from), static_cast<cl_long>(to));
}

void StridedKernel::CopyTransposed(KernelContext& context, const Tensor& x, const Shape& shape,
                                   std::span<const size_t> perm, const Tensor& y) {
  const auto strides = RowMajor(shape);
  Shape result(shape.rank());
  for (size_t i = 0; i < shape.rank(); ++i) result[i] = shape[perm[i]];
  Strided block = Block(result);
  for (size_t i = 0; i < shape.rank(); ++i) block.a[i] = strides[perm[i]];
  block.b = RowMajor(result);
  Copy(context, x, y, block);
}

void StridedKernel::CopyRows(KernelContext& context, int64_t count, const Tensor& x, const Tensor& y, const Strided& block,
                             int64_t from, int64_t to) {
  constexpr int64_t kStep = 16;
  const auto last = static_cast<size_t>(block.rank - 1);
  int64_t rows = count / block.dims[last];
  cl_int across = -1;
  for (size_t d = 0; d < last && block.a[last] != 1; ++d) {
    if (block.a[d] == 1 && block.dims[d] > 1) across = static_cast<cl_int>(d);
  }
  if (across >= 0) {
    const int64_t rows_here = block.dims[static_cast<size_t>(across)];
    rows = rows / rows_here * CeilDiv(rows_here, kStep);
  }
  copy_.Rows(context, block.dims[last], rows, x, y, block, static_cast<cl_long>(from), static_cast<cl_long>(to), across);
}

}  // namespace tessera::opencl
