#pragma once

// MaxRoiPool (1, 22): the maximum in each cell of a grid laid over a region of interest.

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "tessera/provider/attributes.h"
#include "tessera/shape.h"

namespace tessera {

/// A side of a region, cut into cells.
struct RoiCells {
  int64_t start;
  double size;  // of a cell

  struct Cell {
    int64_t begin, end;
  };
  /// Cell i, inside an image of `limit` pixels. Neighbours overlap where the edge between them is inside a pixel.
  Cell At(int64_t i, int64_t limit) const {
    const auto begin = static_cast<int64_t>(std::floor(static_cast<double>(i) * size));
    const auto end = static_cast<int64_t>(std::ceil(static_cast<double>(i + 1) * size));
    return {std::clamp<int64_t>(begin + start, 0, limit), std::clamp<int64_t>(end + start, 0, limit)};
  }
};

struct RoiOfImage {
  int64_t image;
  RoiCells rows, columns;
};

struct MaxRoiPoolAttributes {
  explicit MaxRoiPoolAttributes(const Node& node)
      : scale(static_cast<double>(AttributeOr<float>(node, "spatial_scale", 1.0f))) {
    const auto pooled = AttributeOr<std::vector<int64_t>>(node, "pooled_shape", {});
    Require(pooled.size() == 2 && pooled[0] > 0 && pooled[1] > 0, "pooled_shape must hold two positive values");
    height = pooled[0];
    width = pooled[1];
  }

  /// Of images x [N, C, H, W] and regions [regions, 5]. Throws Error where these have other shapes.
  Shape ResultShape(const Shape& x, const Shape& regions) const {
    Require(x.rank() == 4, "the input must have 4 dimensions, it is {}", x);
    Require(regions.rank() == 2 && regions[1] == 5, "rois must be [n,5], they are {}", regions);
    return {regions[0], x[1], height, width};
  }

  /// Of a batch of so many images. `numbers` are a region's five: the image, x and y of a corner and of the opposite one.
  /// Throws Error where it is no region of them.
  template <class T>
  RoiOfImage Region(const T* numbers, int64_t batch) const {
    const auto image = static_cast<double>(numbers[0]);
    Require(image >= 0 && image < static_cast<double>(batch), "a region's batch index is {}, the batch has {}", image,
            batch);
    return {static_cast<int64_t>(image), Cells(numbers[2], numbers[4], height), Cells(numbers[1], numbers[3], width)};
  }

  int64_t height, width;  // in cells
  double scale;           // pixels of x to one of the regions' coordinates

 private:
  RoiCells Cells(double first, double last, int64_t count) const {
    const int64_t begin = Pixel(first), end = Pixel(last);
    return {begin, static_cast<double>(std::max<int64_t>(end - begin + 1, 1)) / static_cast<double>(count)};
  }
  int64_t Pixel(double corner) const {
    const double scaled = std::round(corner * scale);
    Require(std::abs(scaled) < 1e9, "a region's corner is {}", corner);
    return static_cast<int64_t>(scaled);
  }
};

}  // namespace tessera
