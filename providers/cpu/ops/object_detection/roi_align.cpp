// RoiAlign (ai.onnx 10, 16, 22).

#include "kernels/image/roi_align.h"

#include <algorithm>
#include <cmath>

#include "base/cancellation.h"
#include "base/check.h"
#include "base/checked.h"
#include "base/max_or_nan.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/image/roi_align.h"

namespace tessera::cpu {
namespace {

struct Sample {
  int64_t low, high;
  double weight_low, weight_high;
  bool inside;
};

Sample SampleAt(const RoiSampling& sampling, int64_t bin, int64_t i, int64_t size) {
  double x = sampling.start + static_cast<double>(bin) * sampling.bin +
             (static_cast<double>(i) + 0.5) * sampling.bin / static_cast<double>(sampling.samples);
  if (!(x >= -1.0 && x <= static_cast<double>(size))) return {0, 0, 0, 0, false};
  x = std::max(x, 0.0);
  auto low = static_cast<int64_t>(x);
  int64_t high = low + 1;
  if (low >= size - 1) {
    low = high = size - 1;
    x = static_cast<double>(low);
  }
  const double fraction = x - static_cast<double>(low);
  return {low, high, 1 - fraction, fraction, true};
}

/// Sums the samples of each bin into weights of the positions that they read.
template <class F>
void FillAxis(const RoiSampling& sampling, int64_t size, const RoiAxis<F>& axis) {
  PacedCancellationPoint look(5);
  for (int64_t b = 0; b < axis.bins; ++b) {
    look.Pass(1 + axis.stride / 16);
    F* weights = axis.weights + b * axis.stride;
    int64_t first = size, last = -1;
    for (int64_t i = 0; i < sampling.samples; ++i) {
      look.Pass();
      const Sample sample = SampleAt(sampling, b, i, size);
      if (!sample.inside) continue;
      if (last < 0) {
        first = sample.low;
        std::fill_n(weights, axis.stride, F{0});
      }
      // Malformed regions may run backwards.
      if (sample.low < first) {
        std::copy_backward(weights, weights + (last - first + 1), weights + (last - sample.low + 1));
        std::fill_n(weights, first - sample.low, F{0});
        first = sample.low;
      }
      last = std::max(last, sample.high);
      weights[sample.low - first] += static_cast<F>(sample.weight_low);
      weights[sample.high - first] += static_cast<F>(sample.weight_high);
    }
    axis.first[b] = last < 0 ? 0 : static_cast<int32_t>(first);
    axis.count[b] = last < 0 ? 0 : static_cast<int32_t>(last - first + 1);
  }
}

template <class F>
void MaxPlane(const F* plane, int64_t height, int64_t width, const RoiSampling& rows, const RoiSampling& columns,
              int64_t out_height, int64_t out_width, F* out) {
  PacedCancellationPoint look(8);
  for (int64_t y = 0; y < out_height; ++y) {
    for (int64_t x = 0; x < out_width; ++x) {
      look.Pass();
      F best = 0;
      bool any = false;
      for (int64_t i = 0; i < rows.samples; ++i) {
        const Sample row = SampleAt(rows, y, i, height);
        for (int64_t j = 0; j < columns.samples; ++j) {
          look.Pass();
          const Sample column = SampleAt(columns, x, j, width);
          F value = 0;
          if (row.inside && column.inside) {
            const F* low = plane + row.low * width;
            const F* high = plane + row.high * width;
            value = MaxOrNan(MaxOrNan(static_cast<F>(row.weight_low * column.weight_low) * low[column.low],
                                      static_cast<F>(row.weight_low * column.weight_high) * low[column.high]),
                             MaxOrNan(static_cast<F>(row.weight_high * column.weight_low) * high[column.low],
                                      static_cast<F>(row.weight_high * column.weight_high) * high[column.high]));
          }
          best = any ? MaxOrNan(best, value) : value;
          any = true;
        }
      }
      *out++ = best;
    }
  }
}

/// Elements as numbers of F: the tensor itself, or a converted copy.
template <class F, class T>
const F* AsNumbers(KernelContext& context, const Tensor& tensor) {
  if constexpr (std::is_same_v<F, T>) {
    return tensor.data<T>();
  } else {
    const std::span<F> numbers = context.scratch<F>(static_cast<size_t>(tensor.num_elements()));
    const T* elements = tensor.data<T>();
    context.threads().ParallelFor(tensor.num_elements(), 0.3, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) numbers[static_cast<size_t>(i)] = static_cast<F>(elements[i]);
    });
    return numbers.data();
  }
}

template <class T>
class RoiAlign final : public Kernel {
  using F = std::conditional_t<std::is_same_v<T, double>, double, float>;

 public:
  explicit RoiAlign(const KernelInfo& info) : attributes_(info.node()) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Tensor& rois = context.required_input(1);
    const Tensor& batches = context.required_input(2);
    const Shape& shape = input.shape();
    const Shape result = attributes_.ResultShape(input, rois, batches);
    const int64_t count = result[0];
    Tensor* output = context.output(0, result);
    if (output == nullptr || output->num_elements() == 0) return;
    Require(std::max(shape[2], shape[3]) < RoiAlignAttributes::kLimit, "X is {}: too large", shape);

    const F* numbers = AsNumbers<F, T>(context, input);
    F* out;
    if constexpr (std::is_same_v<F, T>) {
      out = output->template mutable_data<T>();
    } else {
      out = context.scratch<F>(static_cast<size_t>(output->num_elements())).data();
    }
    Pool(context, shape, numbers, rois.data<T>(), batches.data<int64_t>(), count, out);
    if constexpr (!std::is_same_v<F, T>) {
      T* elements = output->template mutable_data<T>();
      InCancellablePieces(0, output->num_elements(), 1.0, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) elements[i] = static_cast<T>(out[i]);
      });
    }
  }

 private:
  void Pool(KernelContext& context, const Shape& shape, const F* in, const T* rois, const int64_t* batches, int64_t count,
            F* out) const {
    const int64_t channels = shape[1], height = shape[2], width = shape[3];
    const int64_t out_height = attributes_.out_height, out_width = attributes_.out_width, bins = out_height * out_width;
    // Regions are split by channels only as far as the threads need it: each part makes the region's tables anew.
    const int threads = context.threads().num_threads();
    const int64_t parts = threads == 1 ? 1 : std::clamp<int64_t>((2 * threads + count - 1) / count, 1, channels);
    const int64_t tasks = count * parts;
    const int64_t chunks = std::min<int64_t>(tasks, 4 * threads);
    const int64_t numbers = CheckedAdd(CheckedAdd(CheckedMul(out_height, height), CheckedMul(out_width, width)), width);
    const std::span<F> tables =
        context.scratch<F>(static_cast<size_t>(CheckedMul(attributes_.maximum ? 1 : numbers, chunks)));
    const std::span<int32_t> indices =
        context.scratch<int32_t>(static_cast<size_t>(CheckedMul(2 * (out_height + out_width), chunks)));
    const double cost = static_cast<double>(bins) * 10 * static_cast<double>(channels) * static_cast<double>(count);
    context.threads().ParallelFor(chunks, cost / static_cast<double>(chunks), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        F* table = tables.data() + (attributes_.maximum ? 0 : c * numbers);
        int32_t* index = indices.data() + c * 2 * (out_height + out_width);
        const RoiAxis<F> rows = {index, index + out_height, table, height, out_height};
        index += 2 * out_height;
        const RoiAxis<F> columns = {index, index + out_width, table + out_height * height, width, out_width};
        F* blended = table + out_height * height + out_width * width;
        for (int64_t task = tasks * c / chunks; task < tasks * (c + 1) / chunks; ++task) {
          const int64_t roi = task / parts, part = task % parts;
          const int64_t first = channels * part / parts, last = channels * (part + 1) / parts;
          const T* box = rois + roi * 4;
          const RoiSampling y = attributes_.Sampling(static_cast<double>(box[1]), static_cast<double>(box[3]), out_height);
          const RoiSampling x = attributes_.Sampling(static_cast<double>(box[0]), static_cast<double>(box[2]), out_width);
          const F* planes = in + batches[roi] * channels * height * width;
          F* target = out + roi * channels * bins;
          if (attributes_.maximum) {
            for (int64_t i = first; i < last; ++i) {
              MaxPlane(planes + i * height * width, height, width, y, x, out_height, out_width, target + i * bins);
            }
            continue;
          }
          FillAxis(y, height, rows);
          FillAxis(x, width, columns);
          const auto samples =
              static_cast<F>(std::max<double>(static_cast<double>(y.samples) * static_cast<double>(x.samples), 1.0));
          for (int64_t b = 0; b < rows.bins; ++b) {
            for (int32_t i = 0; i < rows.count[b]; ++i) rows.weights[b * rows.stride + i] /= samples;
          }
          for (int64_t i = first; i < last; ++i) {
            CancellationPoint();
            RoiAverage(planes + i * height * width, width, rows, columns, blended, target + i * bins);
          }
        }
      }
    });
  }

  const RoiAlignAttributes attributes_;
};

}  // namespace

void RegisterRoiAlign(KernelRegistry& registry) {
  registry.Add(Op("RoiAlign").Versions(10).Types(0, kFloats).Factory(MakeTyped<RoiAlign, FloatTypes>));
}

}  // namespace tessera::cpu
