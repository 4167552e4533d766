#pragma once

// Convolution as a GEMM without the im2col matrix: the input is laid out once so that every kernel position is one
// offset and every row of output pixels is contiguous; panels of the GEMM are then copied from it as they are needed.

#include <cstdint>
#include <span>

#include "kernels/elementwise/activation.h"

namespace tessera::cpu {

struct ConvSegment {
  int64_t from;    // in a channel, without the kernel's offset
  int64_t to;      // column of the panel
  int64_t length;  // pixels
};

/// Copies `segments` of each of `kc` rows; row p starts at base + offsets[p]. Reads up to a vector past each segment unless
/// `exact`.
template <class T>
void CopyConvPanel(const T* base, const int64_t* offsets, int64_t kc, std::span<const ConvSegment> segments, int64_t width,
                   bool exact, T* out);

/// One plane of a depthwise convolution. `rows[i]` is the channel's offset of output row i.
template <class T>
struct DepthwisePlane {
  const T* channel;
  const int64_t* rows;
  int64_t row_count;
  int64_t output_width;
  const int64_t* kernel_offsets;
  const T* weights;
  int64_t kernel_size;
  T bias;
  Activation<T> activation;
  T* out;
};
template <class T>
void ComputeDepthwisePlane(const DepthwisePlane<T>& plane);

/// out[i] = in[i * stride], i < count.
template <class T>
void CopyStrided(const T* in, int64_t stride, int64_t count, T* out);

#define TESSERA_DECLARE(T)                                                                                   \
  template <>                                                                                                \
  void CopyConvPanel<T>(const T*, const int64_t*, int64_t, std::span<const ConvSegment>, int64_t, bool, T*); \
  template <>                                                                                                \
  void ComputeDepthwisePlane<T>(const DepthwisePlane<T>&);                                                   \
  template <>                                                                                                \
  void CopyStrided<T>(const T*, int64_t, int64_t, T*);
TESSERA_DECLARE(float)
TESSERA_DECLARE(double)
#undef TESSERA_DECLARE

}  // namespace tessera::cpu
