#pragma once

// Which kernel and input positions of a ConvTranspose meet in which output pixels.

#include <algorithm>

#include "kernels/conv/nchw/conv_transpose.h"
#include "ops/nn/window.h"
#include "tessera/provider/kernel.h"

namespace tessera::cpu {

/// Tables of which kernel and input positions meet in which output pixels.
class TransposedTables {
 public:
  TransposedTables(KernelContext& context, const Window& window);

  const TransposedGeometry& geometry() const { return geometry_; }
  int64_t output_rows() const { return output_rows_; }
  /// Taps that may meet in one phase of a row, for one input channel.
  int64_t most_taps() const { return std::max<int64_t>(most_meetings_ * most_columns_, 1); }

 private:
  void FindColumns();
  /// The output row where a kernel row and an input row meet; -1 outside.
  int64_t MeetingRow(const Shape& kernel, const Shape& input) const;
  void FindMeetings();

  KernelContext& context_;
  const Window& window_;
  size_t last_;
  TransposedGeometry geometry_{};
  int64_t output_rows_ = 1;
  int64_t most_meetings_ = 0;
  int64_t most_columns_ = 0;
};

}  // namespace tessera::cpu
