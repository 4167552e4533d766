#pragma once

// Average pooling of one channel of a region: two small GEMMs.

#include <cstdint>

namespace tessera::cpu {

/// Bin b reads positions first[b] .. first[b] + count[b] - 1 with weights[b * stride ...].
template <class F>
struct RoiAxis {
  int32_t* first;
  int32_t* count;
  F* weights;
  int64_t stride;
  int64_t bins;
};

/// out[y, x] = sum over rows and columns of the bins' weights times plane[row, column]. `blended` holds one row of the
/// plane.
template <class F>
void RoiAverage(const F* plane, int64_t width, const RoiAxis<F>& rows, const RoiAxis<F>& columns, F* blended, F* out);

}  // namespace tessera::cpu
