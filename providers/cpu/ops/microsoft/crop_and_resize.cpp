// CropAndResize, com.microsoft, version 1: boxes of images, each resized to one size. Corners meet corners.

#include <algorithm>
#include <cmath>

#include "base/cancellation.h"
#include "base/checked.h"
#include "cpu/engine/convert_row.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"

namespace tessera::cpu {
namespace {

/// Where an output row or column reads its image.
template <class C>
struct Sample {
  int64_t low, high;
  C weight;  // of high
  bool inside;
};

template <class T>
class CropAndResize final : public Kernel {
  using C = ComputeType<T>;

 public:
  explicit CropAndResize(const KernelInfo& info)
      : outside_(static_cast<C>(info.attribute<float>("extrapolation_value", 0.0f))) {
    const auto mode = info.attribute<std::string>("mode", "bilinear");
    Require(mode == "bilinear" || mode == "nearest", "mode is {}; bilinear or nearest is expected", mode);
    nearest_ = mode == "nearest";
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor& boxes = context.required_input(1);
    const Tensor& images = context.required_input(2);
    const Tensor& size = context.required_input(3);
    const Shape& s = x.shape();
    Require(s.rank() == 4, "X is {}; 4 dimensions are expected", s);
    const Shape& b = boxes.shape();
    Require(b.rank() == 2 && b[1] == 4 && images.shape() == Shape({b[0]}) && size.num_elements() == 2,
            "rois, batch_indices and crop_size are {}, {} and {}; [n,4], [n] and [2] are expected", b, images.shape(),
            size.shape());
    const int64_t height = size.data<int32_t>()[0], width = size.data<int32_t>()[1], channels = s[1];
    Require(height > 0 && width > 0, "crop_size is {} by {}", height, width);
    for (const int32_t image : images.values<int32_t>())
      Require(image >= 0 && image < s[0], "batch index {} is outside the batch of {}", image, s[0]);
    Tensor* y = context.output(0, {b[0], channels, height, width});
    if (y == nullptr || y->num_elements() == 0) return;
    if (x.num_elements() == 0) Fail(ErrorCode::kInvalidArgument, "X is {}: there is nothing to crop", s.ToString());
    const auto columns = context.scratch<Sample<C>>(static_cast<size_t>(CheckedMul(b[0], width)));
    PacedCancellationPoint look(10);
    for (int64_t i = 0; i < b[0] * width; ++i) {
      look.Pass();
      const T* box = boxes.data<T>() + i / width * 4;
      columns[i] = SampleAt(static_cast<C>(box[1]), static_cast<C>(box[3]), i % width, width, s[3]);
    }
    context.threads().ParallelFor(
        CheckedMul(b[0] * channels, height), static_cast<double>(width) * kPixelNs, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t n = i / height / channels, channel = i / height % channels;
            const T* box = boxes.data<T>() + n * 4;
            const Sample<C> row = SampleAt(static_cast<C>(box[0]), static_cast<C>(box[2]), i % height, height, s[2]);
            const T* plane = x.data<T>() + (images.data<int32_t>()[n] * channels + channel) * s[2] * s[3];
            T* out = y->mutable_data<T>() + i * width;
            InCancellablePieces(0, width, kPixelNs, [&](int64_t from, int64_t to) {
              for (int64_t j = from; j < to; ++j) {
                const Sample<C>& column = columns[n * width + j];
                out[j] = static_cast<T>(row.inside && column.inside ? Read(plane, s[3], row, column) : outside_);
              }
            });
          }
        });
  }

 private:
  static constexpr double kPixelNs = 4;

  Sample<C> SampleAt(C first, C last, int64_t i, int64_t count, int64_t size) const {
    const C limit = static_cast<C>(size - 1);
    const C step = count > 1 ? (last - first) * limit / static_cast<C>(count - 1) : C{0};
    const C at = count > 1 ? first * limit + static_cast<C>(i) * step : C(0.5) * (first + last) * limit;
    if (!(at >= 0 && at <= limit)) return {0, 0, 0, false};  // NaN too
    // `limit` may be rounded up, beyond the last element: positions are bounded as integers.
    const auto bounded = [&](C position) { return std::min(static_cast<int64_t>(position), size - 1); };
    if (nearest_) {
      const int64_t whole = bounded(std::round(at));
      return {whole, whole, 0, true};
    }
    const int64_t low = bounded(std::floor(at)), high = bounded(std::ceil(at));
    return {low, high, at - std::floor(at), true};
  }

  C Read(const T* plane, int64_t stride, const Sample<C>& row, const Sample<C>& column) const {
    const auto at = [&](int64_t r, int64_t c) { return static_cast<C>(plane[r * stride + c]); };
    if (nearest_) return at(row.low, column.low);
    const C top = at(row.low, column.low) + (at(row.low, column.high) - at(row.low, column.low)) * column.weight;
    const C bottom = at(row.high, column.low) + (at(row.high, column.high) - at(row.high, column.low)) * column.weight;
    return top + (bottom - top) * row.weight;
  }

  C outside_;
  bool nearest_;
};

}  // namespace

void RegisterCropAndResize(KernelRegistry& registry) {
  registry.Add(Op("CropAndResize", "com.microsoft")
                   .Types(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kDouble})
                   .Factory(MakeTyped<CropAndResize, TypeList<float, Float16, double>>));
}

}  // namespace tessera::cpu
