#pragma once

// Pad (1, 2, 11, 13, 18, 19, 21, 23, 24, 25): pads and value are attributes before version 11, and inputs from then on.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/checked.h"
#include "ops/integer_list.h"
#include "tessera/provider/attributes.h"

namespace tessera {

enum class PadMode : uint8_t { kConstant, kEdge, kReflect, kWrap };

constexpr std::string_view NameOf(PadMode mode) noexcept {
  constexpr std::string_view kNames[] = {"constant", "edge", "reflect", "wrap"};
  return kNames[static_cast<size_t>(mode)];
}

/// Elements before and behind each axis, negative ones cut off, and the shape with them.
struct PaddedShape {
  explicit PaddedShape(const Shape& x) : before(x.rank(), 0), after(x.rank(), 0), result(x) {}

  Shape before, after, result;
};

struct PadAttributes {
  explicit PadAttributes(const Node& node)
      : mode(ParseMode(node)),
        from_attributes(node.since_version < 11),
        pads(AttributeOr<std::vector<int64_t>>(node, node.since_version == 1 ? "paddings" : "pads", {})),
        value(AttributeOr<float>(node, "value", 0)) {}

  /// `given` and `axes` are inputs 1 and 3 of later versions, in host memory; the axes may be null: all. Throws Error where
  /// they do not fit x, or cut off more than it has.
  PaddedShape Pads(const Shape& x, const Tensor* given, const Tensor* axes) const {
    const IntegerList amounts = from_attributes || given == nullptr ? IntegerList(pads) : IntegerList(*given, "pads");
    const bool names_axes = !from_attributes && axes != nullptr;
    const size_t count = names_axes ? static_cast<size_t>(axes->num_elements()) : x.rank();
    Require(amounts.size() == 2 * count, "there are {} pads for {} axes, expected two for each", amounts.size(), count);
    PaddedShape padded(x);
    const auto set = [&](size_t i, size_t axis) {
      constexpr int64_t kLimit = int64_t{1} << 62;
      const int64_t before = amounts[i], after = amounts[i + count];
      Require(std::min(before, after) > -kLimit && std::max(before, after) < kLimit, "axis {} has pads {} and {}", axis,
              before, after);
      padded.before[axis] = before;
      padded.after[axis] = after;
      padded.result[axis] = CheckedAdd(CheckedAdd(x[axis], before), after);
      Require(padded.result[axis] >= 0, "pads {} and {} take more than the {} elements of axis {}", before, after, x[axis],
              axis);
    };
    if (names_axes) {
      MarkAxes(IntegerList(*axes, "axes"), x.rank(), set);
    } else {
      for (size_t i = 0; i < count; ++i) set(i, i);
    }
    return padded;
  }

  PadMode mode;
  bool from_attributes;
  std::vector<int64_t> pads;  // before each dimension, then behind each
  float value;                // of mode constant

 private:
  static PadMode ParseMode(const Node& node) {
    const auto mode = AttributeOr<std::string>(node, "mode", "constant");
    if (mode == "edge") return PadMode::kEdge;
    if (mode == "reflect") return PadMode::kReflect;
    if (mode == "wrap" && node.since_version >= 19) return PadMode::kWrap;
    Require(mode == "constant", "mode '{}' is unknown", mode);
    return PadMode::kConstant;
  }
};

}  // namespace tessera
