// DeformConv (19, 22): convolution that samples its input at learned offsets, bilinearly, zero outside.

#include <cmath>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/engine/slots.h"
#include "cpu/ops/nn/float_view.h"
#include "cpu/ops/nn/gemm_calls.h"
#include "cpu/ops/ops.h"
#include "cpu/types.h"
#include "ops/nn/conv.h"

namespace tessera::cpu {
namespace {

template <class C>
C Sample(const C* plane, int64_t height, int64_t width, C y, C x) {
  if (!(y > C{-1} && y < static_cast<C>(height) && x > C{-1} && x < static_cast<C>(width))) return C{0};
  const C top = std::floor(y);
  const C left = std::floor(x);
  const auto y0 = static_cast<int64_t>(top);
  const auto x0 = static_cast<int64_t>(left);
  const C dy = y - top;
  const C dx = x - left;
  const auto at = [&](int64_t r, int64_t c) {
    return r >= 0 && r < height && c >= 0 && c < width ? plane[r * width + c] : C{0};
  };
  return (C{1} - dy) * ((C{1} - dx) * at(y0, x0) + dx * at(y0, x0 + 1)) +
         dy * ((C{1} - dx) * at(y0 + 1, x0) + dx * at(y0 + 1, x0 + 1));
}

template <class T>
class DeformConv final : public Kernel {
  using C = ComputeType<T>;

 public:
  explicit DeformConv(const KernelInfo& info)
      : attributes_(info.node()), group_(attributes_.conv.group), offset_group_(attributes_.offset_group) {}

  void Compute(KernelContext& context) override {
    const Tensor& input = context.required_input(0);
    const Tensor& weights = context.required_input(1);
    const Tensor& offset = context.required_input(2);
    const Tensor* bias = context.input(3);
    const Tensor* mask = context.input(4);
    const Window window = attributes_.Fit(input.shape(), weights.shape(), offset.shape(), bias, mask);
    Tensor* output = context.output(0, ConvAttributes::ResultShape(input.shape(), weights.shape(), window));
    if (output == nullptr || output->num_elements() == 0) return;
    const C* x = ComputeView<T>(context, &input);
    const C* w = ComputeView<T>(context, &weights);
    const C* offsets = ComputeView<T>(context, &offset);
    const C* biases = ComputeView<T>(context, bias);
    const C* masks = ComputeView<T>(context, mask);
    ComputeResult<T> result(context, *output);
    const int64_t channels = input.shape()[1];
    const int64_t outputs = weights.shape()[0];
    const int64_t kernel = window.kernel.num_elements();
    const int64_t pixels = window.output.num_elements();
    const auto columns = context.scratch<C>(static_cast<size_t>(CheckedMul(CheckedMul(channels, kernel), pixels)));
    for (int64_t image = 0; image < input.shape()[0]; ++image) {
      const C* image_mask = masks == nullptr ? nullptr : masks + image * offset_group_ * kernel * pixels;
      SampleColumns(context, window, channels, x + image * channels * window.input.num_elements(),
                    offsets + image * offset_group_ * kernel * 2 * pixels, image_mask, columns.data());
      RunGemms<C>(context, group_, [&](int64_t g) {
        GemmProblem<C> args;
        args.m = outputs / group_;
        args.n = pixels;
        args.k = channels / group_ * kernel;
        args.lhs = {.data = w + g * args.m * args.k, .row = args.k};
        args.rhs = {.data = columns.data() + g * args.k * pixels, .k = pixels};
        args.out = {.data = result.data() + (image * outputs + g * args.m) * pixels, .row = pixels};
        args.epilogue = {.bias = biases == nullptr ? nullptr : biases + g * args.m, .channels_are_rows = true};
        return args;
      });
    }
    result.Finish();
  }

 private:
  /// The input pixels that one kernel position reads for an output pixel, the same for all channels of an offset group.
  struct SamplePoint {
    int64_t corner;  // the upper left one of four that are inside the image; or kOutside or kBorder
    C y, x, dy, dx, mask;
  };
  static constexpr int64_t kOutside = -1, kBorder = -2;

  static SamplePoint SamplePointAt(int64_t height, int64_t width, C y, C x, C mask) {
    if (!(y > C{-1} && y < static_cast<C>(height) && x > C{-1} && x < static_cast<C>(width)))
      return {kOutside, y, x, 0, 0, mask};
    const C top = std::floor(y), left = std::floor(x);
    const auto y0 = static_cast<int64_t>(top), x0 = static_cast<int64_t>(left);
    const bool inside = y0 >= 0 && y0 + 1 < height && x0 >= 0 && x0 + 1 < width;
    return {inside ? y0 * width + x0 : kBorder, y, x, y - top, x - left, mask};
  }

  static C SampleAt(const C* plane, int64_t height, int64_t width, const SamplePoint& at) {
    if (at.corner < 0) return (at.corner == kOutside ? C{0} : Sample(plane, height, width, at.y, at.x)) * at.mask;
    const C* upper = plane + at.corner;
    const C* lower = upper + width;
    return ((C{1} - at.dy) * ((C{1} - at.dx) * upper[0] + at.dx * upper[1]) +
            at.dy * ((C{1} - at.dx) * lower[0] + at.dx * lower[1])) *
           at.mask;
  }

  void SampleColumns(KernelContext& context, const Window& window, int64_t channels, const C* x, const C* offsets,
                     const C* mask, C* columns) const {
    const int64_t height = window.input[0], width = window.input[1];
    const int64_t kernel = window.kernel.num_elements(), pixels = window.output.num_elements();
    const int64_t of_group = channels / offset_group_, positions = offset_group_ * kernel;
    ThreadPool& threads = context.threads();
    const int64_t parts =
        std::clamp<int64_t>(CeilDiv(2 * threads.num_threads(), positions), 1, of_group);  // of the channels
    const double cost = static_cast<double>(pixels) * (10 + 2 * static_cast<double>(of_group / parts));
    const int64_t slots = SlotCount(threads, positions * parts, cost);
    const auto points = context.scratch<SamplePoint>(static_cast<size_t>(CheckedMul(slots, pixels)));
    ParallelSlots(threads, slots, positions * parts, cost, [&](int64_t slot, int64_t begin, int64_t end) {
      SamplePoint* at = points.data() + slot * pixels;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t position = i / parts, group = position / kernel, k = position % kernel, part = i % parts;
        FindSamplePoints(window, k, offsets + position * 2 * pixels, mask == nullptr ? nullptr : mask + position * pixels,
                         at);
        for (int64_t c = group * of_group + of_group * part / parts; c < group * of_group + of_group * (part + 1) / parts;
             ++c) {
          CancellationPoint();
          const C* plane = x + c * height * width;
          C* to = columns + (c * kernel + k) * pixels;
          for (int64_t p = 0; p < pixels; ++p) to[p] = SampleAt(plane, height, width, at[p]);
        }
      }
    });
  }

  /// Of kernel position `k`, by output pixel.
  static void FindSamplePoints(const Window& window, int64_t k, const C* offsets, const C* mask, SamplePoint* points) {
    const int64_t pixels = window.output.num_elements();
    const int64_t ky = k / window.kernel[1] * window.dilations[0] - window.begin[0];
    const int64_t kx = k % window.kernel[1] * window.dilations[1] - window.begin[1];
    for (int64_t p = 0; p < pixels; ++p) {
      const C y = static_cast<C>(p / window.output[1] * window.strides[0] + ky) + offsets[p];
      const C x = static_cast<C>(p % window.output[1] * window.strides[1] + kx) + offsets[pixels + p];
      points[p] = SamplePointAt(window.input[0], window.input[1], y, x, mask == nullptr ? C{1} : mask[p]);
    }
  }

  DeformConvAttributes attributes_;
  int64_t group_;
  int64_t offset_group_;
};

}  // namespace

void RegisterDeformConv(KernelRegistry& registry) {
  registry.Add(Op("DeformConv").Types(0, kFloats).Factory(MakeTyped<DeformConv, FloatTypes>));
}

}  // namespace tessera::cpu
