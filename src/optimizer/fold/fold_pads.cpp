// fold_pads: zeros that Pad puts around an image become the padding of the convolution that reads it, of the average that
// counts them (torch writes such averages so), and of the maximum that finds them no more than what Relu left (Keras writes
// such maxima so).

#include <algorithm>
#include <optional>

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
  if (StringAttribute(pad, "mode", "constant") != "constant") return false;
  if (pad.since_version < 11) return FloatAttribute(pad, "value", 0) == 0;
  const Tensor* value = ConstantInput(graph, pad, 2);
  return value == nullptr ? !HasInput(pad, 2) : IsZero(*value);
}

bool IsNone(const std::vector<int64_t>* pads) {
  return pads == nullptr || std::ranges::all_of(*pads, [](int64_t pad) { return pad == 0; });
}

/// The maximum of an empty image is not that of the zeros around it.
bool IsNotEmpty(const SymbolicShape* image) {
  return image != nullptr && image->size() > 2 && std::all_of(image->begin() + 2, image->end(), [](const Dimension& size) {
           return size.known() && size.value > 0;
         });
}

/// Whether `node` gives the same where zeros around its image are its own padding.
bool TakesZeros(const Graph& graph, const Node& node, const Node& pad) {
  if (StringAttribute(node, "auto_pad", "NOTSET") != "NOTSET") return false;
  if (IsOp(node, "Conv")) return true;
  // Windows that start in the padding at the end are not the same ones then.
  if (IntAttribute(node, "ceil_mode", 0) != 0) return false;
  if (IsOp(node, "AveragePool")) {
    return node.since_version >= 7 &&
           (IntAttribute(node, "count_include_pad", 0) != 0 || IsNone(IntsAttribute(node, "pads")));
  }
  const Node* relu = IsOp(node, "MaxPool") && HasOneOutput(node) ? Producer(graph, pad, 0) : nullptr;
  return relu != nullptr && IsOp(*relu, "Relu") && IsNotEmpty(ShapeOf(graph, pad.inputs[0]));
}

/// Every window of a pool must keep an element of the image: maxima of padding alone are not zero, and some versions forbid
/// it.
bool IsWithinWindows(const Node& pool, const std::vector<int64_t>& pads) {
  const auto *kernel = IntsAttribute(pool, "kernel_shape"), *dilations = IntsAttribute(pool, "dilations");
  if (kernel == nullptr || kernel->size() * 2 != pads.size() ||
      !(dilations == nullptr || dilations->size() == kernel->size()))
    return false;
  for (size_t i = 0; i < pads.size(); ++i) {
    const size_t axis = i % kernel->size();
    const int64_t dilation = dilations == nullptr ? 1 : (*dilations)[axis];
    if (dilation != 1 || pads[i] >= (*kernel)[axis]) return false;
  }
  return true;
}

class PadFolding final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    Node& node = graph.node(index);
    const bool convolves = IsOp(node, "Conv");
    const Node* pad = convolves || IsOp(node, "AveragePool") || IsOp(node, "MaxPool") ? Producer(graph, node, 0) : nullptr;
    if (pad == nullptr || !PadsZeros(graph, *pad) || !TakesZeros(graph, node, *pad)) return false;
    auto pads = Joined(graph, node, *pad);
    if (!pads || !(convolves || IsWithinWindows(node, *pads))) return false;
    if (IsOp(node, "AveragePool")) SetAttribute(node, "count_include_pad", int64_t{1});
    SetAttribute(node, "pads", *std::move(pads));
    graph.SetInput(index, 0, pad->inputs[0]);
    return true;
  }

 private:
  static constexpr int64_t kMostPadding = 1 << 20;

  /// The node's own padding and what Pad adds; nothing where that cuts, or adds to other axes than those of the image.
  static std::optional<std::vector<int64_t>> Joined(const Graph& graph, const Node& node, const Node& pad) {
    const SymbolicShape* shape = ShapeOf(graph, pad.inputs[0]);
    const auto around = IntegersOf(graph, pad, 1, "pads");
    if (shape == nullptr || shape->size() < 3 || !around || around->size() != 2 * shape->size()) return std::nullopt;
    const size_t rank = shape->size(), spatial = rank - 2;
    std::vector<int64_t> pads(2 * spatial, 0);
    if (const auto* held = IntsAttribute(node, "pads")) {
      const auto fits = [](int64_t pad) { return pad >= 0 && pad <= kMostPadding; };
      if (held->size() != pads.size() || !std::all_of(held->begin(), held->end(), fits)) return std::nullopt;
      pads = *held;
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
