#pragma once

// What Pad and CenterCropPad share: the kernel of pad.cl, by elements or by rows.

#include "opencl/device/kernel.h"

namespace tessera::opencl {

class PadKernel {
 public:
  explicit PadKernel(const KernelInfo& info)
      : by_rows_(!SettingsOf(info).tiles),
        kernel_(DeviceOf(info), "pad", Moved('X', info.input_type(0)) + (by_rows_ ? Launchable::RowPieceDefines() : ""),
                by_rows_ ? "pad_rows" : "pad") {}

  void operator()(KernelContext& context, const BufferRange& x, const Tensor& y, const Strided& s, cl_int mode,
                  cl_ulong bits) {
    if (!by_rows_) return kernel_.Linear(context, y.num_elements(), x, y, s, mode, bits);
    Strided rows = s;
    if (rows.rank == 0) rows.dims[0] = rows.b[0] = rows.rank = 1;  // a scalar
    const int64_t size = rows.dims[static_cast<size_t>(rows.rank - 1)];
    if (y.num_elements() > 0) kernel_.Rows(context, size, y.num_elements() / size, x, y, rows, mode, bits);
  }

 private:
  const bool by_rows_;  // on processors
  Launchable kernel_;
};

}  // namespace tessera::opencl
