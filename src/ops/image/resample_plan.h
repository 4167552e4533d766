#pragma once

// Separable resampling, what Resize and Upsample share. A plan holds, for each resized axis, which source positions an
// output position reads and with which weights; it depends only on shapes and attributes and is reused from run to run.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/image/resize.h"
#include "tessera/provider/function_ref.h"
#include "tessera/provider/kernel.h"

namespace tessera {

/// What happens along one axis.
struct AxisRequest {
  int64_t out = 0;
  double scale = 1;
  bool by_scale = false;  // `out` is what the scale gives, not the other way round
  double scale_error =
      1e-9;  // relative: what rounding may have added to `scale` and to positions that are computed with it
  double roi_start = 0;
  double roi_end = 1;
};

/// Output position o reads source positions first[o] .. first[o] + taps - 1, all inside the axis.
struct AxisTable {
  int64_t in = 0;
  int64_t out = 0;
  int64_t taps = 1;
  std::vector<int32_t> first;
  std::vector<double> weights;     // [out, taps]; empty for nearest
  std::vector<float> weights_f32;  // the same, rounded
  std::vector<int32_t> partial;    // output positions some of whose weights are zero, as floats
  std::vector<uint8_t> outside;    // 1: the extrapolation value; empty: never
  MemoryCharge charge;             // of all these
};

/// Throws Error where `memory` has none left for the table.
AxisTable MakeAxisTable(const ResampleOptions& options, int64_t in, const AxisRequest& request, Allocator& memory);

/// A shape with neighbouring untouched axes merged; `table` is null for those.
struct ResampleDim {
  int64_t in = 1;
  int64_t out = 1;
  const AxisTable* table = nullptr;
};

struct ResamplePlan {
  ResampleOptions options;
  Shape out_shape;
  std::vector<std::unique_ptr<AxisTable>> tables;
  std::vector<ResampleDim> dims;
  bool identity = false;
  bool empty = false;
};

/// `requests` has one entry per axis of `in_shape`. `reserve` is told the output's shape before there are tables as long as
/// its axes: it throws where there is no memory for that. The tables count against `memory`.
std::unique_ptr<ResamplePlan> MakeResamplePlan(const ResampleOptions& options, const Shape& in_shape,
                                               std::span<const AxisRequest> requests,
                                               FunctionRef<void(const Shape&)> reserve, Allocator& memory);

}  // namespace tessera
