#include "optimizer/analysis/tokens.h"

#include "optimizer/analysis/edit.h"
#include "optimizer/analysis/scalar.h"

namespace tessera {
namespace {

const Permutation kTokensToPlanes = {0, 2, 1}, kNhwcToNchw = {0, 3, 1, 2}, kNchwToNhwc = {0, 2, 3, 1};

bool Permutes(const Graph& graph, const Node* node, const Permutation& perm) {
  return node != nullptr && IsOp(*node, "Transpose") && HasOneOutput(*node) && PermutationOf(graph, *node) == perm;
}

/// [N, C, H * W] beside [N, C, H, W]: where two of the three are the same, so is the third.
bool KeepsPlanes(const Graph& graph, ValueIndex planes, ValueIndex image) {
  const SymbolicShape *flat = ShapeOf(graph, planes), *whole = ShapeOf(graph, image);
  if (flat == nullptr || whole == nullptr || flat->size() != 3 || whole->size() != 4 ||
      !SameDimension((*flat)[1], (*whole)[1]))
    return false;
  const Dimension &pixels = (*flat)[2], &height = (*whole)[2], &width = (*whole)[3];
  const bool same_size =
      pixels.known() && height.known() && width.known() && pixels.value > 0 && pixels.value == height.value * width.value;
  return same_size || SameDimension((*flat)[0], (*whole)[0]);
}

}  // namespace

ValueIndex PixelsBefore(const Graph& graph, const Node& conv) {
  const Node* before = Producer(graph, conv, 0);
  if (Permutes(graph, before, kNhwcToNchw)) return before->inputs[0];
  if (before == nullptr || !IsOp(*before, "Reshape") || !KeepsPlanes(graph, before->inputs[0], conv.inputs[0]))
    return kNone;
  const Node* transpose = Producer(graph, *before, 0);
  return Permutes(graph, transpose, kTokensToPlanes) ? transpose->inputs[0] : kNone;
}

const Node* TokensBehind(const Graph& graph, const Node& conv) {
  const Node* behind = OnlyReader(graph, conv.outputs[0]);
  if (Permutes(graph, behind, kNchwToNhwc)) return behind;
  if (behind == nullptr || !IsOp(*behind, "Reshape") || behind->inputs[0] != conv.outputs[0]) return nullptr;
  if (!KeepsPlanes(graph, behind->outputs[0], conv.outputs[0])) return nullptr;
  const Node* transpose = OnlyReader(graph, behind->outputs[0]);
  return Permutes(graph, transpose, kTokensToPlanes) ? transpose : nullptr;
}

}  // namespace tessera
