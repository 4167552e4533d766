// fold_pads: zeros that Pad puts around an image become the padding of the convolution that reads it, of the average that
// counts them (torch writes such averages so), and of the maximum that finds them no more than what Relu left (Keras writes
// such maxima so).

#include <algorithm>
#include <optional>

#include "ops/movement/pad.h"
#include "ops/nn/pool.h"
#include "ops/valid_attributes.h"
#include "optimizer/analysis/channels.h"
#include "optimizer/analysis/edit.h"
#include "optimizer/rewrites.h"

namespace tessera {
namespace {

bool IsZero(const Tensor& value) {
  const auto* bytes = static_cast<const std::byte*>(value.raw());
  return value.num_elements() == 1 && !value.is(ElementType::kString) &&
         std::all_of(bytes, bytes + value.byte_size(), [](std::byte byte) { return byte == std::byte{0}; });
}

bool PadsZeros(const Graph& graph, const Node& pad) {
  if (!IsOp(pad, "Pad") || !HasInput(pad, 0) || HasInput(pad, 3) || pad.since_version < 2) return false;
  const auto attributes = ValidAttributes<PadAttributes>(pad);
  if (!attributes || attributes->mode != PadMode::kConstant) return false;
  if (attributes->from_attributes) return attributes->value == 0;
  const Tensor* value = ConstantInput(graph, pad, 2);
  return value == nullptr ? !HasInput(pad, 2) : IsZero(*value);
}

bool IsNone(const Shape& pads) {
  return std::ranges::all_of(pads, [](int64_t pad) { return pad == 0; });
}

/// The maximum of an empty image is not that of the zeros around it.
bool IsNotEmpty(const SymbolicShape* image) {
  return image != nullptr && image->size() > 2 && std::all_of(image->begin() + 2, image->end(), [](const Dimension& size) {
           return size.known() && size.value > 0;
         });
}

/// Whether `node` gives the same where zeros around its image are its own padding.
bool TakesZeros(const Graph& graph, const Node& node, const WindowAttributes& window, const Node& pad) {
  if (window.auto_pad() != AutoPad::kNotSet) return false;
  if (IsOp(node, "Conv")) return true;
  // Windows that start in the padding at the end are not the same ones then.
  if (window.ceil_mode()) return false;
  if (IsOp(node, "AveragePool")) {
    return node.since_version >= 7 && (PoolAttributes(node).count_include_pad || IsNone(window.pads()));
  }
  const Node* relu = IsOp(node, "MaxPool") && HasOneOutput(node) ? Producer(graph, pad, 0) : nullptr;
  return relu != nullptr && IsOp(*relu, "Relu") && IsNotEmpty(ShapeOf(graph, pad.inputs[0]));
}

/// Every window of a pool must keep an element of the image: maxima of padding alone are not zero, and some versions forbid
/// it.
bool IsWithinWindows(const WindowAttributes& pool, const std::vector<int64_t>& pads) {
  const auto window = WindowBeforeImage(pool, pool.kernel().dims());
  if (!window || window->rank() * 2 != pads.size()) return false;
  for (size_t i = 0; i < pads.size(); ++i) {
    const size_t axis = i % window->rank();
    if (window->dilations[axis] != 1 || pads[i] >= window->kernel[axis]) return false;
  }
  return true;
}

class PadFolding final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    Node& node = graph.node(index);
    const bool convolves = IsOp(node, "Conv");
    const Node* pad = convolves || IsOp(node, "AveragePool") || IsOp(node, "MaxPool") ? Producer(graph, node, 0) : nullptr;
    if (pad == nullptr || !PadsZeros(graph, *pad)) return false;
    const auto window = ValidAttributes<WindowAttributes>(node);
    if (!window || !TakesZeros(graph, node, *window, *pad)) return false;
    auto pads = Joined(graph, *window, *pad);
    if (!pads || !(convolves || IsWithinWindows(*window, *pads))) return false;
    if (IsOp(node, "AveragePool")) SetAttribute(node, "count_include_pad", int64_t{1});
    SetAttribute(node, "pads", *std::move(pads));
    graph.SetInput(index, 0, pad->inputs[0]);
    return true;
  }

 private:
  static constexpr int64_t kMostPadding = 1 << 20;

  /// The node's own padding and what Pad adds; nothing where that cuts, or adds to other axes than those of the image.
  static std::optional<std::vector<int64_t>> Joined(const Graph& graph, const WindowAttributes& window, const Node& pad) {
    const SymbolicShape* shape = ShapeOf(graph, pad.inputs[0]);
    const auto around = PadsOf(graph, pad);
    if (shape == nullptr || shape->size() < 3 || !around || around->size() != 2 * shape->size()) return std::nullopt;
    const size_t rank = shape->size(), spatial = rank - 2;
    std::vector<int64_t> pads(2 * spatial, 0);
    if (window.pads().rank() > 0) {
      const auto fits = [](int64_t pad) { return pad <= kMostPadding; };
      if (window.pads().rank() != pads.size() || !std::ranges::all_of(window.pads(), fits)) return std::nullopt;
      std::ranges::copy(window.pads(), pads.begin());
    }
    for (size_t i = 0; i < 2 * rank; ++i) {
      const int64_t added = (*around)[i];
      const size_t axis = i % rank;
      if (added < 0 || added > kMostPadding || (axis < 2 && added != 0)) return std::nullopt;
      if (axis >= 2) pads[i / rank * spatial + axis - 2] += added;
    }
    return pads;
  }
};

}  // namespace

std::unique_ptr<Rewrite> FoldPads() { return std::make_unique<PadFolding>(); }

}  // namespace tessera
