#pragma once

#include "opencl/ops/long_rows.h"

namespace tessera::opencl {

/// What operators are made of that standardize rows; see normalization.cl.
class Standardize : public Kernel {
 public:
  /// `center`: the mean is taken off, and a third input added.
  Standardize(const KernelInfo& info, float epsilon, bool center);

 protected:
  /// Rows of `size` elements; which element of scale and bias theirs meet: see RowParameters.
  struct Rows {
    int64_t size, period, step, inner;
  };
  void Launch(KernelContext& context, const Rows& rows, const Tensor& y, const Tensor* mean = nullptr,
              const Tensor* inverse = nullptr);

 private:
  const Settings& settings_;
  Launchable kernel_;
  LongRows long_rows_;
  float epsilon_;
  cl_int center_;
};

}  // namespace tessera::opencl
