#pragma once

// Inner loop of GridSample: one channel at many sampling points.

#include <cstdint>

namespace tessera::cpu {

/// What each of `points` sampling points reads: `rows` runs of `taps` neighbouring elements.
template <class F>
struct SampleTable {
  int64_t points;
  int64_t rows;
  int64_t taps;
  const int32_t* offsets;  // [points, rows], into a channel
  const F* row_weights;    // [points, rows]
  const F* tap_weights;    // [points, taps]
};

/// out[p] = sum over rows and taps of both weights times channel[offset + tap].
template <class F>
void SampleChannel(const SampleTable<F>& table, const F* channel, F* out);

}  // namespace tessera::cpu
