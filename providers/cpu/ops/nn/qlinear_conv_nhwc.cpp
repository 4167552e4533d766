// QLinearConvNhwc (ai.tessera 1): QLinearConv of images in NHWC, [N, H, W, C]. The weights are as
// in QLinearConv, constant, as are their zero points.

#include <numeric>
#include <optional>
#include <vector>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "cpu/engine/slots.h"
#include "cpu/ops/nn/integer_conv.h"
#include "cpu/ops/nn/pixel_rows.h"
#include "cpu/ops/nn/requantization.h"
#include "cpu/ops/nn/shared_weights.h"
#include "cpu/ops/ops.h"
#include "graph/private_names.h"
#include "kernels/conv/choose/choose.h"
#include "kernels/conv/depthwise/depthwise_nhwc_int8.h"
#include "kernels/gemm/rows_u8s8.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kChunkBytes = 256 << 10;  // of rows that stay in the second cache while weights stream
constexpr int64_t kFewestRows = 12;

/// Runs body(part, item) for all items, with at most four parts a thread.
template <class Body>
void ForEachItem(ThreadPool& threads, int64_t items, int64_t parts, double cost_ns, Body&& body) {
  threads.ParallelFor(parts, cost_ns * static_cast<double>(items) / static_cast<double>(parts),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t part = begin; part < end; ++part) {
                          for (int64_t item = items * part / parts; item < items * (part + 1) / parts; ++item) {
                            CancellationPoint();
                            body(part, item);
                          }
                        }
                      });
}

class QLinearConvNhwc final : public Kernel {
 public:
  explicit QLinearConvNhwc(const KernelInfo& info) : attributes_(info.node()), group_(attributes_.group) {
    const Tensor* w = info.constant_input(3);
    Require(w != nullptr && BitWidth(w->type()) == 8 && w->shape().rank() == 4 && w->num_elements() > 0 &&
                attributes_.FitsGroups(w->shape()),
            "the weights must be constant, bytes of rank 4, in {} groups", group_);
    Require(HasConstantZeros(info, *w), "the weights' zero points must be constant, one or {}", w->shape()[0]);
    weights_ = w->shape();
    const auto* bytes = static_cast<const uint8_t*>(w->raw());
    const bool is_signed = w->is(ElementType::kInt8);
    const std::vector<int32_t> zeros = SignedZeros(*w, info.constant_input(5), weights_[0]);
    // Rows of groups are unsigned, quantized values of int8 with the first bit flipped.
    if (Choose() == ConvAlgorithm::kDepthwise) {
      requantization_.emplace(info, PackTaps(bytes, is_signed, zeros), weights_[0], 0);
    } else {
      requantization_.emplace(info, PackGroups(info, *w, zeros), weights_[0],
                              info.input_type(0) == ElementType::kInt8 ? 128 : 0);
    }
    info.ReleaseConstant(3);
  }

  void Compute(KernelContext& context) override {
    const Tensor& x = context.required_input(0);
    const Tensor* bias = context.input(8);
    const Shape& shape = x.shape();
    Require(shape.rank() == 4, "the input must be [N, H, W, C], it is {}", shape);
    const Window window = attributes_.Fit({shape[0], shape[3], shape[1], shape[2]}, weights_, bias);
    Tensor* output = context.output(0, {shape[0], window.output[0], window.output[1], weights_[0]});
    if (output == nullptr || output->num_elements() == 0) return;
    const ConvCall call = requantization_->Begin(context, window, *output);
    depthwise_ ? RunDepthwise(context, call) : RunGroups(context, call);
  }

  std::string Implementation(KernelContext& /*context*/) override { return std::string(NameOf(Choose())); }

 private:
  ConvAlgorithm Choose() const {
    return RankConvAlgorithms({.layout = ConvLayout::kNhwc,
                               .types = ConvTypes::kBytes,
                               .channels = weights_[1] * group_,
                               .outputs = weights_[0],
                               .groups = group_})
        .front()
        .algorithm;
  }

  std::vector<Requantization::Channel> PackTaps(const uint8_t* bytes, bool is_signed, const std::vector<int32_t>& zeros) {
    const int64_t taps = weights_[2] * weights_[3];
    std::vector<int16_t> wide(static_cast<size_t>(group_ * taps));
    for (size_t i = 0; i < wide.size(); ++i) {
      const int weight = is_signed ? static_cast<int8_t>(bytes[i]) : bytes[i] - 128;
      wide[i] = static_cast<int16_t>(weight - (zeros.empty() ? 0 : zeros[i / static_cast<size_t>(taps)]));
    }
    depthwise_.emplace(wide.data(), group_, taps);
    std::vector<Requantization::Channel> packed_channels;
    for (int64_t i = 0; i < depthwise_->arranged(); ++i) {
      const int64_t channel = depthwise_->ChannelAt(i);
      const int16_t* weights = wide.data() + channel * taps;
      packed_channels.push_back({channel, std::accumulate(weights, weights + taps, 0), 0});
    }
    return packed_channels;
  }

  /// The weights of each output channel in the order of the window's bytes.
  std::vector<Requantization::Channel> PackGroups(const KernelInfo& info, const Tensor& weights,
                                                  const std::vector<int32_t>& zeros) {
    Require(PaddedRowsWidth() > 0, "this machine has no 8-bit matmul");
    const int64_t channels = weights_[1], taps = weights_[2] * weights_[3], k = CheckedMul(channels, taps),
                  outputs = weights_[0] / group_;
    Require(k <= INT32_MAX, "an output channel has {} weights", k);
    std::vector<uint8_t> transposed;
    std::vector<Requantization::Channel> packed_channels;
    for (int64_t g = 0; g < group_; ++g) {
      auto packed = SharedWeights(
          info, weights, fmt::format("u8s8_nhwc {} of {}", g, group_), {outputs, k, PanelLayout::kPaddedRows}, [&] {
            const auto* bytes = static_cast<const uint8_t*>(weights.raw()) + g * outputs * k;
            transposed.resize(static_cast<size_t>(outputs * k));
            info.threads().ParallelFor(outputs, static_cast<double>(k), [&](int64_t begin, int64_t end) {
              for (int64_t i = begin; i < end; ++i) TransposeTaps(bytes + i * k, channels, taps, transposed.data() + i * k);
            });
            return PackWeightsS8(info.threads(), {transposed.data(), weights.is(ElementType::kInt8), outputs, k, k, 1},
                                 PanelLayout::kPaddedRows);
          });
      Require(packed != nullptr, "the weights cannot be packed here");
      Requantization::Append(*packed, g * outputs, packed_channels);
      packed_channels.resize(packed_channels.size() + static_cast<size_t>(RoundUp(outputs, packed->width) - outputs));
      groups_.push_back(std::move(packed));
    }
    weight_zeros_ = Requantization::SubtractZeroPoints(zeros, k, packed_channels);
    return packed_channels;
  }

  /// [channels][taps] to [taps][channels].
  static void TransposeTaps(const uint8_t* from, int64_t channels, int64_t taps, uint8_t* to) {
    for (int64_t t = 0; t < taps; ++t) {
      for (int64_t c = 0; c < channels; ++c) *to++ = from[c * taps + t];
    }
  }

  void RunGroups(KernelContext& context, const ConvCall& call) const {
    const PixelRows pixels = PixelsOf(call, 0);
    const Rows rows{pixels, static_cast<const uint8_t*>(call.x.raw()), call.y.num_elements() / weights_[0], pixels.row()};
    const PackedWeightsS8& weights = *groups_[0];
    const int64_t blocks = CeilDiv(weights.n, weights.width), threads = context.threads().num_threads();
    // Threads split the larger operand, and each reads all of the other.
    const bool by_channels =
        group_ == 1 && threads > 1 && blocks >= threads && rows.count < blocks * weights.block_bytes / rows.bytes;
    by_channels ? ShareChannels(context, rows, weights, StoreOf(call, 0)) : ShareRows(context, call, rows);
  }

  PixelRows PixelsOf(const ConvCall& call, int64_t group) const {
    return {static_cast<const uint8_t*>(call.x.raw()),
            call.x.num_elements(),
            call.window,
            weights_[1] * group_,
            group * weights_[1],
            weights_[1],
            static_cast<uint8_t>(call.x_zero),
            static_cast<uint8_t>(call.x.is(ElementType::kInt8) ? 0x80 : 0)};
  }

  OutputStage StoreOf(const ConvCall& call, int64_t group) const {
    const int64_t outputs = weights_[0] / group_, padded = RoundUp(outputs, groups_[0]->width);
    OutputStage store;
    store.kind = call.y.is(ElementType::kInt8) ? OutputStage::kInt8 : OutputStage::kUInt8;
    store.data = static_cast<uint8_t*>(call.y.mutable_raw()) + group * outputs;
    store.row = weights_[0];
    store.add = call.starts.data() + group * padded;
    store.scales = call.scales.data() + group * padded;
    store.zero = call.y_zero;
    if (!weight_zeros_.empty()) store.weight_zeros = weight_zeros_.data() + group * padded;
    return store;
  }

  /// Those of the first group.
  struct Rows {
    PixelRows pixels;
    const uint8_t* images;
    int64_t count, bytes;
  };

  /// Rows that are copied and multiplied together: few enough to stay in the second cache, as alike in number as tiles
  /// allow.
  static int64_t ChunkOf(const Rows& rows, int64_t want) {
    const int64_t fits = std::max(kChunkBytes / rows.bytes / kFewestRows, int64_t{1}) * kFewestRows;
    return RoundUp(CeilDiv(rows.count, std::max(want, CeilDiv(rows.count, fits))), kFewestRows);
  }

  static double CopyNsOf(const Rows& rows) {
    return rows.pixels.in_place() ? 0 : static_cast<double>(rows.count) * (5 + static_cast<double>(rows.bytes) * 0.05);
  }
  /// Of a group's. A machine without dot products does some hundred in a nanosecond.
  static double NsOf(const Rows& rows, int64_t n) {
    return static_cast<double>(n) * static_cast<double>(rows.count) * static_cast<double>(rows.bytes) * 0.01;
  }

  void ShareRows(KernelContext& context, const ConvCall& call, const Rows& rows) const {
    const int64_t n = groups_[0]->n, threads = context.threads().num_threads(),
                  chunk = ChunkOf(rows, threads == 1 ? 1 : CeilDiv(3 * threads, group_));
    const int64_t chunks = CeilDiv(rows.count, chunk), items = CheckedMul(chunks, group_),
                  parts = PartsFor(context.threads(), items);
    const bool copies = !rows.pixels.in_place();
    const auto row_sums =
        context.scratch<int32_t>(weight_zeros_.empty() ? 0 : static_cast<size_t>(CheckedMul(chunk, parts)));
    const auto buffer =
        context.scratch<uint8_t>(copies ? static_cast<size_t>(CheckedMul(CheckedMul(chunk, rows.bytes), parts)) : 0);
    ForEachItem(context.threads(), items, parts, (NsOf(rows, n) + CopyNsOf(rows)) / static_cast<double>(chunks),
                [&](int64_t part, int64_t item) {
                  const int64_t group = item / chunks, begin = item % chunks * chunk,
                                end = std::min(rows.count, begin + chunk);
                  const PackedWeightsS8& weights = *groups_[static_cast<size_t>(group)];
                  const uint8_t* data = rows.images + begin * rows.bytes;
                  if (copies) {
                    uint8_t* to = buffer.data() + part * chunk * rows.bytes;
                    PixelsOf(call, group).Copy(begin, end, to);
                    data = to;
                  }
                  OutputStage here = StoreOf(call, group);
                  here.data = static_cast<uint8_t*>(here.data) + begin * here.row;
                  if (!row_sums.empty()) {
                    here.row_sums = row_sums.data() + part * chunk;
                    SumPaddedRows({data, rows.bytes, end - begin}, row_sums.data() + part * chunk);
                  }
                  MultiplyPaddedRows(weights, {data, rows.bytes, end - begin}, 0, CeilDiv(weights.n, weights.width), here);
                });
  }

  void ShareChannels(KernelContext& context, const Rows& rows, const PackedWeightsS8& weights,
                     const OutputStage& store) const {
    const uint8_t* data = rows.images;
    if (!rows.pixels.in_place()) {
      const auto buffer = context.scratch<uint8_t>(static_cast<size_t>(CheckedMul(rows.count, rows.bytes)));
      context.threads().ParallelFor(
          rows.count, CopyNsOf(rows) / static_cast<double>(rows.count),
          [&](int64_t begin, int64_t end) { rows.pixels.Copy(begin, end, buffer.data() + begin * rows.bytes); });
      data = buffer.data();
    }
    const auto row_sums = context.scratch<int32_t>(store.weight_zeros == nullptr ? 0 : static_cast<size_t>(rows.count));
    if (!row_sums.empty()) {
      context.threads().ParallelFor(
          rows.count, 2 + static_cast<double>(rows.bytes) * 0.02, [&](int64_t begin, int64_t end) {
            SumPaddedRows({data + begin * rows.bytes, rows.bytes, end - begin}, row_sums.data() + begin);
          });
    }
    const int64_t chunk = ChunkOf(rows, 1);
    context.threads().ParallelFor(
        CeilDiv(weights.n, weights.width), NsOf(rows, weights.width), [&](int64_t begin, int64_t end) {
          for (int64_t row = 0; row < rows.count; row += chunk) {
            OutputStage here = store;
            here.data = static_cast<uint8_t*>(store.data) + row * store.row;
            if (!row_sums.empty()) here.row_sums = row_sums.data() + row;
            MultiplyPaddedRows(weights, {data + row * rows.bytes, rows.bytes, std::min(chunk, rows.count - row)}, begin,
                               end, here);
          }
        });
  }

  void RunDepthwise(KernelContext& context, const ConvCall& call) const {
    const Window& window = call.window;
    const int64_t channels = group_, taps = depthwise_->taps();
    const auto outside = context.scratch<uint8_t>(static_cast<size_t>(CheckedMul(window.input[1], channels)));
    std::fill(outside.begin(), outside.end(), static_cast<uint8_t>(call.x_zero));
    const DepthwiseNhwc::Pixels pixels{nullptr,
                                       window.strides[1] * channels,
                                       1,
                                       call.x.is(ElementType::kInt8),
                                       call.starts.data(),
                                       call.scales.data(),
                                       call.y_zero,
                                       call.y.is(ElementType::kInt8),
                                       nullptr};
    const int64_t rows = call.y.shape()[0] * window.output[0], parts = PartsFor(context.threads(), rows);
    const auto pointers = context.scratch<const uint8_t*>(static_cast<size_t>(CheckedMul(parts, 2 * taps)));
    const double cost = static_cast<double>(window.output[1] * channels) * (0.2 + static_cast<double>(taps) * 0.05);
    ForEachItem(context.threads(), rows, parts, cost, [&](int64_t part, int64_t row) {
      RunRow(call, row, outside.data(),
             pointers.subspan(static_cast<size_t>(part * 2 * taps), static_cast<size_t>(2 * taps)), pixels);
    });
  }

  /// One row of the output: pixels at the borders one by one, those between them together.
  void RunRow(const ConvCall& call, int64_t row, const uint8_t* outside, std::span<const uint8_t*> pointers,
              DepthwiseNhwc::Pixels pixels) const {
    const Window& w = call.window;
    const int64_t channels = group_, image = row / w.output[0], y = row % w.output[0], width = w.output[1],
                  taps = depthwise_->taps();
    const auto [first, last] = w.inner(1);
    const uint8_t** at = pointers.data() + taps;
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t in = y * w.strides[0] - w.begin[0] + t / w.kernel[1] * w.dilations[0];
      const bool inside = in >= 0 && in < w.input[0];
      pointers[t] =
          inside ? static_cast<const uint8_t*>(call.x.raw()) + (image * w.input[0] + in) * w.input[1] * channels : outside;
    }
    pixels.taps = at;
    auto* out = static_cast<uint8_t*>(call.y.mutable_raw()) + row * width * channels;
    for (int64_t x = 0; x < width; x += pixels.count) {
      pixels.count = x == first && first < last ? last - first : 1;
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t column = x * w.strides[1] - w.begin[1] + t % w.kernel[1] * w.dilations[1];
        at[t] = column >= 0 && column < w.input[1] ? pointers[t] + column * channels : outside;
      }
      pixels.out = out + x * channels;
      depthwise_->Compute(pixels);
    }
  }

  ConvAttributes attributes_;
  int64_t group_;
  Shape weights_;
  std::vector<int32_t> weight_zeros_;  // what the rows' sums are multiplied with, by output channel; empty: the weights
                                       // have no zero points
  std::vector<std::shared_ptr<const PackedWeightsS8>> groups_;
  std::optional<DepthwiseNhwc> depthwise_;
  std::optional<Requantization> requantization_;
};

}  // namespace

void RegisterQLinearConvNhwc(KernelRegistry& registry) {
  constexpr TypeSet kBytes = {ElementType::kUInt8, ElementType::kInt8};
  if (PaddedRowsWidth() == 0) return;
  registry.Add(Op("QLinearConvNhwc", kTesseraDomain)
                   .Types(0, kBytes)
                   .Types(3, kBytes)
                   .OutputTypes(0, kBytes)
                   .Make<QLinearConvNhwc>());
}

}  // namespace tessera::cpu
