#include "ops/image/resize.h"

#include <string>

#include "base/check.h"
#include "tessera/provider/attributes.h"

namespace tessera {
namespace {

std::string TextOf(const Node& node, std::string_view name, const char* fallback) {
  return AttributeOr<std::string>(node, name, fallback);
}

/// "bilinear" is of version 1.
ResampleMode ParseMode(const Node& node) {
  const std::string name = TextOf(node, "mode", "nearest");
  if (name == "nearest") return ResampleMode::kNearest;
  if (name == "linear" || name == "bilinear") return ResampleMode::kLinear;
  if (name == "cubic") return ResampleMode::kCubic;
  Fail(ErrorCode::kInvalidGraph, "mode is '{}'; nearest, linear or cubic is expected", name);
}

CoordinateMode ParseCoordinates(const Node& node) {
  const std::string name = TextOf(node, "coordinate_transformation_mode", "half_pixel");
  if (name == "half_pixel") return CoordinateMode::kHalfPixel;
  if (name == "half_pixel_symmetric") return CoordinateMode::kHalfPixelSymmetric;
  if (name == "pytorch_half_pixel") return CoordinateMode::kPytorchHalfPixel;
  if (name == "align_corners") return CoordinateMode::kAlignCorners;
  if (name == "asymmetric") return CoordinateMode::kAsymmetric;
  if (name == "tf_half_pixel_for_nn") return CoordinateMode::kTfHalfPixelForNn;
  if (name == "tf_crop_and_resize") return CoordinateMode::kTfCropAndResize;
  Fail(ErrorCode::kInvalidGraph, "coordinate_transformation_mode '{}' is unknown", name);
}

NearestMode ParseNearest(const Node& node) {
  const std::string name = TextOf(node, "nearest_mode", "round_prefer_floor");
  if (name == "round_prefer_floor") return NearestMode::kRoundPreferFloor;
  if (name == "round_prefer_ceil") return NearestMode::kRoundPreferCeil;
  if (name == "floor") return NearestMode::kFloor;
  if (name == "ceil") return NearestMode::kCeil;
  Fail(ErrorCode::kInvalidGraph, "nearest_mode '{}' is unknown", name);
}

AspectPolicy ParsePolicy(const Node& node) {
  const std::string name = TextOf(node, "keep_aspect_ratio_policy", "stretch");
  if (name == "not_larger") return AspectPolicy::kNotLarger;
  if (name == "not_smaller") return AspectPolicy::kNotSmaller;
  Require(name == "stretch", "keep_aspect_ratio_policy '{}' is unknown", name);
  return AspectPolicy::kStretch;
}

/// Of Upsample: in version 1 of height and width alone.
std::vector<float> ParseScales(const Node& node) {
  if (node.op_type != "Upsample" || node.since_version >= 9) return {};
  if (node.since_version > 1) return AttributeOr<std::vector<float>>(node, "scales", {});
  return {1, 1, AttributeOr<float>(node, "height_scale", 1), AttributeOr<float>(node, "width_scale", 1)};
}

ResampleOptions ParseOptions(const Node& node, bool early) {
  ResampleOptions options;
  options.mode = ParseMode(node);
  if (early) {
    options.coordinates = CoordinateMode::kAsymmetric;
    options.nearest = NearestMode::kSimple;
    return options;
  }
  options.coordinates = ParseCoordinates(node);
  options.nearest = ParseNearest(node);
  options.antialias = AttributeOr<int64_t>(node, "antialias", 0) != 0;
  Require(!options.antialias || options.mode != ResampleMode::kNearest, "antialias does not apply to mode nearest");
  options.exclude_outside = AttributeOr<int64_t>(node, "exclude_outside", 0) != 0;
  options.cubic_a = AttributeOr<float>(node, "cubic_coeff_a", -0.75f);
  options.extrapolation_value = AttributeOr<float>(node, "extrapolation_value", 0);
  return options;
}

}  // namespace

ResizeAttributes::ResizeAttributes(const Node& node)
    : upsample(node.op_type == "Upsample"),
      early(upsample || node.since_version < 11),
      scales_in_input(!upsample || node.since_version >= 9),
      scales(ParseScales(node)),
      options(ParseOptions(node, early)),
      axes(AttributeOr<std::vector<int64_t>>(node, "axes", {})),
      policy(ParsePolicy(node)) {}

}  // namespace tessera
