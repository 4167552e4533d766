#include "optimizer/analysis/slice_bounds.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "optimizer/analysis/edit.h"

namespace tessera {

std::optional<SliceBounds> SliceBoundsOf(const Graph& graph, const Node& slice) {
  const SymbolicShape* from = ShapeOf(graph, slice.inputs[0]);
  auto starts = IntegersOf(graph, slice, 1, "starts"), ends = IntegersOf(graph, slice, 2, "ends");
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  const size_t count = starts->size();
  SliceBounds bounds{std::move(*starts), std::move(*ends), std::vector<int64_t>(count), std::vector<int64_t>(count, 1)};
  std::iota(bounds.axes.begin(), bounds.axes.end(), 0);
  if (HasInput(slice, 3) || slice.FindAttribute("axes") != nullptr) {
    auto given = IntegersOf(graph, slice, 3, "axes");
    if (!given) return std::nullopt;
    bounds.axes = std::move(*given);
  }
  if (HasInput(slice, 4)) {
    auto given = Integers(ConstantInput(graph, slice, 4));
    if (!given) return std::nullopt;
    bounds.steps = std::move(*given);
  }
  if (bounds.axes.size() != count || bounds.steps.size() != count ||
      std::ranges::find(bounds.steps, 0) != bounds.steps.end())
    return std::nullopt;
  std::set<int64_t> seen;
  for (int64_t& axis : bounds.axes) {
    if (from != nullptr) {
      const auto rank = static_cast<int64_t>(from->size());
      if (axis < -rank || axis >= rank) return std::nullopt;
      if (axis < 0) axis += rank;
    }
    if (axis < 0 || !seen.insert(axis).second) return std::nullopt;
  }
  return bounds;
}

}  // namespace tessera
