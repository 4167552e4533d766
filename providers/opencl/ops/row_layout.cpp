#include "opencl/ops/row_layout.h"

namespace tessera::opencl {

RowLayout RowLayout::Lines(int64_t rows, int64_t count, int64_t stride) {
  RowLayout layout{.rows = rows, .count = count};
  layout.kept.rank = 2;
  layout.kept.dims = {rows / stride, stride};
  layout.kept.a = {count * stride, 1};
  layout.kept.Coalesce();
  layout.reduced.rank = 1;
  layout.reduced.dims = {count};
  layout.reduced.a = {stride};
  return layout;
}

RowLayout RowLayout::Reducing(const Shape& shape, const Shape& reduces) {
  Require(shape.rank() <= kMostDims, "{} dimensions; OpenCL kernels take at most {}", shape.rank(), kMostDims);
  RowLayout layout;
  const auto strides = RowMajor(shape);
  for (size_t i = 0; i < shape.rank(); ++i) {
    Strided& side = reduces[i] != 0 ? layout.reduced : layout.kept;
    side.dims[static_cast<size_t>(side.rank)] = shape[i];
    side.a[static_cast<size_t>(side.rank++)] = strides[i];
    (reduces[i] != 0 ? layout.count : layout.rows) *= shape[i];
  }
  layout.kept.Coalesce();
  layout.reduced.Coalesce();
  return layout;
}

}  // namespace tessera::opencl
