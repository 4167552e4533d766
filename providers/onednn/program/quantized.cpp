#include "onednn/program/quantized.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "onednn/program/shared_weights.h"

namespace tessera::onednn {
namespace {

/// Calls `body(i, channel)` for each element of a weight.
template <class Body>
void ForEachQuantized(const QuantizedWeight& weight, const Body& body) {
  const int64_t count = weight.quantized->num_elements(), channels = weight.channels();
  const int64_t row = weight.axis == ChannelAxis::kFirst ? count / channels : channels;
  for (int64_t i = 0, at = 0; i < count; at = 0) {
    const int64_t outer = i / row;
    for (; at < row; ++at, ++i) body(i, weight.axis == ChannelAxis::kFirst ? outer : at);
  }
}

std::vector<int32_t> Zeros(const QuantizedWeight& weight) {
  std::vector<int32_t> zeros;
  zeros.reserve(static_cast<size_t>(weight.channels()));
  for (int64_t c = 0; c < weight.channels(); ++c) zeros.push_back(weight.zero(c));
  return zeros;
}

}  // namespace

int32_t QuantizedAt(const Tensor& tensor, int64_t i) {
  const auto* bytes = static_cast<const uint8_t*>(tensor.unaligned_raw());
  return tensor.is(ElementType::kInt8) ? static_cast<int8_t>(bytes[i]) : bytes[i];
}

int32_t QuantizedWeight::zero(int64_t channel) const {
  return zeros == nullptr ? 0 : QuantizedAt(*zeros, zeros->num_elements() == 1 ? 0 : channel);
}

std::string RefuseQuantizedWeight(const GraphViewer& graph, const Node& node, size_t weight, size_t zeros,
                                  ChannelAxis axis) {
  const Tensor* quantized = graph.constant(node.inputs[weight]);
  if (quantized == nullptr) return "its weights are not constant";
  if (quantized->num_elements() == 0) return "its weights are empty";
  const QuantizedWeight given{
      quantized, zeros < node.inputs.size() && node.inputs[zeros] != kNone ? graph.constant(node.inputs[zeros]) : nullptr,
      axis};
  if (!IsConstantOf(graph, node, zeros, given.channels(), true))
    return "its weights' zero points are not constants, one or one a channel";
  if (given.zeros != nullptr && given.zeros->type() != quantized->type())
    return "its weights' zero points are of another type";
  const std::vector<int32_t> points = Zeros(given);
  const int32_t middle = quantized->is(ElementType::kInt8) ? 0 : 128;
  bool fits = true;
  if (std::all_of(points.begin(), points.end(), [&](int32_t point) { return point == middle; })) return {};
  ForEachQuantized(given, [&](int64_t i, int64_t channel) {
    const int32_t value = QuantizedAt(*quantized, i) - points[static_cast<size_t>(channel)];
    fits = fits && value >= std::numeric_limits<int8_t>::min() && value <= std::numeric_limits<int8_t>::max();
  });
  return fits ? std::string() : "its weights less their zero points do not fit int8, which is what oneDNN multiplies by";
}

int64_t LargestAccumulator(const QuantizedWeight& weight) {
  constexpr int64_t kLargestQuantized = 255;
  const std::vector<int32_t> points = Zeros(weight);
  std::vector<int64_t> sums(points.size());
  ForEachQuantized(weight, [&](int64_t i, int64_t channel) {
    const auto c = static_cast<size_t>(channel);
    sums[c] += std::abs(QuantizedAt(*weight.quantized, i) - points[c]);
  });
  return *std::max_element(sums.begin(), sums.end()) * kLargestQuantized;
}

SignedWeight AddSigned(ProgramBuilder& builder, const QuantizedWeight& weight) {
  const std::vector<int32_t> points = Zeros(weight);
  const Dims dims = ToDims(weight.quantized->shape());
  const Desc given = Plain(dims, DataTypeOf(weight.quantized->type())), wanted = Plain(dims, DataType::s8);
  SignedWeight result{-1, std::vector<int32_t>(points.size())};
  ForEachQuantized(weight, [&](int64_t i, int64_t channel) {
    const auto c = static_cast<size_t>(channel);
    result.sums[c] += QuantizedAt(*weight.quantized, i) - points[c];
  });
  auto memory = SharedWeights::Plain(*weight.quantized, given);
  const bool as_it_is =
      given == wanted && std::all_of(points.begin(), points.end(), [](int32_t point) { return point == 0; });
  if (!as_it_is) {
    const std::string key =
        "signed" + std::string(reinterpret_cast<const char*>(points.data()), points.size() * sizeof(int32_t));
    memory = builder.weights().ConvertedBytes(key, memory, wanted, [&](const std::byte*, std::byte* to) {
      ForEachQuantized(weight, [&](int64_t i, int64_t channel) {
        to[i] = static_cast<std::byte>(QuantizedAt(*weight.quantized, i) - points[static_cast<size_t>(channel)]);
      });
    });
  }
  result.memory = builder.Constant(wanted, std::move(memory));
  return result;
}

std::optional<Desc> Requantization::ShiftDesc(const Dims& dims) const {
  if (shifts.empty()) return std::nullopt;
#if DNNL_VERSION_MAJOR >= 3
  return Plain(dims, scales.empty() ? DataType::s32 : DataType::f32);
#else
  return Plain(dims, DataType::s32);
#endif
}

dnnl::primitive_attr Requantization::Attributes([[maybe_unused]] int weight_mask, [[maybe_unused]] int result_mask) const {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
  if (!scales.empty()) attr.set_scales_mask(DNNL_ARG_WEIGHTS, scales.size() == 1 ? 0 : weight_mask);
  if (source_zero) attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
  if (result_zero) attr.set_zero_points_mask(DNNL_ARG_DST, 0);
#else
  if (!scales.empty()) attr.set_output_scales(scales.size() == 1 ? 0 : result_mask, scales);
  if (source_zero) attr.set_zero_points(DNNL_ARG_SRC, 0, {DNNL_RUNTIME_S32_VAL});
  if (result_zero) attr.set_zero_points(DNNL_ARG_DST, 0, {DNNL_RUNTIME_S32_VAL});
#endif
  return attr;
}

void Requantization::AddArguments(ProgramBuilder& builder, const Dims& shift_dims,
                                  std::vector<std::pair<int, MemoryIndex>>& arguments) const {
  if (source_zero) arguments.emplace_back(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, *source_zero);
  if (result_zero) arguments.emplace_back(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST, *result_zero);
#if DNNL_VERSION_MAJOR >= 3
  if (!scales.empty()) {
    arguments.emplace_back(DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS,
                           builder.Constant(Dims{static_cast<int64_t>(scales.size())}, std::span<const float>(scales)));
  }
  if (!shifts.empty() && !scales.empty()) {  // it scales the sums before it adds
    std::vector<float> scaled(shifts.size());
    for (size_t i = 0; i < shifts.size(); ++i)
      scaled[i] = static_cast<float>(static_cast<double>(shifts[i]) * scales[scales.size() == 1 ? 0 : i]);
    arguments.emplace_back(DNNL_ARG_BIAS, builder.Constant(shift_dims, std::span<const float>(scaled)));
    return;
  }
#endif
  if (!shifts.empty()) {
    const Desc desc = Plain(shift_dims, DataType::s32);
    arguments.emplace_back(DNNL_ARG_BIAS, builder.Constant(desc, SharedWeights::Made<int32_t>(desc, shifts)));
  }
}

MemoryIndex AddScalar(ProgramBuilder& builder, const Node& node, size_t input, DataType type) {
  const RegionValue value = builder.input(node, input);
  Require(Elements(value.dims) == 1, "input {} has {} elements, 1 is expected", input, Elements(value.dims));
  const MemoryIndex given = builder.InPlainLayout(value);
  return builder.InLayout(builder.Alias(given, Plain({1}, TypeOf(builder.desc(given)))), Plain({1}, type));
}

bool IsConstantOf(const GraphViewer& graph, const Node& node, size_t i, int64_t count, bool optional) {
  if (i >= node.inputs.size() || node.inputs[i] == kNone) return optional;
  const Tensor* tensor = graph.constant(node.inputs[i]);
  return tensor != nullptr && (tensor->num_elements() == 1 || tensor->num_elements() == count);
}

std::vector<float> CombinedScales(const Tensor& x, const Tensor& w, const Tensor& y) {
  std::vector<float> scales;
  for (const float scale : w.values<float>()) scales.push_back(x.values<float>()[0] * scale / y.values<float>()[0]);
  return scales;
}

}  // namespace tessera::onednn
