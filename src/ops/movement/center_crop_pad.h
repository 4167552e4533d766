#pragma once

// CenterCropPad (18): the middle of each axis, or zeros around it.

#include <vector>

#include "base/check.h"
#include "ops/integer_list.h"
#include "tessera/provider/attributes.h"

namespace tessera {

struct CenterCropPadAttributes {
  explicit CenterCropPadAttributes(const Node& node)
      : of_all(node.FindAttribute("axes") == nullptr), axes(AttributeOr<std::vector<int64_t>>(node, "axes", {})) {}

  /// `target`, in host memory, has a size for each axis. Throws Error where it does not fit them.
  Shape ResultShape(const Shape& x, const Tensor& target) const {
    const IntegerList sizes(target, "shape");
    const size_t count = of_all ? x.rank() : axes.size();
    Require(sizes.size() == count, "shape has {} numbers for {} axes", sizes.size(), count);
    Shape result = x;
    const auto set = [&](size_t i, size_t axis) {
      Require(sizes[i] >= 0, "shape[{}] is {}", i, sizes[i]);
      result[axis] = sizes[i];
    };
    if (of_all) {
      for (size_t i = 0; i < count; ++i) set(i, i);
    } else {
      MarkAxes(IntegerList(axes), x.rank(), set);
    }
    return result;
  }
  /// Zeros before an axis of `size` elements that becomes one of `wanted`; negative: elements that are cut there.
  static int64_t Before(int64_t size, int64_t wanted) { return (wanted - size) / 2; }

  bool of_all;
  std::vector<int64_t> axes;  // else
};

}  // namespace tessera
