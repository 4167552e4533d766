#pragma once

// What reduces dimensions: short rows by a work item each, longer ones by a group, long ones in slices.

#include "opencl/ops/row_layout.h"

namespace tessera::opencl {

/// How elements become one, as OpenCL expressions.
struct Fold {
  std::string initial;
  std::string step;              // of `value` and `element`
  std::string join;              // of `value` and `other`, another value
  std::string finish = "value";  // of `value` and `count`
  bool shifted = false;          // `step` and `finish` are relative to the row's largest element, `shift`; `join` adds
};

/// The largest element; a NaN is the result where there is one.
inline Fold Maximum(std::string lowest) {
  return {.initial = std::move(lowest), .step = "MAX_OR_NAN(value, element)", .join = "MAX_OR_NAN(value, other)"};
}

class Reduction {
 public:
  Reduction(Device& device, ElementType type, const Fold& fold);
  /// Compiles what rows of so many elements need, or where that is not known, all but what long ones do: others are
  /// compiled when they come.
  void Expect(std::optional<int64_t> count);
  /// y, which lies row after row, of x.
  void Run(KernelContext& context, const Tensor& x, const Tensor& y, const RowLayout& rows);

 private:
  LazyLaunchable alone_, together_, slices_, join_;
  int64_t part_bytes_;
};

}  // namespace tessera::opencl
