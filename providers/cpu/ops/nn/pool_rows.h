#pragma once

// The rows of output of a pooling, and the input rows under their windows.

#include <algorithm>
#include <span>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "ops/nn/window.h"
#include "tessera/provider/function_ref.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// The kernel positions k of output position `o` along an axis that fall inside the input: [first, last).
struct KernelRange {
  int64_t first;
  int64_t last;
};
inline KernelRange InsideInput(const Window& window, size_t axis, int64_t o) {
  const int64_t start = o * window.strides[axis] - window.begin[axis];
  const int64_t dilation = window.dilations[axis];
  const int64_t first = start >= 0 ? 0 : CeilDiv(-start, dilation);
  const int64_t remaining = window.input[axis] - start;
  const int64_t last = remaining <= 0 ? 0 : std::min(window.kernel[axis], CeilDiv(remaining, dilation));
  return {std::min(first, last), last};
}

/// One row of output: where it is and which input rows it reads.
struct PoolRowPosition {
  int64_t plane;
  int64_t output_row;              // within the plane
  std::span<const int64_t> index;  // along the spatial axes but the last
  std::span<const int64_t> rows;   // input rows, within the plane
};

/// Calls `visit(row, part)` for every output row; parts run in parallel, `part` < `parts`.
class PoolRows {
 public:
  PoolRows(KernelContext& context, const Window& window, int64_t planes)
      : context_(context), window_(window), planes_(planes) {
    outer_ = window.rank() - 1;
    for (size_t i = 0; i < outer_; ++i) {
      output_rows_ = CheckedMul(output_rows_, window.output[i]);
      most_rows_ = CheckedMul(most_rows_, std::min(window.kernel[i], window.input[i]));
    }
    items_ = CheckedMul(planes_, output_rows_);
    parts_ = std::clamp<int64_t>(4 * context.threads().num_threads(), 1, std::max<int64_t>(items_, 1));
    if (context.threads().num_threads() == 1) parts_ = 1;
    rows_ = context.scratch<int64_t>(static_cast<size_t>(CheckedMul(std::max<int64_t>(most_rows_, 1), parts_)));
  }

  int64_t parts() const { return parts_; }
  int64_t most_rows() const { return std::max<int64_t>(most_rows_, 1); }
  int64_t output_rows() const { return output_rows_; }

  void ForEach(FunctionRef<void(const PoolRowPosition&, int64_t part)> visit) {
    if (items_ == 0) return;
    const double row_cost = 20 + static_cast<double>(window_.input[outer_] * std::max<int64_t>(most_rows_, 1)) * 0.2 +
                            static_cast<double>(window_.output[outer_] * window_.kernel[outer_]) * 0.3;
    const double cost = row_cost * static_cast<double>(items_) / static_cast<double>(parts_);
    context_.threads().ParallelFor(parts_, cost, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) RunPart(part, visit);
    });
  }

 private:
  void RunPart(int64_t part, FunctionRef<void(const PoolRowPosition&, int64_t part)> visit) {
    const int64_t first = Bound(part);
    const int64_t last = Bound(part + 1);
    int64_t* rows = rows_.data() + part * most_rows();
    Shape index(outer_);
    for (int64_t item = first; item < last; ++item) {
      int64_t rest = item % output_rows_;
      for (size_t i = outer_; i-- > 0;) {
        index[i] = rest % window_.output[i];
        rest /= window_.output[i];
      }
      const int64_t count = FindRows(index, rows);
      CancellationPoint();
      visit({item / output_rows_, item % output_rows_, index.dims(), {rows, static_cast<size_t>(count)}}, part);
    }
  }

  int64_t Bound(int64_t part) const { return items_ / parts_ * part + std::min(part, items_ % parts_); }

  int64_t FindRows(const Shape& index, int64_t* rows) const {
    rows[0] = 0;
    int64_t count = 1;
    // Each axis turns every row so far into one per kernel position inside the input, last ones first so that it works in
    // place.
    for (size_t i = 0; i < outer_; ++i) {
      const KernelRange range = InsideInput(window_, i, index[i]);
      const int64_t start = index[i] * window_.strides[i] - window_.begin[i];
      const int64_t width = range.last - range.first;
      for (int64_t r = count; r-- > 0;) {
        const int64_t row = rows[r] * window_.input[i] + start;
        for (int64_t k = width; k-- > 0;) rows[r * width + k] = row + (range.first + k) * window_.dilations[i];
      }
      count *= width;
    }
    return count;
  }

  KernelContext& context_;
  const Window& window_;
  int64_t planes_;
  size_t outer_ = 0;
  int64_t output_rows_ = 1;
  int64_t most_rows_ = 1;
  int64_t items_ = 0;
  int64_t parts_ = 1;
  std::span<int64_t> rows_;
};

}  // namespace tessera::cpu
