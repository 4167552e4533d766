#include "optimizer/analysis/neutral_element.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "optimizer/analysis/edit.h"

namespace tessera {
namespace {

constexpr int64_t kMostElements = 4096;

/// What an operator leaves alone beside its left and right input.
struct Neutral {
  double value;
  bool commutes;
  bool negative_zero = false;  // of floats: -0, as 0 is not neutral
};

const Neutral* NeutralOf(const Node& node) {
  static const std::map<std::string_view, Neutral> table = {
      {"Add", {0, true, true}}, {"Sub", {0, false}},       {"Mul", {1, true}},
      {"Div", {1, false}},      {"And", {1, true}},        {"Or", {0, true}},
      {"BitwiseOr", {0, true}}, {"BitwiseXor", {0, true}}, {"Xor", {0, true}},
  };
  const auto found = table.find(node.op_type);
  return found == table.end() || node.since_version < 7 ? nullptr : &found->second;
}

template <class T>
bool AllAre(const Tensor& tensor, const Neutral& neutral) {
  const auto values = tensor.values<T>();
  return std::all_of(values.begin(), values.end(), [&](T value) {
    if constexpr (std::is_floating_point_v<T>) {
      return value == static_cast<T>(neutral.value) && std::signbit(value) == neutral.negative_zero;
    } else {
      return value == static_cast<T>(neutral.value);
    }
  });
}

bool IsNeutral(const Tensor& tensor, const Neutral& neutral) {
  if (tensor.num_elements() == 0 || tensor.num_elements() > kMostElements) return false;
  switch (tensor.type()) {
    case ElementType::kFloat: return AllAre<float>(tensor, neutral);
    case ElementType::kDouble: return AllAre<double>(tensor, neutral);
    case ElementType::kInt64: return AllAre<int64_t>(tensor, neutral);
    case ElementType::kInt32: return AllAre<int32_t>(tensor, neutral);
    case ElementType::kUInt8: return AllAre<uint8_t>(tensor, neutral);
    case ElementType::kBool: return AllAre<bool>(tensor, neutral);
    case ElementType::kFloat16:
    case ElementType::kBFloat16: {
      const bool half = tensor.is(ElementType::kFloat16);
      const uint16_t one = half ? 0x3c00 : 0x3f80;
      const auto bits = static_cast<uint16_t>(neutral.value == 1 ? one : neutral.negative_zero ? 0x8000 : 0);
      const auto* values = static_cast<const uint16_t*>(tensor.raw());
      return std::all_of(values, values + tensor.num_elements(), [&](uint16_t value) { return value == bits; });
    }
    default: return false;
  }
}

/// Beside any tensor of shape `kept`, a tensor of shape `constant` does not broadcast it.
bool KeepsShape(const SymbolicShape* kept, const Shape& constant) {
  if (constant.rank() == 0) return true;
  if (kept == nullptr || constant.rank() > kept->size()) return false;
  const size_t offset = kept->size() - constant.rank();
  for (size_t i = 0; i < constant.rank(); ++i) {
    const Dimension& dim = (*kept)[offset + i];
    if (constant[i] != 1 && !(dim.known() && dim.value == constant[i])) return false;
  }
  return true;
}

}  // namespace

std::optional<size_t> InputBesideNeutralElement(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || node.inputs.size() != 2) return std::nullopt;
  const Neutral* neutral = NeutralOf(node);
  if (neutral == nullptr) return std::nullopt;
  for (const size_t kept : {size_t{0}, size_t{1}}) {
    const Tensor* constant = ConstantInput(graph, node, 1 - kept);
    if (constant == nullptr || (kept == 1 && !neutral->commutes)) continue;
    if (ElementOf(graph, node.outputs[0]) != constant->type()) continue;
    if (KeepsShape(ShapeOf(graph, node.inputs[kept]), constant->shape()) && IsNeutral(*constant, *neutral)) return kept;
  }
  return std::nullopt;
}

}  // namespace tessera
