#pragma once

// Convolution of 8-bit integers with zero points and 32-bit accumulators: what ConvInteger and QLinearConv share.

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/cancellation.h"
#include "base/checked.h"
#include "cpu/ops/nn/conv_input.h"
#include "cpu/ops/nn/integer_matmul.h"
#include "kernels/conv/depthwise/depthwise_int8.h"
#include "ops/nn/conv.h"

namespace tessera::cpu {

/// The weights with their zero points subtracted, rows padded to whole pairs.
struct WideWeights {
  const int16_t* values = nullptr;
  int64_t row = 0;  // elements of an output channel
};

/// Panels of one image's implicit im2col matrix, from the 8-bit layout of ConvInput.
class ConvInt8Panels final : public GemmPanelSource<int16_t> {
 public:
  ConvInt8Panels(const ConvInput& input, const uint8_t* base, const uint8_t* end, std::span<const int64_t> offsets,
                 bool is_signed, const int32_t* zero_point)
      : input_(input), base_(base), end_(end), offsets_(offsets), signed_(is_signed), zero_point_(zero_point) {}

  void Pack(int64_t k0, int64_t kc, int64_t n0, int64_t width, int16_t* out) const override {
    constexpr int64_t kRows = 32;
    uint8_t rows[kRows * kStride];
    ConvSegment segments[64];
    size_t count = 0;
    for (int64_t done = 0; done < width; ++count) {
      const int64_t row = (n0 + done) / input_.output_width();
      const int64_t column = (n0 + done) % input_.output_width();
      const int64_t length = std::min(width - done, input_.output_width() - column);
      segments[count] = {input_.row_offsets()[static_cast<size_t>(row)] + column, done, length};
      done += length;
    }
    for (int64_t k = 0; k < kc; k += kRows) {
      const int64_t some = std::min(kRows, kc - k);
      for (int64_t i = 0; i < some; ++i)
        CopyRow(offsets_[static_cast<size_t>(k0 + k + i)], {segments, count}, rows + i * kStride);
      InterleavePairs(rows, signed_, kStride, some, width, zero_point_, 0, out + k * Int8PanelWidth());
    }
  }

 private:
  static constexpr int64_t kStride = 72;  // widest panel, and what a copy may write past it

  void CopyRow(int64_t offset, std::span<const ConvSegment> segments, uint8_t* out) const {
    for (const ConvSegment& segment : segments) {
      const uint8_t* from = base_ + offset + segment.from;
      if (from + segment.length + 8 > end_) {
        std::memcpy(out + segment.to, from, static_cast<size_t>(segment.length));
        continue;
      }
      for (int64_t i = 0; i < segment.length; i += 8) std::memcpy(out + segment.to + i, from + i, 8);
    }
  }

  const ConvInput& input_;
  const uint8_t* base_;
  const uint8_t* end_;
  std::span<const int64_t> offsets_;
  bool signed_;
  const int32_t* zero_point_;
};

struct RangeU8 {
  const uint8_t* begin;
  const uint8_t* end;
};

/// `count` channels, one after the other.
inline void LayOutChannelsU8(const ConvInput& layout, const uint8_t* from, int64_t plane, int64_t count, int32_t zero,
                             uint8_t* to) {
  for (int64_t c = 0; c < count; ++c, from += plane, to += layout.channel_size()) {
    if (layout.in_place()) {
      std::memcpy(to, from, static_cast<size_t>(plane));
    } else {
      layout.LayOut<uint8_t>(from, to, static_cast<uint8_t>(zero));
    }
  }
}

/// The channels in the layout of `layout`: the input itself, or a copy with readable bytes after it. `copies`: a copy
/// in any case.
inline RangeU8 LayOutU8(KernelContext& context, const ConvInput& layout, const Tensor& x, const Window& window,
                        int32_t zero, bool copies) {
  constexpr int64_t kSlack = 64;
  const auto* base = static_cast<const uint8_t*>(x.raw());
  const int64_t planes = x.shape()[0] * x.shape()[1];
  const int64_t plane = window.input.num_elements();
  if (layout.in_place() && !copies) return {base, base + planes * plane};
  const auto bytes =
      context.scratch<uint8_t>(static_cast<size_t>(CheckedAdd(CheckedMul(planes, layout.channel_size()), kSlack)));
  std::fill(bytes.end() - kSlack, bytes.end(), uint8_t{0});
  context.threads().ParallelFor(planes, 20 + static_cast<double>(layout.channel_size()) * 0.1,
                                [&](int64_t begin, int64_t last) {
                                  LayOutChannelsU8(layout, base + begin * plane, plane, last - begin, zero,
                                                   bytes.data() + begin * layout.channel_size());
                                });
  return {bytes.data(), bytes.data() + bytes.size()};
}

class IntegerConv {
 public:
  /// Indices of the inputs: weights and their zero point.
  IntegerConv(const KernelInfo& info, size_t weights, size_t zero_point)
      : attributes_(info.node()), group_(attributes_.group) {
    const Tensor* w = info.constant_input(weights);
    const Tensor* zero = info.constant_input(zero_point);
    if (w == nullptr || w->shape().rank() < 3 || w->num_elements() == 0) return;
    if (info.has_input(zero_point) && zero == nullptr) return;
    const int64_t count = zero == nullptr ? 1 : zero->num_elements();
    if (count != 1 && count != w->shape()[0]) return;
    std::vector<int32_t> points(static_cast<size_t>(count), 0);
    for (int64_t i = 0; i < count && zero != nullptr; ++i) {
      points[static_cast<size_t>(i)] = QuantizedOf(*zero, i);
    }
    const int64_t k = w->num_elements() / w->shape()[0];
    wide_ = Tensor(ElementType::kInt16, Shape{w->shape()[0], 2 * Pairs(k)});
    WidenRows(w->raw(), IsSigned(w->type()), w->shape()[0], k, k, points.data(), count == 1 ? 0 : 1,
              wide_.mutable_data<int16_t>());
    weights_shape_ = w->shape();
    info.ReleaseConstant(weights);
  }

  bool has_weights() const { return wide_.defined(); }

  struct Inputs {
    const Tensor* x;
    const Tensor* w;  // null when has_weights()
    const Tensor* x_zero;
    const Tensor* w_zero;
    const Tensor* bias;
  };

  /// Calls `destination(shape)` for the int32 destination and stores the accumulators there, bias included.
  template <class Destination>
  void Run(KernelContext& context, const Inputs& in, Destination&& destination) const {
    const Shape& x = in.x->shape();
    const Shape& w = in.w == nullptr ? weights_shape_ : in.w->shape();
    const Window window = attributes_.Fit(x, w, in.bias);
    const Shape shape = ConvAttributes::ResultShape(x, w, window);
    int32_t* out = destination(shape);
    if (out == nullptr || shape.num_elements() == 0) return;
    const auto x_zero = ReadZeroPoints(context, in.x_zero);
    Require(x_zero.size() == 1, "the input's zero point has {} values, 1 is expected", x_zero.size());
    const ConvInput layout(context, window);
    const WideWeights weights =
        in.w == nullptr ? WideWeights{wide_.data<int16_t>(), wide_.shape()[1]} : Widen(context, *in.w, in.w_zero);
    const bool depthwise = x[1] == group_ && group_ > 1;
    const auto [base, end] = LayOutU8(context, layout, *in.x, window, x_zero[0], depthwise);
    const bool is_signed = IsSigned(in.x->type());
    if (depthwise) {
      Depthwise(context, in, layout, weights, base, is_signed, x_zero[0], shape, window, out);
    } else {
      General(context, in, layout, weights, base, end, is_signed, x_zero.data(), x, shape, window, out);
    }
  }

 private:
  WideWeights Widen(KernelContext& context, const Tensor& w, const Tensor* zero) const {
    const auto points = ReadZeroPoints(context, zero);
    const int64_t outputs = w.shape()[0];
    Require(points.size() == 1 || static_cast<int64_t>(points.size()) == outputs,
            "the weights' zero point has {} values; 1 or {} are expected", points.size(), outputs);
    const int64_t k = w.num_elements() / outputs;
    const auto wide = context.scratch<int16_t>(static_cast<size_t>(CheckedMul(outputs, 2 * Pairs(k))));
    WidenRows(w.raw(), IsSigned(w.type()), outputs, k, k, points.data(), points.size() == 1 ? 0 : 1, wide.data());
    return {wide.data(), 2 * Pairs(k)};
  }

  void Depthwise(KernelContext& context, const Inputs& in, const ConvInput& layout, const WideWeights& weights,
                 const uint8_t* base, bool is_signed, int32_t x_zero, const Shape& shape, const Window& window,
                 int32_t* out) const {
    const int64_t outputs = shape[1];
    const int64_t per_group = outputs / group_;
    const int64_t kernel = window.kernel.num_elements();
    const int64_t pixels = window.output.num_elements();
    const double cost = static_cast<double>(pixels * kernel) * 0.1;
    context.threads().ParallelFor(shape[0] * outputs, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t output = i % outputs;
        const uint8_t* channel = base + (i / outputs * group_ + output / per_group) * layout.channel_size();
        const int16_t* w = weights.values + output * weights.row;
        uint32_t start = in.bias == nullptr ? 0 : static_cast<uint32_t>(in.bias->data<int32_t>()[output]);
        for (int64_t k = 0; k < kernel; ++k) start -= static_cast<uint32_t>(x_zero * w[k]);
        ComputeInt8Taps({.from = channel,
                         .is_signed = is_signed,
                         .row_offsets = layout.row_offsets().data(),
                         .rows = static_cast<int64_t>(layout.row_offsets().size()),
                         .tap_offsets = layout.kernel_offsets().data(),
                         .weights = w,
                         .taps = kernel,
                         .width = layout.output_width(),
                         .start = static_cast<int32_t>(start),
                         .scale = 0,
                         .zero = 0,
                         .output = OutputStage::kAccumulators,
                         .out = out + i * pixels});
      }
    });
  }

  void General(KernelContext& context, const Inputs& in, const ConvInput& layout, const WideWeights& weights,
               const uint8_t* base, const uint8_t* end, bool is_signed, const int32_t* x_zero, const Shape& x,
               const Shape& shape, const Window& window, int32_t* out) const {
    const int64_t channels = x[1] / group_;
    const int64_t kernel = window.kernel.num_elements();
    const int64_t pixels = window.output.num_elements();
    const std::span<const int64_t> offsets = layout.TapOffsets(context, channels);
    GemmProblem<int32_t> args;
    args.m = shape[1] / group_;
    args.n = pixels;
    args.k = channels * kernel;
    args.out.row = pixels;
    const auto multiply = [&](int64_t i) {
      const int64_t first = i % group_ * args.m;
      const ConvInt8Panels panels(layout, base + i * channels * layout.channel_size(), end, offsets, is_signed, x_zero);
      GemmProblem<int32_t> here = args;
      here.lhs = {.data = weights.values + first * weights.row, .row = weights.row};
      here.rhs.source = &panels;
      here.out.data = out + (i / group_ * shape[1] + first) * pixels;
      Gemm(context.threads(), here);
      if (in.bias != nullptr) AddBias(in.bias->data<int32_t>() + first, here.m, pixels, here.out.data);
    };
    // Groups of all images side by side, or threads share each.
    const int64_t items = shape[0] * group_;
    if (items < context.threads().num_threads()) {
      for (int64_t i = 0; i < items; ++i) multiply(i);
      return;
    }
    const double ns = static_cast<double>(args.m) * static_cast<double>(args.n) * static_cast<double>(args.k) * 0.02;
    context.threads().ParallelFor(items, ns, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        CancellationPoint();
        multiply(i);
      }
    });
  }

  static void AddBias(const int32_t* bias, int64_t rows, int64_t pixels, int32_t* out) {
    for (int64_t m = 0; m < rows; ++m) {
      auto* row = reinterpret_cast<uint32_t*>(out + m * pixels);
      for (int64_t p = 0; p < pixels; ++p) row[p] += static_cast<uint32_t>(bias[m]);
    }
  }

  ConvAttributes attributes_;
  int64_t group_;
  Shape weights_shape_;
  Tensor wide_;
};

}  // namespace tessera::cpu
