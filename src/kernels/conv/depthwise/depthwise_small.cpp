#include "kernels/conv/depthwise/depthwise_small.h"

#include "kernels/vector/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/depthwise/depthwise_small.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "base/cancellation.h"
#include "base/work_array.h"
#include "kernels/conv/depthwise/plane_lanes-inl.h"
#include "kernels/elementwise/activate-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

constexpr int64_t kLanes = kPlaneLanes;

class Groups {
 public:
  Groups(const SmallPlanes& shape, const DepthwiseTensors& tensors)
      : shape_(shape), tensors_(tensors), by_channels_(shape.channels % kLanes == 0 && shape.multiplier == 1) {}

  void Run(int64_t group) {
    first_ = group * kLanes;
    count_ = std::min(shape_.batch * shape_.channels - first_, kLanes);
    // The same channels of all images one after the other, whose weights are laid out once.
    if (by_channels_) first_ = group % shape_.batch * shape_.channels + group / shape_.batch * kLanes;
    LoadPlanes();
    for (int64_t i = 0; i < shape_.multiplier; ++i) {
      if (const int64_t channels = OutputOf(0, i) % (shape_.channels * shape_.multiplier);
          !by_channels_ || channels != laid_out_)
        LayOutWeights(i), laid_out_ = channels;
      Convolve();
      StorePlanes(i);
    }
  }

 private:
  /// Lanes past the group's end repeat its last plane.
  int64_t PlaneOf(int64_t lane) const { return first_ + std::min(lane, count_ - 1); }
  int64_t OutputOf(int64_t lane, int64_t multiple) const { return PlaneOf(lane) * shape_.multiplier + multiple; }

  void LoadPlanes() const {
    const PlaneTag d;
    if (shape_.input == 1 && count_ == kLanes) return hn::Store(hn::LoadU(d, tensors_.input + first_), d, input_.data());
    const float* planes[kLanes];
    for (int64_t r = 0; r < kLanes; ++r) planes[r] = tensors_.input + PlaneOf(r) * shape_.input;
    SpreadPixels(planes, 0, shape_.input, shape_.input, 0, input_);
  }

  void LayOutWeights(int64_t multiple) {
    const float* weights[kLanes];
    for (int64_t r = 0; r < kLanes; ++r) {
      const int64_t channel = OutputOf(r, multiple) % (shape_.channels * shape_.multiplier);
      weights[r] = tensors_.weights + channel * shape_.taps;
      bias_[r] = tensors_.epilogue.bias == nullptr ? 0.0f : tensors_.epilogue.bias[channel];
    }
    SpreadPixels(weights, 0, shape_.taps, shape_.taps, 0, taps_);
  }

  void Convolve() const {
    const PlaneTag d;
    const auto start = hn::Load(d, bias_);
    for (int64_t pixel = 0; pixel < shape_.output; ++pixel) {
      auto sum = start;
      for (int32_t m = shape_.begins[pixel]; m < shape_.begins[pixel + 1]; ++m) {
        const SmallPlanes::Meeting& at = shape_.meetings[m];
        sum = hn::MulAdd(hn::Load(d, input_ + at.pixel * kLanes), hn::Load(d, taps_ + at.tap * kLanes), sum);
      }
      if (tensors_.epilogue.activation) sum = Activate(d, sum, tensors_.epilogue.activation);
      hn::Store(sum, d, output_ + pixel * kLanes);
    }
  }

  void StorePlanes(int64_t multiple) const {
    const PlaneTag d;
    if (shape_.output == 1 && shape_.multiplier == 1 && count_ == kLanes)
      return hn::StoreU(hn::Load(d, output_.data()), d, tensors_.output + first_);
    float* outputs[kLanes];
    for (int64_t r = 0; r < kLanes; ++r) outputs[r] = tensors_.output + OutputOf(r, multiple) * shape_.output;
    GatherPixels(output_, shape_.output, outputs, count_, 0);
  }

  const SmallPlanes& shape_;
  const DepthwiseTensors& tensors_;
  const bool by_channels_;
  int64_t first_ = 0, count_ = 0, laid_out_ = -1;
  HWY_ALIGN float bias_[kLanes];
  const WorkArray<float> input_{kMostSmallPixels * kLanes};
  const WorkArray<float> taps_{kMostSmallTaps * kLanes};
  const WorkArray<float> output_{(kMostSmallPixels + kLanes) * kLanes};  // the slack of GatherPixels
};

int64_t Lanes() { return kLanes; }
void Convolve(const SmallPlanes& shape, const DepthwiseTensors& tensors, int64_t begin, int64_t end) {
  Groups groups(shape, tensors);
  PacedCancellationPoint point(100);
  for (int64_t group = begin; group < end; ++group) {
    point.Pass();
    groups.Run(group);
  }
}

#else

int64_t Lanes() { return 0; }
void Convolve(const SmallPlanes&, const DepthwiseTensors&, int64_t, int64_t) {}

#endif

}  // namespace

int64_t PlanesInLanes() { return Lanes(); }
void ConvolvePlanesInLanes(const SmallPlanes& shape, const DepthwiseTensors& tensors, int64_t begin, int64_t end) {
  Convolve(shape, tensors, begin, end);
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::cpu {

HWY_EXPORT(PlanesInLanes);
HWY_EXPORT(ConvolvePlanesInLanes);

int64_t SmallPlanesTogether() { return HWY_DYNAMIC_DISPATCH(PlanesInLanes)(); }
void ConvolveSmallPlanes(const SmallPlanes& shape, const DepthwiseTensors& tensors, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(ConvolvePlanesInLanes)(shape, tensors, begin, end);
}

}  // namespace tessera::cpu
#endif
