// fold_pads: zeros that Pad puts around an image become the padding of the convolution that reads it.

#include <algorithm>

#include "optimizer/edit.h"
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

class PadFolding final : public NodeRewrite {
 protected:
  bool Apply(Graph& graph, NodeIndex index, RewriteContext&) override {
    Node& conv = graph.node(index);
    const Node* pad = IsOp(conv, "Conv") ? Producer(graph, conv, 0) : nullptr;
    if (pad == nullptr || !PadsZeros(graph, *pad)) return false;
    if (StringAttribute(conv, "auto_pad", "NOTSET") != "NOTSET") return false;
    const SymbolicShape* shape = ShapeOf(graph, pad->inputs[0]);
    const auto around = IntegersOf(graph, *pad, 1, "pads");
    if (shape == nullptr || shape->size() < 3 || !around || around->size() != 2 * shape->size()) return false;
    const size_t rank = shape->size(), spatial = rank - 2;
    std::vector<int64_t> pads(2 * spatial, 0);
    if (const auto* held = IntsAttribute(conv, "pads")) {
      const auto fits = [](int64_t pad) { return pad >= 0 && pad <= kMostPadding; };
      if (held->size() != pads.size() || !std::all_of(held->begin(), held->end(), fits)) return false;
      pads = *held;
    }
    for (size_t i = 0; i < 2 * rank; ++i) {
      const int64_t added = (*around)[i];
      const size_t axis = i % rank;
      if (added < 0 || added > kMostPadding || (axis < 2 && added != 0)) return false;
      if (axis >= 2) pads[i / rank * spatial + axis - 2] += added;
    }
    SetAttribute(conv, "pads", pads);
    graph.SetInput(index, 0, pad->inputs[0]);
    return true;
  }

 private:
  static constexpr int64_t kMostPadding = 1 << 20;
};

}  // namespace

std::unique_ptr<Rewrite> FoldPads() { return std::make_unique<PadFolding>(); }

}  // namespace tessera
