#pragma once

// GridSample (16, 20, 22).

#include <string>

#include "base/check.h"
#include "tessera/provider/attributes.h"
#include "tessera/shape.h"

namespace tessera {

enum class GridSampleMode : uint8_t { kNearest, kLinear, kCubic };
enum class GridSamplePadding : uint8_t { kZeros, kBorder, kReflection };

struct GridSampleAttributes {
  explicit GridSampleAttributes(const Node& node)
      : mode(ParseMode(node)),
        padding(ParsePadding(node)),
        align_corners(AttributeOr<int64_t>(node, "align_corners", 0) != 0) {}

  /// Of images [N, C, d1, ...] at points [N, D1, ..., axes]. Throws Error where they do not fit.
  static Shape ResultShape(const Shape& x, const Shape& grid) {
    const auto axes = static_cast<int64_t>(x.rank()) - 2;
    Require(axes >= 1 && grid.rank() == x.rank() && grid[0] == x[0] && grid.back() == axes,
            "X is {} and grid {}: a grid of [{}, ..., {}] is expected", x, grid, x.rank() > 0 ? x[0] : 0, axes);
    Shape result{x[0], x[1]};
    for (size_t i = 1; i + 1 < grid.rank(); ++i) result.Append(grid[i]);
    Require(result.num_elements() == 0 || x.num_elements() > 0, "X is {}: there is nothing to sample", x);
    return result;
  }

  GridSampleMode mode;
  GridSamplePadding padding;
  bool align_corners;

 private:
  /// Names of version 16 are of images alone.
  static GridSampleMode ParseMode(const Node& node) {
    const auto mode = AttributeOr<std::string>(node, "mode", "linear");
    if (mode == "nearest") return GridSampleMode::kNearest;
    if (mode == "cubic" || mode == "bicubic") return GridSampleMode::kCubic;
    Require(mode == "linear" || mode == "bilinear", "mode '{}' is unknown", mode);
    return GridSampleMode::kLinear;
  }
  static GridSamplePadding ParsePadding(const Node& node) {
    const auto padding = AttributeOr<std::string>(node, "padding_mode", "zeros");
    if (padding == "border") return GridSamplePadding::kBorder;
    if (padding == "reflection") return GridSamplePadding::kReflection;
    Require(padding == "zeros", "padding_mode '{}' is unknown", padding);
    return GridSamplePadding::kZeros;
  }
};

}  // namespace tessera
