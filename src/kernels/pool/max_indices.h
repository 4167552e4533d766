#pragma once

// Maxima of windows over a plane and where they stand.

#include <cstdint>
#include <span>

namespace tessera::cpu {

struct MaxTaps {
  std::span<const int64_t> rows;     // of the input, under the outputs
  int64_t width;                     // of a row
  int64_t kernel, dilation, stride;  // along it
};

/// Maxima of `count` neighbouring outputs and their numbers in the plane; of equals the first wins. All taps are inside the
/// input, whose numbers are below 2^31; the first output's taps begin at `start` of each row. Returns how many outputs it
/// computed: all of them, or none where they are fewer than a vector has lanes or the stride is more than two.
int64_t MaximaWithIndices(const float* plane, const MaxTaps& taps, int64_t start, int64_t count, float* maxima,
                          int64_t* indices);

}  // namespace tessera::cpu
