#include "optimizer/analysis/slice_bounds.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "ops/movement/slice.h"
#include "optimizer/analysis/edit.h"

namespace tessera {

std::optional<SliceBounds> SliceBoundsOf(const Graph& graph, const Node& slice) {
  const SymbolicShape* from = ShapeOf(graph, slice.inputs[0]);
  const SliceAttributes attributes(slice);
  const auto given = [&](size_t input, const std::vector<int64_t>& attribute) {
    return attributes.from_attributes ? std::optional(attribute) : Integers(ConstantInput(graph, slice, input));
  };
  auto starts = given(1, attributes.starts), ends = given(2, attributes.ends);
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  const size_t count = starts->size();
  SliceBounds bounds{std::move(*starts), std::move(*ends), std::vector<int64_t>(count), std::vector<int64_t>(count, 1)};
  std::iota(bounds.axes.begin(), bounds.axes.end(), 0);
  if (HasInput(slice, 3) || !attributes.axes.empty()) {
    auto axes = given(3, attributes.axes);
    if (!axes) return std::nullopt;
    bounds.axes = std::move(*axes);
  }
  if (HasInput(slice, 4)) {
    auto steps = given(4, {});
    if (!steps) return std::nullopt;
    bounds.steps = std::move(*steps);
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
