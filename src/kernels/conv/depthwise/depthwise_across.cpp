// Depthwise convolution with a plane in each lane: planes are transposed to one vector a pixel, convolved, and transposed
// back.

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/depthwise/depthwise_across.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "base/work_array.h"
#include "kernels/conv/depthwise/depthwise_across.h"
#include "kernels/conv/depthwise/plane_lanes-inl.h"
#include "kernels/elementwise/activate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kLanes = kPlaneLanes;
using D = PlaneTag;
using V = hn::Vec<D>;

constexpr int64_t kBandPixels = 640;    // of padded input
constexpr int64_t kOutputPixels = 256;  // of a band: together about what the first cache holds
constexpr int64_t kMostTaps = 25;
constexpr int64_t kFewestPlanes = kLanes / 2;  // of a group
constexpr int kWidestTile = 8;
constexpr int64_t kSlack = 2 * kWidestTile + 4;  // pixels read past a row narrower than a tile

/// The layout of the rows of a band, a vector for each pixel.
struct Band {
  int64_t columns;      // of a padded row
  int64_t output_rows;  // 0: not even one fits
  int64_t rows;
};

Band LayOut(const DepthwiseShape& shape) {
  const int64_t columns = std::max(shape.pad_left + shape.width, (shape.output_width - 1) * shape.stride + shape.kernel);
  const int64_t most_rows = kBandPixels / columns;
  int64_t output_rows = most_rows < shape.kernel ? 0 : (most_rows - shape.kernel) / shape.stride + 1;
  output_rows = std::min({output_rows, kOutputPixels / shape.output_width, shape.output_height});
  return {columns, output_rows, (output_rows - 1) * shape.stride + shape.kernel};
}

/// Up to kLanes planes, each with its weights.
struct Group {
  const float* planes[kLanes];
  const float* weights[kLanes];
  float* outputs[kLanes];
  HWY_ALIGN float taps[kMostTaps * kLanes];
  HWY_ALIGN float bias[kLanes];
  int64_t count;
};

/// One row of output pixels. `band`: the first row that it reads. P at a time, the last of them overlapping the ones
/// before; where the row is narrower, what is computed past it is overwritten by the next.
template <int K, int S, int P>
HWY_INLINE void ConvolveRow(const float* band, int64_t row_size, const Group& group, int64_t width, float* to) {
  const D d;
  const V bias = hn::Load(d, group.bias);
  for (int64_t begin = 0; begin < width; begin += P) {
    const int64_t x = std::min(begin, std::max<int64_t>(width - P, 0));
    V acc[P];
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) acc[p] = bias;
    const float* src = band + x * S * kLanes;
#pragma GCC unroll 5
    for (int ky = 0; ky < K; ++ky, src += row_size) {
#pragma GCC unroll 5
      for (int kx = 0; kx < K; ++kx) {
        const V weight = hn::Load(d, group.taps + (ky * K + kx) * kLanes);
#pragma GCC unroll 8
        for (int p = 0; p < P; ++p) acc[p] = hn::MulAdd(hn::Load(d, src + (p * S + kx) * kLanes), weight, acc[p]);
      }
    }
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) hn::Store(acc[p], d, to + (x + p) * kLanes);
  }
}

template <int K, int S>
void ConvolveRows(const float* band, int64_t row_size, const Group& group, int64_t rows, int64_t width, float* to) {
  if (width % 7 == 0) {  // the usual images
    for (int64_t y = 0; y < rows; ++y)
      ConvolveRow<K, S, 7>(band + y * S * row_size, row_size, group, width, to + y * width * kLanes);
  } else {
    for (int64_t y = 0; y < rows; ++y)
      ConvolveRow<K, S, 8>(band + y * S * row_size, row_size, group, width, to + y * width * kLanes);
  }
}

void ActivatePixels(const Activation<float>& activation, float* pixels, int64_t count) {
  const D d;
  for (int64_t i = 0; i < count * kLanes; i += kLanes)
    hn::Store(Activate(d, hn::Load(d, pixels + i), activation), d, pixels + i);
}

/// The planes of one group in bands.
template <int K, int S>
class GroupConvolution {
 public:
  GroupConvolution(const DepthwiseShape& shape, const DepthwiseTensors& tensors)
      : shape_(shape), tensors_(tensors), layout_(LayOut(shape)), row_size_(layout_.columns * kLanes) {
    // The pads beside rows stay, and past the last row vectors are read whose results are not kept.
    std::fill_n(band_.data(), layout_.rows * row_size_ + kSlack * kLanes, 0.0f);
  }

  void Run(int64_t plane, int64_t count) {
    group_.count = count;
    const int64_t pixels = shape_.output_height * shape_.output_width, step = layout_.output_rows;
    for (int64_t r = 0; r < kLanes; ++r)
      group_.planes[r] = tensors_.input + PlaneOf(plane, r) * shape_.height * shape_.width;
    for (int64_t y = 0; y < shape_.output_height; y += step) {
      const int64_t rows = std::min(step, shape_.output_height - y);
      FillBand(y, (rows - 1) * S + K);
      for (int64_t i = 0; i < shape_.multiplier; ++i) {
        if (y == 0 || shape_.multiplier > 1) TakeWeights(plane, i);
        for (int64_t r = 0; r < kLanes; ++r)
          group_.outputs[r] = tensors_.output + (PlaneOf(plane, r) * shape_.multiplier + i) * pixels;
        ConvolveRows<K, S>(band_, row_size_, group_, rows, shape_.output_width, output_);
        const int64_t made = rows * shape_.output_width;
        if (tensors_.epilogue.activation) ActivatePixels(tensors_.epilogue.activation, output_, made);
        GatherPixels(output_, made, group_.outputs, group_.count, y * shape_.output_width);
      }
    }
  }

 private:
  /// That of lane `r`; lanes past the group's end repeat its last.
  int64_t PlaneOf(int64_t first, int64_t r) const { return first + std::min(r, group_.count - 1); }

  void TakeWeights(int64_t plane, int64_t multiple) {
    for (int64_t r = 0; r < kLanes; ++r) {
      const int64_t channel = PlaneOf(plane, r) % shape_.channels * shape_.multiplier + multiple;
      group_.weights[r] = tensors_.weights + channel * K * K;
      group_.bias[r] = tensors_.epilogue.bias == nullptr ? 0.0f : tensors_.epilogue.bias[channel];
    }
    SpreadPixels(group_.weights, 0, K * K, K * K, 0, group_.taps);
  }

  /// The first `rows` padded rows that output row `y` and those after it read. What the band before has of them is moved.
  void FillBand(int64_t y, int64_t rows) {
    int64_t row = 0;
    if (y > 0) {
      row = std::min<int64_t>(K - S, rows);
      std::memmove(band_.data(), band_ + layout_.output_rows * S * row_size_,
                   static_cast<size_t>(row * row_size_) * sizeof(float));
    }
    const int64_t top = y * S - shape_.pad_top;  // where the band begins in the image
    const int64_t first = std::clamp<int64_t>(-top, row, rows),
                  last = std::clamp<int64_t>(shape_.height - top, first, rows);
    std::fill(band_ + row * row_size_, band_ + first * row_size_, 0.0f);
    SpreadPixels(group_.planes, (top + first) * shape_.width, (last - first) * shape_.width, shape_.width,
                 row_size_ - shape_.width * kLanes, band_ + first * row_size_ + shape_.pad_left * kLanes);
    std::fill(band_ + last * row_size_, band_ + rows * row_size_, 0.0f);
  }

  const DepthwiseShape& shape_;
  const DepthwiseTensors& tensors_;
  const Band layout_;
  const int64_t row_size_;
  Group group_;
  const WorkArray<float> band_{(kBandPixels + kSlack) * kLanes};
  const WorkArray<float> output_{(kOutputPixels + kLanes) * kLanes};  // the slack of tiles and of GatherPixels
};

template <int K, int S>
int64_t Groups(const DepthwiseShape& shape, const DepthwiseTensors& tensors, int64_t begin, int64_t end) {
  GroupConvolution<K, S> convolution(shape, tensors);
  for (; end - begin >= kFewestPlanes; begin += kLanes) convolution.Run(begin, std::min(end - begin, kLanes));
  return std::min(begin, end);
}

/// Where this is faster than a vector for each part of a row, as measured.
bool Suits(const DepthwiseShape& shape) {
  constexpr int64_t kWidest = 56, kWidestUnstrided = kLanes == 16 ? kWidest : 28, kWidestHalved = 24;
  const int64_t widest = shape.stride == 1 ? kWidestUnstrided : shape.kernel == 3 ? kWidestHalved : kWidest;
  if (shape.output_width > widest) return false;
  // Such planes of the output meet in few sets of the first cache, and there is less to compute than to store.
  const int64_t bytes = shape.output_height * shape.output_width * int64_t{sizeof(float)};
  return (shape.stride == 2 || bytes % 4096 != 0) && LayOut(shape).output_rows > 0;
}

int64_t Together(const DepthwiseShape& shape) { return Suits(shape) ? kLanes : 1; }

int64_t Convolve(const DepthwiseShape& shape, const DepthwiseTensors& tensors, int64_t begin, int64_t end) {
  if (!Suits(shape) || end - begin < kFewestPlanes) return begin;
  const bool one = shape.stride == 1;
  if (shape.kernel == 3) return one ? Groups<3, 1>(shape, tensors, begin, end) : Groups<3, 2>(shape, tensors, begin, end);
  return one ? Groups<5, 1>(shape, tensors, begin, end) : Groups<5, 2>(shape, tensors, begin, end);
}

#else

int64_t Together(const DepthwiseShape&) { return 1; }
int64_t Convolve(const DepthwiseShape&, const DepthwiseTensors&, int64_t begin, int64_t) { return begin; }

#endif

}  // namespace

int64_t PlanesTogether(const DepthwiseShape& shape) { return Together(shape); }
int64_t ConvolveGroups(const DepthwiseShape& shape, const DepthwiseTensors& tensors, int64_t begin, int64_t end) {
  return Convolve(shape, tensors, begin, end);
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(PlanesTogether);
HWY_EXPORT(ConvolveGroups);

int64_t DepthwisePlanesTogether(const DepthwiseShape& shape) { return HWY_DYNAMIC_DISPATCH(PlanesTogether)(shape); }
int64_t ConvolveDepthwiseAcross(const DepthwiseShape& shape, const DepthwiseTensors& tensors, int64_t begin, int64_t end) {
  return HWY_DYNAMIC_DISPATCH(ConvolveGroups)(shape, tensors, begin, end);
}

}  // namespace tessera::cpu
#endif
