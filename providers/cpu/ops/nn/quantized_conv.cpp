#include "cpu/ops/nn/quantized_conv.h"

#include <algorithm>
#include <numeric>

#include "base/cancellation.h"
#include "base/checked.h"
#include "base/rounding.h"
#include "base/work_array.h"
#include "cpu/ops/nn/shared_weights.h"

namespace tessera::cpu {
namespace {

constexpr int64_t kChunkBytes = 160 << 10;  // of panels that stay in the second cache while weights stream
constexpr int64_t kGroupBytes = 48 << 10;   // of a group's channels that are laid out to be read tap by tap
constexpr int64_t kReadBehind = 64;
constexpr double kPackNs = 0.05, kMultiplyNs = 0.008;  // of a byte of a panel

/// Pixels [first, first + width) of the output, in the layout's order; returns the number of runs.
size_t FindRuns(const ConvInput& layout, bool flat, int64_t first, int64_t width, PixelRun* runs) {
  if (flat) {
    runs[0] = {first, 0, width};
    return 1;
  }
  size_t count = 0;
  for (int64_t done = 0; done < width; ++count) {
    const int64_t row = (first + done) / layout.output_width(), column = (first + done) % layout.output_width();
    const int64_t length = std::min(width - done, layout.output_width() - column);
    runs[count] = {layout.row_offsets()[static_cast<size_t>(row)] + column, done, length};
    done += length;
  }
  return count;
}

}  // namespace

ConvAlgorithm ChooseQuantizedConv(const KernelInfo& info, const ConvInputs& inputs) {
  const Tensor* w = info.constant_input(inputs.weights);
  if (w == nullptr || w->shape().rank() < 3 || w->num_elements() == 0 ||
      !ConvAttributes(info.node()).FitsGroups(w->shape()) || !HasConstantZeros(info, *w, inputs))
    return ConvAlgorithm::kIm2colInt16;
  ConvProblem likely = DescribeLikelyConv(info.node(), info.input_info(0).shape.value_or(SymbolicShape()), w->shape());
  likely.types = inputs.gives_accumulators() ? ConvTypes::kBytesToInt32 : ConvTypes::kBytes;
  return RankConvAlgorithms(likely).front().algorithm;
}

QuantizedConv::QuantizedConv(const KernelInfo& info, const ConvInputs& inputs, bool tap_by_tap)
    : attributes_(info.node()), group_(attributes_.group), tap_by_tap_(tap_by_tap) {
  const Tensor* w = info.constant_input(inputs.weights);
  weights_ = w->shape();
  const std::vector<int32_t> zeros = SignedZeros(*w, info.constant_input(inputs.w_zero), weights_[0]);
  std::vector<Requantization::Channel> packed_channels = tap_by_tap_ ? PackTaps(*w, zeros) : PackGroups(info, *w, zeros);
  // Panels are unsigned, quantized values of int8 with the first bit flipped.
  requantization_.emplace(info, std::move(packed_channels), weights_[0],
                          !tap_by_tap_ && info.input_type(0) == ElementType::kInt8 ? 128 : 0, inputs);
  info.ReleaseConstant(inputs.weights);
}

std::vector<Requantization::Channel> QuantizedConv::PackTaps(const Tensor& weights, const std::vector<int32_t>& zeros) {
  const int64_t outputs = weights_[0], k = weights.num_elements() / outputs;
  const bool is_signed = weights.is(ElementType::kInt8);
  std::vector<int32_t> points(static_cast<size_t>(outputs), is_signed ? 0 : 128);
  for (size_t i = 0; i < zeros.size(); ++i) points[i] += zeros[i];
  taps_ = Tensor(ElementType::kInt16, Shape{outputs, 2 * Pairs(k)});
  WidenRows(static_cast<const uint8_t*>(weights.raw()), is_signed, outputs, k, k, points.data(), 1,
            taps_.mutable_data<int16_t>());
  std::vector<Requantization::Channel> packed_channels;
  for (int64_t i = 0; i < outputs; ++i) {
    const int16_t* taps = taps_.data<int16_t>() + i * taps_.shape()[1];
    packed_channels.push_back({i, std::accumulate(taps, taps + k, 0), 0});
  }
  return packed_channels;
}

std::vector<Requantization::Channel> QuantizedConv::PackGroups(const KernelInfo& info, const Tensor& weights,
                                                               const std::vector<int32_t>& zeros) {
  const int64_t outputs = weights_[0] / group_, k = weights.num_elements() / weights_[0];
  const auto* bytes = static_cast<const uint8_t*>(weights.raw());
  std::vector<Requantization::Channel> packed_channels;
  for (int64_t g = 0; g < group_; ++g) {
    const WeightSource source{bytes + g * outputs * k, weights.is(ElementType::kInt8), outputs, k, k, 1};
    auto packed =
        SharedWeights(info, weights, fmt::format("u8s8_conv {} of {}", g, group_), {outputs, k, PanelLayout::kBroadcast},
                      [&] { return PackWeightsS8(info.threads(), source, PanelLayout::kBroadcast); });
    Require(packed != nullptr, "the weights cannot be packed here");
    Requantization::Append(*packed, g * outputs, packed_channels);
    groups_.push_back(std::move(packed));
  }
  weight_zeros_ = Requantization::SubtractZeroPoints(zeros, k, packed_channels);
  return packed_channels;
}

void QuantizedConv::Run(KernelContext& context, const Window& window, Tensor& y) const {
  const ConvCall call = requantization_->Begin(context, window, y);
  if (tap_by_tap_) return RunTapByTap(context, call);
  const Tensor& x = call.x;
  const ConvInput layout(context, window);
  const RangeU8 input = LayOutU8(context, layout, x, window, call.x_zero, false);
  const bool is_signed = x.is(ElementType::kInt8);
  const int64_t pixels = window.output.num_elements(), kernel = window.kernel.num_elements(), channels = weights_[1];
  const int64_t outputs = weights_[0] / group_;
  const std::span<const int64_t> offsets = layout.TapOffsets(context, channels);
  const int64_t last_offset = offsets.empty() ? 0 : *std::ranges::max_element(offsets);
  const bool flat = layout.in_place() && kernel == 1 && layout.channel_size() == pixels;
  const int64_t items = CheckedMul(x.shape()[0], group_), k = channels * kernel, threads = context.threads().num_threads();
  const Pieces pieces = Divide(items, pixels, k, threads);
  // What packing costs counts where outputs are few.
  const double of_item = static_cast<double>(pixels) * static_cast<double>(k) *
                         (kPackNs + static_cast<double>(outputs) * kMultiplyNs) / static_cast<double>(pieces.count());
  context.threads().ParallelFor(items * pieces.count(), of_item, [&](int64_t begin, int64_t end) {
    const WorkArray<uint8_t> packed(static_cast<size_t>(pieces.panels * pieces.panel_bytes));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t item = i / pieces.count(), g = item % group_;
      const PackedWeightsS8& weights = *groups_[static_cast<size_t>(g)];
      const PixelSource source{input.begin + item * channels * layout.channel_size(),
                               input.end,
                               offsets.data(),
                               last_offset,
                               k,
                               static_cast<uint8_t>(is_signed ? 0x80 : 0),
                               weights.wide()};
      OutputStage store = call.Store(pixels);
      store.data = static_cast<uint8_t*>(store.data) + item * outputs * pixels * store.size();
      store.add += g * outputs;
      if (store.kind != OutputStage::kAccumulators) store.scales += g * outputs;
      if (!weight_zeros_.empty()) store.weight_zeros = weight_zeros_.data() + g * outputs;
      CancellationPoint();
      RunPiece({layout, source, weights, store, pixels, flat}, pieces, i % pieces.count(), packed);
    }
  });
}

QuantizedConv::Pieces QuantizedConv::Divide(int64_t items, int64_t pixels, int64_t k, int64_t threads) const {
  const PackedWeightsS8& weights = *groups_[0];
  const bool wide = std::ranges::any_of(groups_, [](const auto& group) { return group->wide(); });
  const int64_t panel_bytes = PanelBytes(k, wide), panels = CeilDiv(pixels, PanelWidth()),
                blocks = CeilDiv(weights.n, weights.width);
  const int64_t want = threads == 1 ? 1 : CeilDiv(3 * threads, items);
  const int64_t chunk = std::clamp<int64_t>(panels / want, 1, std::max<int64_t>(kChunkBytes / panel_bytes, 1));
  const int64_t chunks = CeilDiv(panels, chunk), all = items * chunks;
  // Splitting the output channels repeats the packing.
  return {chunk, chunks, all >= threads ? 1 : std::min(blocks, CeilDiv(threads, all)), panel_bytes};
}

void QuantizedConv::RunPiece(const Group& group, const Pieces& pieces, int64_t piece, uint8_t* packed) {
  const int64_t width = PanelWidth(), panel_bytes = PanelBytes(group.source.rows, group.source.wide),
                blocks = CeilDiv(group.weights.n, group.weights.width);
  const int64_t first = piece / pieces.parts * pieces.panels * width, part = piece % pieces.parts;
  const int64_t some = std::min(group.pixels - first, pieces.panels * width);
  PixelRun runs[64];
  for (int64_t n = 0; n < some; n += width) {
    const size_t count = FindRuns(group.layout, group.flat, first + n, std::min(width, some - n), runs);
    PackPixels(group.source, runs, count, packed + n / width * panel_bytes);
  }
  MultiplyPanels(group.weights, packed, panel_bytes, first, some, blocks * part / pieces.parts,
                 blocks * (part + 1) / pieces.parts, group.store);
}

void QuantizedConv::RunTapByTap(KernelContext& context, const ConvCall& call) const {
  const Tensor& x = call.x;
  const Window& window = call.window;
  const ConvInput layout(context, window);
  const int64_t channels = weights_[1], outputs = weights_[0], per_group = outputs / group_;
  const int64_t pixels = window.output.num_elements(), plane = window.input.num_elements();
  const std::span<const int64_t> offsets = layout.TapOffsets(context, channels);
  const OutputStage store = call.Store(pixels);
  const int64_t group_bytes = CheckedMul(channels, layout.channel_size());
  const bool alone = group_bytes + kReadBehind <= kGroupBytes;  // a group of an image at a time
  const RangeU8 all = alone ? RangeU8{} : LayOutU8(context, layout, x, window, call.x_zero, true);
  const auto compute = [&](int64_t item, const uint8_t* from) {
    for (int64_t output = item % group_ * per_group; output < (item % group_ + 1) * per_group; ++output) {
      const int16_t* taps = taps_.data<int16_t>() + output * taps_.shape()[1];
      ComputeInt8Taps(
          {.from = from,
           .is_signed = x.is(ElementType::kInt8),
           .row_offsets = layout.row_offsets().data(),
           .rows = static_cast<int64_t>(layout.row_offsets().size()),
           .tap_offsets = offsets.data(),
           .weights = taps,
           .taps = static_cast<int64_t>(offsets.size()),
           .width = layout.output_width(),
           .start = store.add[output],
           .scale = store.scales == nullptr ? 0 : store.scales[output],
           .zero = store.zero,
           .output = store.kind,
           .out = static_cast<uint8_t*>(store.data) + (item / group_ * outputs + output) * pixels * store.size()});
    }
  };
  const double cost = static_cast<double>(pixels * per_group) * (1 + static_cast<double>(offsets.size()) * 0.06);
  context.threads().ParallelFor(x.shape()[0] * group_, cost, [&](int64_t begin, int64_t end) {
    const WorkArray<uint8_t> buffer(static_cast<size_t>(alone ? kGroupBytes : 0));
    if (alone) std::fill_n(buffer + group_bytes, kReadBehind, uint8_t{0});
    for (int64_t item = begin; item < end; ++item) {
      CancellationPoint();
      if (!alone) {
        compute(item, all.begin + item * group_bytes);
        continue;
      }
      LayOutChannelsU8(layout, static_cast<const uint8_t*>(x.raw()) + item * channels * plane, plane, channels, call.x_zero,
                       buffer);
      compute(item, buffer);
    }
  });
}

}  // namespace tessera::cpu
