#include "onednn/program/channel_affine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "onednn/lowering/lowering.h"
#include "ops/normalization/batch_normalization.h"

namespace tessera::onednn {
namespace {

/// Is `tensor`, broadcast against `dims`, one element or one a channel, without changing the shape?
bool IsByChannel(const Tensor& tensor, const Dims& dims) {
  const Shape& shape = tensor.shape();
  if (!tensor.is(ElementType::kFloat) || shape.rank() > dims.size()) return false;
  for (size_t i = 0; i < shape.rank(); ++i) {
    const size_t at = dims.size() - shape.rank() + i;
    if (shape[i] != 1 && (at != 1 || shape[i] != dims[1])) return false;
  }
  return true;
}

}  // namespace

bool ChannelAffine::Append(const GraphViewer& graph, const Node& node, ValueIndex x, const Dims& dims) {
  if (!node.domain.empty() || dims.size() < 2 || dims.size() > 5) return false;
  if (node.op_type == "BatchNormalization") {
    if (node.inputs[0] != x) return false;
    Step step{.kind = Kind::kBatchNorm, .epsilon = BatchNormalizationAttributes(node).epsilon, .constants = {}};
    for (size_t i = 1; i < 5; ++i) {
      const Tensor* tensor = graph.constant(node.inputs[i]);
      if (tensor == nullptr || !tensor->is(ElementType::kFloat) || tensor->shape() != Shape{dims[1]}) return false;
      step.constants.push_back(*tensor);
    }
    return Keep(std::move(step), dims[1]);
  }
  const bool swapped = node.inputs.size() == 2 && node.inputs[1] == x;
  Kind kind;
  if (node.op_type == "Add" || node.op_type == "Sum") {
    kind = Kind::kAdd;
  } else if (node.op_type == "Mul") {
    kind = Kind::kMul;
  } else if (node.op_type == "Sub") {
    kind = swapped ? Kind::kSubFrom : Kind::kSub;
  } else if (node.op_type == "Div" && !swapped) {
    kind = Kind::kDiv;
  } else {
    return false;
  }
  if (node.inputs.size() != 2 || node.inputs[swapped ? 1 : 0] != x) return false;
  const ValueIndex other = node.inputs[swapped ? 0 : 1];
  const Tensor* tensor = other == kNone || other == x ? nullptr : graph.constant(other);
  if (tensor == nullptr || !IsByChannel(*tensor, dims)) return false;
  return Keep({.kind = kind, .constants = {*tensor}}, dims[1]);
}

bool ChannelAffine::Keep(Step step, int64_t channels) {
  // Multiplied with each other and with weights, numbers must not overflow where one after the other would not.
  constexpr double kLargest = 0x1p32;
  steps_.push_back(std::move(step));
  const auto [scale, shift] = Compute(channels);
  const auto usual = [](double value) { return std::abs(value) <= kLargest; };
  if (std::ranges::all_of(scale, usual) && std::ranges::all_of(shift, usual)) return true;
  steps_.pop_back();
  return false;
}

ChannelAffine::Numbers ChannelAffine::Compute(int64_t channels) const {
  const auto count = static_cast<size_t>(channels);
  Numbers numbers{std::vector<double>(count, 1), std::vector<double>(count, 0)};
  for (const Step& step : steps_) {
    const auto at = [&](size_t constant, size_t c) -> double {
      const auto values = step.constants[constant].values<float>();
      return values[values.size() == 1 ? 0 : c];
    };
    for (size_t c = 0; c < count; ++c) {
      double &scale = numbers.scale[c], &shift = numbers.shift[c];
      switch (step.kind) {
        case Kind::kBatchNorm: {
          const double by = at(0, c) / std::sqrt(at(3, c) + step.epsilon);
          scale *= by;
          shift = (shift - at(2, c)) * by + at(1, c);
          break;
        }
        case Kind::kAdd: shift += at(0, c); break;
        case Kind::kSub: shift -= at(0, c); break;
        case Kind::kSubFrom:
          scale = -scale;
          shift = at(0, c) - shift;
          break;
        case Kind::kMul:
          scale *= at(0, c);
          shift *= at(0, c);
          break;
        case Kind::kDiv:
          scale /= at(0, c);
          shift /= at(0, c);
          break;
      }
    }
  }
  return numbers;
}

std::string ChannelAffine::Key() const {
  std::string key;
  const auto append = [&](const auto& value) { key.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
  for (const Step& step : steps_) {
    append(step.kind);
    append(step.epsilon);
    for (const Tensor& constant : step.constants) {
      append(constant.unaligned_raw());
      append(constant.num_elements());
    }
  }
  return key;
}

std::vector<Tensor> ChannelAffine::sources() const {
  std::vector<Tensor> tensors;
  for (const Step& step : steps_) tensors.insert(tensors.end(), step.constants.begin(), step.constants.end());
  return tensors;
}

}  // namespace tessera::onednn
