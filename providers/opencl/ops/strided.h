#pragma once

// What operators are made of that are one strided copy, or one for each input or output.

#include <span>

#include "opencl/device/kernel.h"

namespace tessera::opencl {

class StridedKernel : public Kernel {
 public:
  explicit StridedKernel(const KernelInfo& info);

 protected:
  /// Elements of `block`: that of x at `from` and strides a becomes that of y at `to` and strides b.
  void Copy(KernelContext& context, const Tensor& x, const Tensor& y, Strided block, int64_t from = 0, int64_t to = 0);
  /// y = x, seen as `shape`, with its dimensions in the order of `perm`.
  void CopyTransposed(KernelContext& context, const Tensor& x, const Shape& shape, std::span<const size_t> perm,
                      const Tensor& y);

 private:
  void CopyRows(KernelContext& context, int64_t count, const Tensor& x, const Tensor& y, const Strided& block, int64_t from,
                int64_t to);

  const bool by_rows_;  // on processors
  Launchable copy_;
};

}  // namespace tessera::opencl
