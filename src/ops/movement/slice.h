#pragma once

// Slice (1, 10, 11, 13): starts, ends and axes are attributes before version 10; they and steps are inputs from then on.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/check.h"
#include "ops/integer_list.h"
#include "tessera/provider/attributes.h"
#include "tessera/provider/kernel.h"

namespace tessera {

/// What is taken of one axis.
struct SliceRange {
  int64_t start, count, step;
};

/// Bounds are clamped as the operator's text says, negative ones after the axis' length is added: the start to an element,
/// or behind the last for a step forwards, the end to what lies beside the elements. So a step backwards from before the
/// first element takes that one, unlike in numpy. `step` must not be 0.
inline SliceRange ClampSlice(int64_t start, int64_t end, int64_t step, int64_t dim) {
  step = std::max(step, -std::numeric_limits<int64_t>::max());
  if (dim == 0) return {0, 0, step};
  const int64_t before = step > 0 ? 0 : -1, last = step > 0 ? dim : dim - 1;
  const auto clamp = [&](int64_t bound, int64_t low) { return std::clamp(bound < 0 ? bound + dim : bound, low, last); };
  start = clamp(start, 0);
  end = clamp(end, before);
  const int64_t span = step > 0 ? end - start : start - end;
  return {start, span > 0 ? (span - 1) / (step > 0 ? step : -step) + 1 : 0, step};
}

/// What is taken of each axis; the counts are the result's shape.
struct SliceRanges {
  explicit SliceRanges(const Shape& x) : starts(x.rank(), 0), counts(x), steps(x.rank(), 1) {}

  Shape starts, counts, steps;
};

/// Starts, ends, axes and steps, inputs from version 10 on, in host memory; those that are not given are null.
using GivenSlices = std::array<const Tensor*, 4>;

inline GivenSlices GivenSlicesOf(const KernelContext& context) {
  return {context.input(1), context.input(2), context.input(3), context.input(4)};
}

struct SliceAttributes {
  explicit SliceAttributes(const Node& node) : from_attributes(node.since_version < 10) {
    if (!from_attributes) return;
    starts = AttributeOr<std::vector<int64_t>>(node, "starts", {});
    ends = AttributeOr<std::vector<int64_t>>(node, "ends", {});
    axes = AttributeOr<std::vector<int64_t>>(node, "axes", {});
  }

  /// Throws Error where starts, ends, axes and steps do not fit each other or x.
  SliceRanges Ranges(const Shape& x, const GivenSlices& given) const {
    const auto list = [&](size_t i, const std::vector<int64_t>& attribute, const char* name) {
      return !from_attributes && given[i] != nullptr ? IntegerList(*given[i], name) : IntegerList(attribute);
    };
    const IntegerList first = list(0, starts, "starts"), last = list(1, ends, "ends"), named = list(2, axes, "axes"),
                      by = list(3, {}, "steps");
    const bool names_axes = (!from_attributes && given[2] != nullptr) || !axes.empty();
    const bool has_steps = !from_attributes && given[3] != nullptr;
    const size_t count = first.size();
    Require(count == last.size(), "{} starts and {} ends were given", count, last.size());
    Require(!names_axes || named.size() == count, "{} starts and {} axes were given", count, named.size());
    Require(!has_steps || by.size() == count, "{} starts and {} steps were given", count, by.size());
    Require(count <= x.rank(), "{} starts were given for shape {}", count, x);
    SliceRanges ranges(x);
    const auto set = [&](size_t i, size_t axis) {
      const int64_t step = has_steps ? by[i] : 1;
      Require(step != 0, "a step is 0");
      const SliceRange range = ClampSlice(first[i], last[i], step, x[axis]);
      ranges.starts[axis] = range.start;
      ranges.counts[axis] = range.count;
      ranges.steps[axis] = range.step;
    };
    if (names_axes) {
      MarkAxes(named, x.rank(), set);
    } else {
      for (size_t i = 0; i < count; ++i) set(i, i);
    }
    return ranges;
  }

  bool from_attributes;
  std::vector<int64_t> starts, ends, axes;  // without axes: the first ones
};

}  // namespace tessera
