#pragma once

// The last step of a transposed convolution: every output pixel gathers what the kernel positions contribute to it. Along a
// row, pixels `stride` apart (a phase) read contiguous elements at each kernel position.

#include <cstdint>

#include "base/rounding.h"
#include "kernels/elementwise/activation.h"

namespace tessera::cpu {

/// A kernel position along the last axis. Pixel j of the phase reads input column j - shift, for first <= j < last.
struct TransposedColumn {
  int64_t kernel;
  int64_t shift;
  int64_t first;
  int64_t last;
};

/// A kernel position and an input position along the other axes that meet in one output row.
struct TransposedMeeting {
  int64_t kernel_row;
  int64_t input_row;
};

/// What a row reads: elements columns[from + j], first <= j < last.
struct TransposedTap {
  int64_t from;
  int64_t first;
  int64_t last;
  int64_t weight;  // its place among a plane's
};

/// What all planes have in common.
struct TransposedGeometry {
  int64_t output_width;
  int64_t input_width;
  int64_t stride;
  int64_t kernel_width;
  int64_t phases;                     // of which pixels exist
  const int64_t* phase_starts;        // [phases + 1], in `columns`
  const TransposedColumn* columns;    // by phase
  const int64_t* row_starts;          // [output rows + 1], in `meetings`
  const TransposedMeeting* meetings;  // by output row
};

/// Phases whose taps are looked up together.
constexpr int64_t kTransposedPhases = 4;

/// Planes of some output channels, which meet the same taps. `columns` holds numbers by input channel and kernel position;
/// they are to be multiplied by `weights` unless that is null.
template <class T>
struct TransposedPlanes {
  const T* columns;
  int64_t channels;
  int64_t channel_step;  // in `columns`
  int64_t kernel_step;
  const T* weights;
  int64_t weight_step;  // from channel to channel
  int64_t count;
  int64_t columns_step, weights_step;  // from plane to plane
  const T* bias;                       // of each; null: none
  T* out;
  int64_t out_step;
  T* buffer;            // phases * TransposedPhaseSize() elements
  TransposedTap* taps;  // as many as can meet in kTransposedPhases phases of a row
  Activation<T> activation;
};

inline int64_t TransposedPhaseSize(const TransposedGeometry& geometry) {
  return CeilDiv(geometry.output_width, geometry.stride);
}

/// Output rows [begin, end) of all planes. T: float, double.
template <class T>
void ComputeTransposedRows(const TransposedGeometry& geometry, const TransposedPlanes<T>& planes, int64_t begin,
                           int64_t end);

template <>
void ComputeTransposedRows<float>(const TransposedGeometry&, const TransposedPlanes<float>&, int64_t, int64_t);
template <>
void ComputeTransposedRows<double>(const TransposedGeometry&, const TransposedPlanes<double>&, int64_t, int64_t);

}  // namespace tessera::cpu
