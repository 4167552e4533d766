#pragma once

// Rows so long that several groups of work items share one: normalizations, softmax.

#include "opencl/device/scratch.h"
#include "opencl/ops/row_layout.h"

namespace tessera::opencl {

/// How a row that has been standardized is scaled: element i of row r by parameter (r % period) * step + i / inner.
struct RowParameters {
  const Tensor *scale = nullptr, *bias = nullptr;
  int64_t period = 1, step = 0, inner = 1;
};

class LongRows {
 public:
  struct Types {
    ElementType x, scale, y, statistics;
  };
  LongRows(Device& device, const Types& types);

  /// Whether to divide rows pays: on GPUs, where a group has a row otherwise, sooner than where an item of a processor has.
  static bool Pay(const Settings& settings, int64_t count) {
    constexpr int64_t kLongForProcessors = int64_t{1} << 22;
    return settings.tiles ? RowSlices::Pay(count) : count >= kLongForProcessors;
  }

  struct Standardization {
    bool centers = true;
    cl_float epsilon = 0, term = 0;  // the deviation is sqrt(variance + epsilon) + term
    RowParameters parameters;
    const Tensor *mean = nullptr, *inverse = nullptr;  // results, where somebody wants them
  };
  void Standardize(KernelContext& context, BufferRange x, const Tensor& y, const RowLayout& rows,
                   const Standardization& how);
  void Softmax(KernelContext& context, const Tensor& x, const Tensor& y, const RowLayout& rows, bool logarithm);

 private:
  /// `kernel` over all slices; what it is given comes before the rows' indices, `more` after them.
  template <class... More>
  void Launch(LazyLaunchable& kernel, KernelContext& context, const RowLayout& rows, auto given, const More&... more);

  LazyLaunchable sums_, standardize_, softmax_parts_, softmax_;
  int64_t sum_bytes_;
};

}  // namespace tessera::opencl
