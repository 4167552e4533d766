#pragma once

// RoiAlign (10, 16, 22).

#include <algorithm>
#include <cmath>
#include <string>

#include "base/check.h"
#include "tessera/provider/attributes.h"
#include "tessera/value.h"

namespace tessera {

/// Where the samples of a region lie along one axis.
struct RoiSampling {
  double start;
  double bin;
  int64_t samples;  // in a bin
};

struct RoiAlignAttributes {
  /// Sizes below which sums and products stay far from overflow.
  static constexpr int64_t kLimit = int64_t{1} << 24;

  explicit RoiAlignAttributes(const Node& node)
      : out_height(AttributeOr<int64_t>(node, "output_height", 1)),
        out_width(AttributeOr<int64_t>(node, "output_width", 1)),
        sampling_ratio(AttributeOr<int64_t>(node, "sampling_ratio", 0)),
        spatial_scale(AttributeOr<float>(node, "spatial_scale", 1.0f)) {
    const auto mode = AttributeOr<std::string>(node, "mode", "avg");
    Require(mode == "avg" || mode == "max", "mode is '{}', avg or max is expected", mode);
    maximum = mode == "max";
    const std::string fallback = node.since_version < 16 ? "output_half_pixel" : "half_pixel";
    const auto coordinates = AttributeOr<std::string>(node, "coordinate_transformation_mode", fallback);
    Require(coordinates == "half_pixel" || coordinates == "output_half_pixel",
            "coordinate_transformation_mode is '{}', half_pixel or output_half_pixel is expected", coordinates);
    half_pixel = coordinates == "half_pixel";
    Require(out_height > 0 && out_width > 0 && out_height < kLimit && out_width < kLimit, "output size is {} x {}",
            out_height, out_width);
    Require(sampling_ratio >= 0 && sampling_ratio < kLimit, "sampling_ratio is {}", sampling_ratio);
  }

  /// Throws Error where images [N, C, H, W], regions [n, 4] and their images' indices, in host memory, do not fit.
  Shape ResultShape(const Tensor& x, const Tensor& rois, const Tensor& batches) const {
    const Shape& shape = x.shape();
    Require(shape.rank() == 4, "X is {}, [batches, channels, height, width] is expected", shape);
    Require(rois.shape().rank() == 2 && rois.shape()[1] == 4 && rois.is(x.type()),
            "rois are {} of {}, [rois, 4] of {} is expected", rois.shape(), ElementTypeName(rois.type()),
            ElementTypeName(x.type()));
    const int64_t count = rois.shape()[0];
    Require(batches.is(ElementType::kInt64) && batches.shape() == Shape{count},
            "batch_indices are {}, [{}] of int64 is expected", batches.shape(), count);
    for (const int64_t batch : batches.values<int64_t>())
      Require(batch >= 0 && batch < shape[0], "batch index {} is outside {} images", batch, shape[0]);
    const Shape result{count, shape[1], out_height, out_width};
    Require(result.num_elements() == 0 || (shape[2] > 0 && shape[3] > 0), "X is {}: there is nothing to pool", shape);
    return result;
  }

  /// Of a region's corners along one axis. Throws Error where the samples would be too many.
  RoiSampling Sampling(double start, double end, int64_t bins) const {
    const double offset = half_pixel ? 0.5 : 0.0;
    start = start * spatial_scale - offset;
    double extent = end * spatial_scale - offset - start;
    if (!half_pixel) extent = std::max(extent, 1.0);
    const double bin = extent / static_cast<double>(bins);
    int64_t samples = sampling_ratio;
    if (samples == 0) {
      Require(bin < static_cast<double>(kLimit), "a region of {} pixels is too large for adaptive sampling", extent);
      samples = bin > 0 ? static_cast<int64_t>(std::ceil(bin)) : 0;
    }
    return {start, bin, samples};
  }

  int64_t out_height, out_width;
  int64_t sampling_ratio;  // samples of a bin along an axis; 0: as many as it has pixels
  double spatial_scale;    // from coordinates of regions to those of X
  bool maximum;            // else the mean
  bool half_pixel;         // regions' coordinates are half a pixel less than those of X
};

}  // namespace tessera
